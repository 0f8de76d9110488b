"""The outbox: where a table has no stream, each transaction writes an item with the changes that it makes.

The one process that holds the lease moves them to the change log and deletes them, in one transaction: nothing is lost
and nothing is doubled. The order of changes is that in which the transactions were sent.

Batches of writes are not atomic: their item is written first and counts after a minute, or as soon as they are done.

An item that cannot be moved must not stop all others: it becomes a dead letter.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, cast

import orjson

from datastore.changes.change import Change, changes_of, decoded, encoded, is_logged
from datastore.changes.leases import Held, LeaseLost, Leases
from datastore.changes.log import ChangeLog
from datastore.changes.records import DeadLetter, OutboxItem, is_newer
from datastore.client.budget import Usage
from datastore.client.errors import Conflict, DatastoreError, Rejected, TooLarge
from datastore.client.positions import Position
from datastore.client.table import COMMAND_WRITES, Page, Table
from datastore.client.writes import Delete, Put, Write, absent, exists
from datastore.model.entity import Entity
from datastore.model.keys import Key
from datastore.model.times import Time, new_id, now, time_from_now

log = logging.getLogger("heartwood.changes")

LEASE = "outbox"
PAUSE = 0.5
# Other servers may write more: they cannot wake this one.
PAUSE_AFTER_NEWS = 0.05
QUIET_AFTER = 40
PAUSE_BETWEEN = 0.03
PAUSE_AFTER_FAILURE = 2.0
CHANGES_AT_ONCE = 500
# Of JSON, before it is compressed: about 500 changes, and far less than an item of the log may have.
CHARACTERS_AT_ONCE = 100_000
TIME_FOR_ONE = 10.0
# How long a batch of writes may take. Longer than any call, and the clocks of servers may differ.
PROMISED = timedelta(seconds=60)
CLOCKS_DIFFER = timedelta(seconds=20)
# How long an item waits for a newer server that knows its version, while servers are being replaced.
PATIENCE = timedelta(days=1)
# Of an item that is set aside: it has to fit into a dead letter.
CHARACTERS_SHOWN = 100_000

Mine = Sequence[Write]
"""The check of the lease."""


class Outbox:
    """Records the changes of a process's writes."""

    def __init__(self) -> None:
        self._writer = new_id()
        self._number = 0
        self._last = Time("")
        # True while an operation on the whole table follows every change, of bookkeeping too.
        self.everything = False
        # Set when this process has written something.
        self.news = asyncio.Event()

    def records(self, write: Write) -> bool:
        return is_logged(write.key.entity, everything=self.everything)

    def record(self, writes: Sequence[Write]) -> Put | None:
        """Returns the item to write along, or None if there is nothing to record."""
        at = max(now(), self._last)
        changes = [*changes_of(writes, at, everything=self.everything)]
        if not changes:
            return None
        self._last = at
        return Put(self._item(at, changes))

    def recorded(self) -> None:
        self.news.set()

    def promise(self, writes: Sequence[Write]) -> list[Entity]:
        """Returns the items to write before writes that are not atomic: if those fail halfway, these count later."""
        changes = [*changes_of(writes, now(), everything=self.everything)]
        later = time_from_now(PROMISED)
        return [
            self._item(later, changes[start : start + CHANGES_AT_ONCE])
            for start in range(0, len(changes), CHANGES_AT_ONCE)
        ]

    def kept(self, promise: Entity) -> list[Write]:
        """Returns the writes that make a promised item count at once."""
        assert isinstance(promise, OutboxItem)
        at = self._last = max(now(), self._last)
        return [Delete(promise.own_key), Put(replace(promise, written_at=at))]

    def _item(self, at: Time, changes: Sequence[Change]) -> OutboxItem:
        self._number += 1
        return OutboxItem(written_at=at, number=self._number, writer=self._writer, changes=encoded(changes))


