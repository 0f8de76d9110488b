"""Work that is about to be done: jobs that are due, and changes that processors have not handled yet.

What they will put right soon is no error. A job that fails again and again is due later and later: it is no excuse.
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from datastore.changes.change import decoded
from datastore.changes.records import ChangeBatch, Checkpoint, LogHead, OutboxItem
from datastore.jobs import JOB_PARTITIONS, Job
from datastore.model.keys import Key, Range
from datastore.model.times import time_from_now
from resolvers.background.processors import PROCESSORS
from resolvers.maintenance.findings import Found, Kind
from resolvers.maintenance.looking import Look

SOON = timedelta(minutes=1)
# Of a queue that is longer, the check knows only the first part, and leaves the rest of its suspects for later.
MOST_IDS = 200_000
# What these jobs leave for a moment is no error; all others keep every rule at every step.
WORKING = ("purge_", "match_works_to_account", "match_collected_card", "give_up")
KEPT_BY_PROCESSORS = {Kind.DERIVED, Kind.FEED}


class Pending:
    """IDs that pending work is about."""

    def __init__(self, ids: set[str], derived_ids: set[str], is_whole: bool = True) -> None:
        self._ids = ids
        self._derived_ids = derived_ids
        self._is_whole = is_whole

    def excuses(self, kind: Kind, found: Found) -> bool:
        if not self._is_whole:
            return True
        return bool(found.ids & (self._derived_ids if kind in KEPT_BY_PROCESSORS else self._ids))

    @classmethod
    async def at(cls, look: Look) -> "Pending":
        """Reads the queue of jobs, the outbox, and the part of the log that processors have to do."""
        ids: set[str] = set()
        derived: set[str] = set()
        for partition in range(JOB_PARTITIONS):
            async for job in look.all(Job.within(partition=partition).between(None, time_from_now(SOON))):
                named = {*_texts(job.subject)}
                derived |= named
                if job.kind.startswith(WORKING):
                    ids |= named
                if len(derived) > MOST_IDS:
                    return cls(ids, derived, is_whole=False)
        async for text in _changes(look):
            derived |= {value for change in decoded(text) for value in _values(change.key)}
            if len(derived) > MOST_IDS:
                return cls(ids, derived, is_whole=False)
        return cls(ids, derived)


async def _changes(look: Look) -> Any:
    async for item in look.all(OutboxItem.within()):
        yield item.changes
    for partition in range(_MOST_PARTITIONS):
        (head,) = await look.fresh(LogHead.key(partition=partition))
        if head is None:
            return
        done = {each.processor: each.sequence async for each in look.all(Checkpoint.within(partition=partition))}
        last = min((done.get(name, 0) for name in PROCESSORS), default=head.sequence)
        if last < head.sequence:
            later: Range[Any] = ChangeBatch.within(partition=partition).between(f"{last + 1:012d}", None)
            async for batch in look.all(later):
                yield batch.changes


_MOST_PARTITIONS = 64


def _values(key: Key[Any]) -> Iterator[str]:
    if hasattr(key.entity, "indexes"):
        yield from key.values.values()


def _texts(subject: Any) -> Iterator[str]:
    """Yields all texts in the arguments of a job."""
    if isinstance(subject, str):
        yield subject
    elif isinstance(subject, list):
        for each in subject:
            yield from _texts(each)
    elif isinstance(subject, dict):
        for each in subject.values():
            yield from _texts(each)
