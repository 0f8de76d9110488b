"""Follows which items change, from a position of the change log on: through the log, and the outbox before it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from datastore.changes.change import decoded
from datastore.changes.log import ChangeLog
from datastore.changes.records import (
    OF_THE_LOG,
    ChangeBatch,
    Checkpoint,
    DeadLetter,
    Lease,
    LogHead,
    OutboxItem,
)
from datastore.client.budget import Usage
from datastore.client.table import Table
from datastore.maintenance.operations import MaintenanceOperation
from datastore.maintenance.raw_items import Place, RawItems

MOST_PARTITIONS = 16
TIME_FOR_ONE = 60.0
PAGE = 200

# Only about processes that run now, at this table.
LEFT_OUT = frozenset({Lease.__name__, MaintenanceOperation.__name__})
# Changes of these are not logged. They are few, and read at the end.
READ_LAST = frozenset(entity.__name__ for entity in OF_THE_LOG - {Lease})


class LogExpired(Exception):
    """The log no longer has all changes: it keeps them for a day."""


@dataclass
class LogPosition:
    """Numbers of the last batches that were read, by partitions of the log."""

    sequences: dict[int, int] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {str(partition): sequence for partition, sequence in self.sequences.items()}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "LogPosition":
        return cls({int(partition): sequence for partition, sequence in stored.items()})


class ChangedPlaces:
    """The items of a table that changed since a position. `position` moves behind what was returned."""

    def __init__(self, table: Table, position: LogPosition) -> None:
        self._table = table
        self._log = ChangeLog(table, MOST_PARTITIONS)
        self._in_outbox: set[str] = set()
        self.position = position

    @classmethod
    async def from_now(cls, table: Table) -> "ChangedPlaces":
        """Begins at the end of the log."""
        changed = cls(table, LogPosition())
        for partition in range(MOST_PARTITIONS):
            changed.position.sequences[partition] = await changed._log.head(partition)
        return changed

    async def next(self) -> set[Place]:
        """Returns the items that changed since the last call."""
        # The outbox first: what is moved to the log meanwhile is in one of both.
        found = await self._waiting()
        for partition in range(MOST_PARTITIONS):
            while batches := await self._log.read(partition, self._after(partition), consistent=True):
                if batches[0].sequence > self._after(partition) + 1:
                    raise LogExpired("the change log keeps changes for a day, and this took longer; begin again")
                for batch in batches:
                    found |= _places(batch.changes)
                self.position.sequences[partition] = batches[-1].sequence
        return found

    def _after(self, partition: int) -> int:
        return self.position.sequences.get(partition, 0)

    async def _waiting(self) -> set[Place]:
        """Returns the items whose changes came to the outbox since the last call. The log has them again later."""
        found: set[Place] = set()
        waiting: set[str] = set()
        after = None
        while True:
            table = self._table.using(Usage.lasting(TIME_FOR_ONE, is_patient=True))
            page = await table.query(OutboxItem.within(), limit=PAGE, after=after, consistent=True)
            for record in page.records:
                waiting.add(record.own_key.sk)
                if record.own_key.sk not in self._in_outbox:
                    found |= _places(decoded(record.changes))
            if page.more is None:
                self._in_outbox = waiting
                return found
            after = page.more


def _places(changes: Iterable[Any]) -> set[Place]:
    return {(change.key.pk, change.key.sk) for change in changes}


async def items_of_the_log(items: RawItems) -> list[bytes]:
    """Returns the log, its outbox and the progress of its readers."""
    found: list[bytes] = []
    partitions = range(MOST_PARTITIONS)
    places = [OutboxItem.within().pk, DeadLetter.within().pk]
    places += [within(partition=n).pk for n in partitions for within in (ChangeBatch.within, Checkpoint.within)]
    places += [LogHead.key(partition=n).pk for n in partitions]
    for pk in places:
        async for page in items.partition(pk):
            found += [bytes(memoryview(item)) for item in page]
    return found
