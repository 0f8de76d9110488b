"""Reads one shard of the stream into the change log, each record once, while this server holds the shard's lease."""

import asyncio
import logging
import random
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import NamedTuple

from datastore.changes.change import Change
from datastore.changes.leases import Held
from datastore.changes.log import ChangeLog
from datastore.changes.stream import IteratorExpired, Read, ReadBatch, Shard, ShardGone, Stream, StreamFailed, Trimmed

log = logging.getLogger("heartwood.stream")

# Positions besides sequence numbers: a shard that has no parent to wait for, and one that has been read.
START = "START"
END = "END"
# DynamoDB lists a shard for a day after its last record.
KEPT = timedelta(days=2)

# Limits of an append. Keys are at most 3 KB, but there are six pairs of them, before and after.
CHANGES_AT_ONCE = 200
BYTES_AT_ONCE = 100_000
# A batch of so many records probably has others after it.
MANY = 100
LONGEST_BACK_OFF = 10.0


class Timing(NamedTuple):
    """Seconds between calls."""

    look_every: float = 8.0
    """Between two looks for new shards and free leases."""
    shortest_pause: float = 0.25
    """Between two reads of a shard. DynamoDB allows five a second."""
    longest_pause: float = 1.0
    """Between two reads of a shard without changes."""
    store_every: float = 60.0
    """Between two stored positions if there are only records that the log does not need."""
    retention: float = 24 * 3600.0
    """Until DynamoDB removes a record from the stream."""


class ShardReader:
    """Reads a shard to its end. What it appends and its position are written in one transaction.

    `slots` limits how many batches are in memory. `lost` reports records that were removed before they were read.
    """

    def __init__(
        self,
        stream: Stream,
        shard: Shard,
        held: Held,
        log: ChangeLog,
        slots: asyncio.Semaphore,
        lost: Callable[[str], None],
        clock: Callable[[], float],
        timing: Timing,
    ) -> None:
        self.shard = shard
        self.caught_up_at = clock()
        """Time up to which it has read everything."""
        self._stream = stream
        self._held = held
        self._log = log
        self._slots = slots
        self._lost = lost
        self._clock = clock
        self._timing = timing
        self._after = None if held.position == START else held.position
        self._stored = self._after
        self._stored_at = clock()
        self._iterator: str | None = None
        self._pause = timing.shortest_pause
        self._failures = 0

    async def run(self) -> None:
        """Reads to the end of the shard. Raises LeaseLost, and errors of the table: then the position is unknown."""
        while self._after != END:
            try:
                async with self._slots:
                    await self._read()
                self._failures = 0
            except IteratorExpired:
                self._iterator = None
            except Trimmed as error:
                self._lost(f"{self._place} is no longer in the stream ({error})")
                self._iterator = self._after = None
            except ShardGone as error:
                await self._give_up(error)
            except StreamFailed as error:
                await self._back_off(error)
            await asyncio.sleep(self._pause)

    @property
    def _place(self) -> str:
        return f"what follows {self._after or 'the start'} in {self.shard.shard_id}"

    async def _read(self) -> None:
        if self._iterator is None:
            self._iterator = await self._stream.iterator(self.shard.shard_id, self._after)
        batch = await self._stream.records(self._iterator)
        for changes, position in appends(batch):
            if changes or position == END:
                await self._store(position, changes)
            self._after = position
        self._iterator = batch.iterator
        if self._after != self._stored and self._clock() - self._stored_at >= self._timing.store_every:
            await self._store(self._after, [])
        self.caught_up_at = batch.reads[-1].at if batch.reads else self._clock()
        self._set_pause(batch)

    async def _store(self, position: str | None, changes: list[Change]) -> None:
        expires_at = expiry(self._clock()) if position == END else None
        await self._log.append(changes, self._held.still_mine(position=position, expires_at=expires_at))
        self._stored = position
        self._stored_at = self._clock()

    def _set_pause(self, batch: ReadBatch) -> None:
        busy = len(batch.reads) >= MANY or any(read.change for read in batch.reads)
        self._pause = self._timing.shortest_pause if busy else min(2 * self._pause, self._timing.longest_pause)

    async def _give_up(self, error: ShardGone) -> None:
        """Marks the shard as read if it is really gone: a list may lag behind."""
        try:
            listed = await self._stream.shards()
        except StreamFailed as failure:
            await self._back_off(failure)
            return
        if any(shard.shard_id == self.shard.shard_id for shard in listed):
            await self._back_off(error)
            return
        self._lost(f"{self._place} is no longer in the stream ({error})")
        await self._store(END, [])
        self._after = END

    async def _back_off(self, error: StreamFailed) -> None:
        self._failures += 1
        longest = min(self._timing.shortest_pause * 2**self._failures, LONGEST_BACK_OFF)
        # Being throttled once is normal, and an outage is reported once.
        level = logging.WARNING if self._failures == 3 else logging.DEBUG
        log.log(level, "reading %s failed %d times in a row: %s", self.shard.shard_id, self._failures, error)
        # Full jitter, so that servers that were throttled together do not retry together.
        await asyncio.sleep(random.uniform(0, longest))  # noqa: S311


def expiry(now: float) -> int:
    """Returns the Unix time after which the lease of a shard that has been read can go."""
    return int(now + KEPT.total_seconds())


def appends(batch: ReadBatch) -> Iterator[tuple[list[Change], str]]:
    """Yields the changes of a batch in parts that fit into the log, each with the position after it."""
    changes: list[Change] = []
    size, position = 0, None
    for read in batch.reads:
        if read.change is not None:
            if len(changes) == CHANGES_AT_ONCE or (changes and size + _size(read) > BYTES_AT_ONCE):
                assert position is not None
                yield changes, position
                changes, size = [], 0
            changes.append(read.change)
            size += _size(read)
        position = read.position
    if batch.iterator is None:
        yield changes, END
    elif position is not None:
        yield changes, position


def _size(read: Read) -> int:
    """Returns about as many bytes as the change takes in the log."""
    assert read.change is not None
    key, before, after = read.change.key, read.change.before or {}, read.change.after or {}
    texts = (key.pk, key.sk, *(text for keys in (before, after) for pair in keys.values() for text in pair))
    return 100 + sum(len(text.encode()) + 3 for text in texts)
