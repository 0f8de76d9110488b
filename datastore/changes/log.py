"""The change log: batches of changed keys in `CHANGES#<n>`, numbered without gaps, kept for a day."""

import asyncio
import logging
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import NamedTuple, cast
from zlib import crc32

from datastore.changes.change import Change, decoded, encoded
from datastore.changes.leases import LeaseLost
from datastore.changes.records import ChangeBatch, LogHead, is_newer
from datastore.client.budget import Usage
from datastore.client.errors import Conflict, CorruptItem
from datastore.client.positions import Position
from datastore.client.table import Page, Table
from datastore.client.turns import Slice
from datastore.client.writes import Put, Update, Write, absent, equals
from datastore.model.keys import Key
from datastore.model.times import Time, seconds_from_now, time_from_now

log = logging.getLogger("heartwood.changes")

KEPT = timedelta(days=1)
TIME_FOR_ONE = 10.0
BATCHES_READ = 20
# Readers keep what they read in memory, and decoding takes time. One batch may be larger.
CHANGES_READ = 1_000
# A Query may see a batch before the one that was committed first: reads and transactions are not isolated. Only a gap
# before a batch of this age is final.
GAPS_CLOSE = timedelta(minutes=1)
LONGEST_PAUSE = 0.1


class Batch(NamedTuple):
    """Some changes of a partition of the log."""

    sequence: int
    changes: Sequence[Change]
    at: Time
    """Time at which the batch was written."""


class Look(NamedTuple):
    """The batches after another one. `is_end` is True if there was nothing more to see."""

    batches: list[Batch]
    is_end: bool


class ChangeLog:
    """Appends to the log and reads it. `appended` tells listeners of this process about a batch at once."""

    def __init__(self, table: Table, partitions: int = 1) -> None:
        self._table = table
        self.partitions = partitions
        self._heads: dict[int, int] = {}
        self._appending = asyncio.Lock()
        self.listeners: list[Callable[[int, Batch], None]] = []

    def partition_of(self, pk: str) -> int:
        return crc32(pk.encode()) % self.partitions

    async def append(self, changes: Sequence[Change], *along: Write) -> None:
        """Appends changes in one transaction with `along`. Raises LeaseLost if a condition of `along` fails."""
        parts: dict[int, list[Change]] = defaultdict(list)
        for change in changes:
            parts[self.partition_of(change.key.pk)].append(change)
        table = self._table.using(Usage.lasting(TIME_FOR_ONE))
        async with self._appending:
            while True:
                for partition in parts:
                    if partition not in self._heads:
                        self._heads[partition] = await self.head(partition)
                numbers = {partition: self._heads[partition] + 1 for partition in parts}
                batches = {
                    partition: ChangeBatch(
                        partition=partition,
                        sequence=number,
                        changes=encoded(parts[partition]),
                        expires_at=seconds_from_now(KEPT),
                    )
                    for partition, number in numbers.items()
                }
                heads = [_moved(partition, number) for partition, number in numbers.items()]
                try:
                    await table.transact(*along, *heads, *map(Put, batches.values()))
                except Conflict as conflict:
                    if not any(head in conflict for head in heads):
                        raise LeaseLost from conflict
                    # Another process has appended first. If the lease is lost too, the next attempt tells.
                    self._heads.clear()
                    await asyncio.sleep(random.uniform(0, LONGEST_PAUSE))  # noqa: S311
                    continue
                except BaseException:
                    # It may have been written.
                    self._heads.clear()
                    raise
                break
            self._heads |= numbers
        for partition, record in batches.items():
            for listener in self.listeners:
                listener(partition, Batch(record.sequence, parts[partition], record.created_at))

    async def head(self, partition: int) -> int:
        """Returns the number of the last batch, 0 if there was none."""
        table = self._table.using(Usage.lasting(TIME_FOR_ONE))
        found = await table.get(LogHead.key(partition=partition), consistent=True)
        return found.sequence if found else 0

    async def has(self, partition: int, sequence: int) -> bool:
        """Returns True if this batch is there, and will not expire in a moment."""
        table = self._table.using(Usage.lasting(TIME_FOR_ONE))
        found = await table.get(ChangeBatch.key(partition=partition, sequence=sequence), consistent=True)
        return found is not None and (found.expires_at or 0) > seconds_from_now(GAPS_CLOSE)

    async def position_at(self, partition: int, time: Time) -> int:
        """Returns the number of the last batch that was written before this time, or that is gone."""
        table, after = self._table.using(Usage.lasting(TIME_FOR_ONE)), cast(Position | None, None)
        last = await self.head(partition)
        while True:
            within = ChangeBatch.within(partition=partition).newest_first()
            page: Page[ChangeBatch] = await table.query(within, limit=BATCHES_READ, after=after, consistent=True)
            for record in page.records:
                if record.created_at < time:
                    return record.sequence
                last = record.sequence - 1
            if page.more is None:
                return last
            after = page.more

    async def read(self, partition: int, after: int, *, consistent: bool = False) -> list[Batch]:
        """Returns the next batches, without gaps: a read may not see the last ones yet.

        If the next batch has expired, the list begins with the first that is left. A damaged batch is empty.
        """
        return (await self.look(partition, after, consistent=consistent)).batches

    async def look(self, partition: int, after: int, *, consistent: bool = False) -> Look:
        """Returns the same, and whether that was the end of the log."""
        table = self._table.using(Usage.lasting(TIME_FOR_ONE))
        within = ChangeBatch.within(partition=partition).between(f"{after + 1:012d}", None)
        page = await table.query(within, limit=BATCHES_READ, consistent=consistent)
        damaged = {_sequence(damage): damage for damage in page.damaged if damage.sk[-12:].isdigit()}
        stored = {record.sequence: record for record in page.records}
        found: list[Batch] = []
        decoding, size = Slice(), 0
        for sequence in sorted({*damaged, *stored}):
            if decoding.is_over:
                await decoding.next()
            expected = found[-1].sequence + 1 if found else after + 1
            batch = _decoded(stored[sequence]) if sequence in stored else await self._left_out(damaged[sequence])
            if batch is None or (sequence != expected and (found or batch.at > time_from_now(-GAPS_CLOSE))):
                return Look(found, is_end=False)
            found.append(batch)
            size += len(batch.changes)
            if size >= CHANGES_READ:
                return Look(found, is_end=False)
        return Look(found, is_end=page.more is None)

    async def _left_out(self, damage: CorruptItem) -> Batch | None:
        """Returns a damaged batch without changes, or None if a newer server may understand it: that one will go on."""
        item = await self._table.using(Usage.lasting(TIME_FOR_ONE)).stored_item(Key(ChangeBatch, damage.pk, damage.sk))
        if item is not None and is_newer(item, ChangeBatch):
            return None
        return _skipped(_sequence(damage), time_from_now(-GAPS_CLOSE), damage)


def _decoded(record: ChangeBatch) -> Batch:
    try:
        return Batch(record.sequence, decoded(record.changes), record.created_at)
    except ValueError as error:
        return _skipped(record.sequence, record.created_at, error)


def _skipped(sequence: int, at: Time, why: Exception) -> Batch:
    log.error("batch %d of the change log is damaged and skipped; rebuild what is derived: %s", sequence, why)
    return Batch(sequence, [], at)


def _sequence(damage: CorruptItem) -> int:
    return int(damage.sk[-12:])


def _moved(partition: int, number: int) -> Update:
    """Returns the write that moves the head. Only one process can append a number."""
    record = LogHead(partition=partition, sequence=number)
    last = absent("sequence") if number == 1 else equals("sequence", number - 1)
    return Update.upsert(record, add={}, when=last)
