"""Reads that are answered from memory where they can be: what is kept is as old as the change log is late.

A read is kept unless it may be older than a change that is known already: one that arrived after it was sent, or, as it
was eventually consistent, one of the last seconds. So what changed a moment ago is read with strong consistency.

While the log cannot be read, nothing is answered from memory.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from datastore.changes.change import changes_of
from datastore.changes.log import Batch
from datastore.changes.tail import PAUSE_IF_CACHED, Tail
from datastore.client.budget import Usage
from datastore.client.table import KeysRead, Page, RangeRead, Table
from datastore.client.writes import Write
from datastore.model.keys import Key
from datastore.model.projections import Projection, Wanted
from datastore.model.times import now as time_now
from loaders.calls import Arrived, Call, Found
from loaders.hot_data import Entry, HotData, PageName, name_of
from loaders.kept import may_hold, window_of
from loaders.needs import PageRead
from loaders.recent_changes import RecentChanges
from loaders.shared_reads import Deliver, Reads, SharedReads, distinct, is_full_batch

# A read that is eventually consistent, or of an index, may be older than changes of the last seconds.
RECENT = 5.0
# A read that took longer is not kept.
LONGEST_READ = 15.0
# Nothing is answered from memory if the log was not read for so long.
STALLED = 3.0


class KeptReads(SharedReads):
    """Shared reads whose answers are offered to the hot data when they arrive."""

    def __init__(self, table: Table, hot: "HotReads", *, consistent: bool) -> None:
        super().__init__(table, consistent=consistent)
        self._hot = hot
        self._items = Reads(self._read_items, hot.fields_to_read, is_full_batch)

    async def _read_items(self, call: Call, deliver: Deliver) -> None:
        await super()._read_items(call, self._keeping(partial(self._hot.keep_items, call.read_of), deliver))

    async def _read_pages(self, call: Call, deliver: Deliver) -> None:
        # Before the read: a plan that turns out to want more fields changes what it wants.
        wanted = call.parts[0].ask.wanted
        names = [name for read in call.keys if (name := name_of(read, wanted))]
        await super()._read_pages(call, self._keeping(partial(self._hot.keep_pages, names), deliver))

    def _keeping(self, keep: Callable[[Found, float], None], deliver: Deliver) -> Deliver:
        sent = self._hot.clock()

        def keep_and_deliver(found: Found) -> None:
            # A strongly consistent read has seen everything that was known when it was sent.
            keep(found, sent if self._consistent else sent - RECENT)
            deliver(found)

        return keep_and_deliver


class HotReads(SharedReads):
    """The reads of a process, with hot data. It listens to the tails of the change log."""

    def __init__(
        self, table: Table, tails: Sequence[Tail], most_bytes: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(table)
        self.data = HotData(most_bytes)
        self.clock = clock
        self._tails = tails
        self._recent = RecentChanges(RECENT + LONGEST_READ)
        self._has_begun = False
        self._usual = KeptReads(table, self, consistent=False)
        self._latest = KeptReads(table, self, consistent=True)
        self._corrections = SharedReads(table, consistent=True)
        self._sequences: dict[int, int] = {}
        for tail in tails:
            tail.pause = PAUSE_IF_CACHED
            tail.listeners.append(partial(self._heard, tail.partition))

    @property
    def is_current(self) -> bool:
        """True if the log was read a moment ago."""
        since = self.clock() - STALLED
        for tail in self._tails:
            if tail.seen_at < since:
                return False
        if not self._has_begun:
            self._has_begun = True
            self._recent.begin(self.clock())
        return True

    def items(self, keys: Sequence[Key[Any]], wanted: Wanted, usage: Usage, arrived: Arrived) -> None:
        if not self.is_current:
            self._usual.items(keys, wanted, usage, arrived)
            return
        now, data, last_of = self.clock(), self.data, self._recent.last_of
        found: Found = {}
        unknown: list[Key[Any]] = []
        recent: list[Key[Any]] = []
        for key in keys:
            entry = data.get(key, now)
            if entry is not None and (entry.answer is None or entry.has(wanted[key.entity].items)):
                found[key] = entry.answer
            else:
                (recent if last_of(key[1:]) >= now - RECENT else unknown).append(key)
        data.hits += len(found)
        data.misses += len(unknown) + len(recent)
        if not (unknown or recent):
            usage.cached += len(found)
            arrived(found)
            return
        parts = Parts(found, usage, arrived)
        parts.ask(self._usual.items, unknown, wanted)
        parts.ask(self._latest.items, recent, wanted)
        parts.finish()

    def pages(self, reads: Sequence[PageRead], wanted: Wanted, usage: Usage, arrived: Arrived) -> None:
        if not self.is_current:
            self._usual.pages(reads, wanted, usage, arrived)
            return
        now, data = self.clock(), self.data
        parts = Parts({}, usage, arrived)
        unknown: list[PageRead] = []
        recent: list[PageRead] = []
        for read in distinct(reads):
            name = name_of(read, wanted)
            entry = data.get(name, now) if name else None
            if entry is None:
                (recent if self._is_recent(read, now) else unknown).append(read)
            elif entry.changed:
                # Counted as a miss: it needs a call.
                data.misses += 1
                again = partial(self._usual.pages, [read], wanted, usage)
                parts.expect(partial(self._correct, entry, now, again))
            else:
                parts.found[read] = entry.answer
        data.hits += len(parts.found)
        data.misses += len(unknown) + len(recent)
        parts.ask(self._usual.pages, unknown, wanted)
        parts.ask(self._latest.pages, recent, wanted)
        parts.finish()

    def wrote(self, writes: Sequence[Write] = ()) -> None:
        """Forgets at once what these writes concern, and ends joining of the reads under way."""
        self._usual.wrote()
        self._latest.wrote()
        self._corrections.wrote()
        at = self.clock()
        for change in changes_of(writes, time_now()):
            self._recent.add(at, change)
            self.data.change(change, at)

    def _heard(self, partition: int, batch: Batch) -> None:
        """Applies the changes of a batch. If some are lost, nothing that is kept can be trusted."""
        expected = self._sequences.get(partition, batch.sequence - 1) + 1
        self._sequences[partition] = batch.sequence
        at = self.clock()
        if batch.sequence != expected or not batch.changes:
            self.data.clear()
            self._recent.begin(at)
        # A correction that was sent before a change must not stand for the time after it.
        self._corrections.wrote()
        for change in batch.changes:
            self._recent.add(at, change)
            self.data.change(change, at)

    def fields_to_read(self, wanted: Wanted, key: Key[Any]) -> Projection:
        """Returns what is wanted of a record and what is kept of it, so that requests do not replace each other's."""
        fields = wanted[key.entity].items
        kept = self.data.fields_of(key)
        return fields if kept is None else fields.with_fields_of(kept)

    def keep_items(self, read_of: dict[Any, Any], found: Found, since: float) -> None:
        """Keeps records that no change since this time concerns."""
        if not self._recent.knows_since(since):
            return
        for key, record in found.items():
            if not isinstance(record, Exception) and key.entity.logged and self._recent.last_of(key[1:]) < since:
                self.data.keep_record(key, record, read_of[key], since)

    def keep_pages(self, names: Sequence[PageName], found: Found, since: float) -> None:
        """Keeps pages, and notes what has changed in them since this time."""
        if not self._recent.knows_since(since):
            return
        for name in names:
            page = found.get(name.read)
            # A damaged item may be repaired by hand, of which no log tells.
            if isinstance(page, Page) and not page.damaged:
                changed = set(self._changed_in(name.read, page, since))
                if not (changed and isinstance(name.read, KeysRead)):
                    self.data.keep_page(name, page, since, changed)

    def _changed_in(self, read: PageRead, page: Page[Any], since: float) -> Iterator[Key[Any]]:
        if isinstance(read, RangeRead):
            inside = self._recent.inside(window_of(read, page), since)
            yield from (key for key in inside if may_hold(read.within, key))
        keys = read.keys if isinstance(read, KeysRead) else [record.own_key for record in page.records]
        yield from (key for key in keys if self._recent.last_of(key[1:]) >= since)

    def _is_recent(self, read: PageRead, now: float) -> bool:
        return isinstance(read, KeysRead) and any(self._recent.last_of(key[1:]) >= now - RECENT for key in read.keys)

    def _correct(
        self, entry: Entry, sent: float, again: Callable[[Arrived], None], usage: Usage, then: Arrived
    ) -> None:
        """Reads what has changed in a page. If that fails, reads the page instead."""

        def take(found: Found) -> None:
            if any(isinstance(record, Exception) for record in found.values()):
                self.data.drop(entry)
                again(then)
                return
            before = entry.answer.records
            entry.correct(found, sent)
            self.data.corrected(entry, before)
            then({entry.name.read: entry.answer})

        self._corrections.items([*entry.changed], entry.name.wanted, usage, take)


class Parts:
    """Answers from several places, which arrive together."""

    def __init__(self, found: Found, usage: Usage, arrived: Arrived) -> None:
        self.found = found
        self._usage = usage
        self._arrived = arrived
        self._expected: list[Callable[[Usage, Arrived], None]] = []

    def ask(self, reads: Callable[..., None], keys: Sequence[Any], wanted: Wanted) -> None:
        if keys:
            self.expect(partial(reads, keys, wanted))

    def expect(self, ask: Callable[[Usage, Arrived], None]) -> None:
        self._expected.append(ask)

    def finish(self) -> None:
        """Asks for everything that is not known."""
        self._usage.cached += len(self.found)
        expected, self._expected = self._expected, []
        if not expected:
            self._arrived(self.found)
            return
        self._left = len(expected)
        for ask in expected:
            ask(self._usage, self._take)

    def _take(self, found: Found) -> None:
        self.found.update(found)
        self._left -= 1
        if not self._left:
            self._arrived(self.found)