class OutboxSource:
    """Moves changes from the outbox to the log, in one process at a time."""

    def __init__(self, table: Table, outbox: Outbox, leases: Leases, change_log: ChangeLog) -> None:
        self._table = table
        self._outbox = outbox
        self._leases = leases
        self._log = change_log
        # Places in a transaction, besides the lease, and a batch and its head for each partition.
        self._set_aside_before = 0
        self._at_once = COMMAND_WRITES - 1 - 2 * change_log.partitions

    async def run(self) -> None:
        """Moves changes until it is canceled."""
        while True:
            try:
                held = await self._leases.take(LEASE)
                if held is not None:
                    await self._work(held)
            except (DatastoreError, LeaseLost) as error:
                log.warning("changes have to wait in the outbox: %r", error)
            except Exception:
                log.exception("changes have to wait in the outbox")
            await asyncio.sleep(PAUSE_AFTER_FAILURE)

    async def _work(self, held: Held) -> None:
        keeping = asyncio.create_task(held.keep())
        try:
            quiet = QUIET_AFTER
            while not keeping.done():
                self._outbox.news.clear()
                while await self.move(held):
                    quiet = 0
                    # Under load, a batch holds what is written meanwhile.
                    await asyncio.sleep(PAUSE_BETWEEN)
                quiet += 1
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(PAUSE_AFTER_NEWS if quiet <= QUIET_AFTER else PAUSE):
                        await self._outbox.news.wait()
            await keeping
        finally:
            keeping.cancel()
            await held.release()

    async def move(self, held: Held | None = None) -> bool:
        """Moves what is first in the outbox. Returns False if it is empty."""
        mine = [held.still_mine()] if held else []
        table, after = self._table.using(Usage.lasting(TIME_FOR_ONE)), cast(Position | None, None)
        due = OutboxItem.within().between(None, time_from_now(CLOCKS_DIFFER))
        while True:
            page: Page[OutboxItem] = await table.query(due, limit=self._at_once, after=after, consistent=True)
            for damage in page.damaged:
                await self._set_aside(Key(OutboxItem, damage.pk, damage.sk), damage, mine)
            if page.records:
                await self._append([*_up_to(CHARACTERS_AT_ONCE, page.records)], mine)
                return True
            if page.more is None:
                return False
            # All of them wait for a newer server.
            after = page.more

    async def _append(self, items: Sequence[OutboxItem], mine: Mine) -> None:
        """Appends the changes of items to the log. Sets an item aside if that cannot be done."""
        try:
            changes = [change for item in items for change in decoded(item.changes)]
            # The condition is for a process that does not know yet that it has lost the lease.
            done = [Delete(item.own_key, when=exists()) for item in items]
            await self._log.append(changes, *mine, *done)
        except (ValueError, TooLarge, Rejected) as error:
            if len(items) == 1:
                await self._set_aside(items[0].own_key, error, mine)
                return
            half = len(items) // 2
            await self._append(items[:half], mine)
            await self._append(items[half:], mine)

    async def _set_aside(self, key: Key[Any], error: Exception, mine: Mine) -> None:
        """Makes a dead letter of an item that cannot be moved, unless a newer server may know its version."""
        table = self._table.using(Usage.lasting(TIME_FOR_ONE))
        item = await table.stored_item(key)
        if item is None or (is_newer(item, OutboxItem) and key.sk > time_from_now(-PATIENCE)):
            return
        self._set_aside_before += 1
        log.error("changes could not be moved from the outbox: `heartwood changes dead` has them: %s", error)
        letter = DeadLetter(
            processor=LEASE,
            partition=0,
            sequence=int(time.time()),
            place=self._set_aside_before,
            changes=orjson.dumps(item).decode()[:CHARACTERS_SHOWN],
            error=f"{error!r:.1000}",
        )
        try:
            await table.transact(*mine, Delete(key, when=exists()), Put(letter, when=absent()))
        except Conflict as conflict:
            raise LeaseLost from conflict


def _up_to(characters: int, items: Sequence[OutboxItem]) -> Iterable[OutboxItem]:
    """Yields items, at least one and about as many as a batch should have."""
    total = 0
    for item in items:
        total += len(item.changes)
        if total > characters and total > len(item.changes):
            return
        yield item
