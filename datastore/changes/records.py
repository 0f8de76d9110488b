"""The bookkeeping of changes: the outbox, the log, leases, positions and dead letters. None of it is logged itself."""

from datastore.model.codec import Item
from datastore.model.entity import Entity, field
from datastore.model.ownership import nobody
from datastore.model.times import Time


class OutboxItem(
    Entity,
    pk="OUTBOX",
    sk="{written_at}#{number:08d}#{writer}",
    owner=nobody("it is deleted as soon as its changes are in the log"),
    logged=False,
):
    """The changes of one transaction, written with it where the table has no stream."""

    written_at: Time = field("Time at which the transaction was sent.")
    number: int = field("Number of the transaction in its process, for order within a millisecond.")
    writer: str = field("ID of the process.")
    changes: str = field("The changes, as JSON.", compressed=True)


class ChangeBatch(
    Entity,
    pk="CHANGES#{partition}",
    sk="BATCH#{sequence:012d}",
    owner=nobody("it holds keys, no content, and expires within a day"),
    logged=False,
):
    """Some changes, in order. Sequence numbers have no gaps, so that a reader knows that it has missed nothing."""

    partition: int = field("Partition of the log. All changes of an item are in the same one.")
    sequence: int = field("Number of the batch in its partition, from 1.")
    changes: str = field("The changes, as JSON.", compressed=True)


class LogHead(Entity, pk="LOGHEAD#{partition}", sk="HEAD", owner=nobody("it holds a number"), logged=False):
    """The end of a partition of the log, which outlives its batches."""

    partition: int = field("Partition of the log.")
    sequence: int = field("Number of the last batch.")


class Lease(Entity, pk="LEASE#{name}", sk="LEASE", owner=nobody("it names a process"), logged=False):
    """The right to do what only one process may do at a time, and the progress of that work."""

    name: str = field("Name of the work.")
    held_by: str | None = field("ID of the holder.", default=None)
    held_until: int = field("Unix time at which another process may take it.", default=0)
    position: str | None = field("Progress of the work.", default=None)


class Checkpoint(
    Entity, pk="CHECKPOINTS#{partition}", sk="PROCESSOR#{processor}", owner=nobody("it holds a number"), logged=False
):
    """Progress of a processor in a partition of the log."""

    partition: int = field("Partition of the log.")
    processor: str = field("Name of the processor.")
    sequence: int = field("Number of the batch that it works on or, without `done`, has finished.", default=0)
    done: int = field("Number of changes of the batch after it that are done.", default=0)


class DeadLetter(
    Entity,
    pk="DEADLETTERS",
    sk="{processor}#{partition}#{sequence:012d}#{place:06d}",
    owner=nobody("operators replay or drop it: `heartwood changes`"),
    logged=False,
):
    """A change that a processor could not handle. Kept until an operator replays or drops it."""

    processor: str = field("Name of the processor.")
    partition: int = field("Partition of the log.")
    sequence: int = field("Number of the batch.")
    place: int = field("Place of the change in the batch.")
    changes: str = field("The change, as JSON.")
    error: str = field("The last error.")


OF_THE_LOG: frozenset[type[Entity]] = frozenset({OutboxItem, ChangeBatch, LogHead, Lease, Checkpoint, DeadLetter})
"""Entities whose changes are never logged: each change in the log would cause the next one."""


def is_newer(item: Item, entity: type[Entity]) -> bool:
    """Returns True if a newer server has written the stored item, and this one cannot know what it means."""
    version = item.get("schemaVersion", {}).get("N", "")
    return version.isdigit() and int(version) > entity.schema_version
