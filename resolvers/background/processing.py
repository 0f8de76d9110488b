"""Runs the processors: each works through the change log at its own pace, in one process at a time.

What a processor returns is written with its position, so it is written once. Otherwise its position is stored every few
seconds, and after a crash it gets the changes since then again.
"""

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from datastore.changes.change import Change, encoded
from datastore.changes.leases import Held, LeaseLost, Leases
from datastore.changes.log import Batch
from datastore.changes.records import ChangeBatch, Checkpoint, DeadLetter, Lease, LogHead, OutboxItem
from datastore.changes.tail import Tail
from datastore.client.budget import Usage
from datastore.client.errors import Conflict, DatastoreError, Retryable
from datastore.client.table import Table
from datastore.client.writes import Put, Update, Write, absent, equals
from datastore.maintenance.operations import MaintenanceOperation
from datastore.model.times import Time
from loaders.request import Loaders
from loaders.viewer import ANONYMOUS
from loaders.visibility import never_shown
from resolvers.background.processors import MOST_WRITES, PROCESSORS, Processor
from resolvers.background.tools import Tools, asked_for

log = logging.getLogger("heartwood.changes")

never_shown(
    ChangeBatch,
    Checkpoint,
    DeadLetter,
    Lease,
    LogHead,
    MaintenanceOperation,
    OutboxItem,
    because="only servers and operators read the bookkeeping of changes",
)

TIME_FOR_ONE = 60.0
# The time of a processor for its calls, and beyond it: they end by themselves, what else it waits for may not.
TIME_TO_REACT = 60.0
TIME_TO_HANG = 10.0
# A server that stops has ten seconds, and a lease to release after it.
TIME_TO_STOP = 3.0
ATTEMPTS = 5
ATTEMPTS_ALONE = 3
FIRST_PAUSE = 0.2
LONGEST_PAUSE = 30.0
STORED_EVERY = 5.0
PAUSE = 2.0


class TooSlow(Exception):
    """A processor did not finish in its time, although DynamoDB answered."""


class TooManyWrites(Exception):
    """A processor returned more writes than a transaction takes. It gets fewer changes at once then."""


@dataclass
class Progress:
    """Figures about a processor in this process, for the metrics."""

    changes: int = 0
    retries: int = 0
    dead: int = 0
    since: Time | None = None
    """Time of the oldest change that it works on."""

    @property
    def lag(self) -> float:
        """Seconds since the oldest change that is not processed, as far as it has come to this process."""
        return max(0.0, time.time() - datetime.fromisoformat(self.since).timestamp()) if self.since else 0.0


class Placed(NamedTuple):
    """A change and its place in the log: the number of its batch, and its place in that."""

    sequence: int
    place: int
    change: Change


class Course:
    """One processor in one partition of the log."""

    def __init__(
        self,
        processor: Processor,
        partition: int,
        table: Table,
        tools: Tools,
        progress: Progress,
        found: Checkpoint | None,
    ) -> None:
        self.processor = processor
        self.partition = partition
        self._table = table
        self._tools = tools
        self._progress = progress
        self._stored = found
        self.sequence = found.sequence if found else 0
        # Changes of the next batch that are done.
        self._done = found.done if found else 0
        self._stored_at = time.monotonic()

    @property
    def is_stored(self) -> bool:
        stored = self._stored
        position = (stored.sequence, stored.done) if stored else (0, 0)
        return position == (self.sequence, self._done)

    async def follow(self, tail: Tail) -> None:
        """Works until it is canceled."""
        try:
            while True:
                await self.take(await self._next(tail))
        finally:
            with contextlib.suppress(DatastoreError, LeaseLost):
                await self.stop()

    async def stop(self) -> None:
        """Stores the position, so that another process continues there."""
        if not self.is_stored:
            await self._store(TIME_TO_STOP)

    async def _next(self, tail: Tail) -> Sequence[Batch]:
        """Returns the next batches. While there are none, stores the position."""
        if not self.is_stored:
            try:
                async with asyncio.timeout(max(0.0, self._stored_at + STORED_EVERY - time.monotonic())):
                    return await tail.after(self.sequence)
            except TimeoutError:
                await self._store()
        return await tail.after(self.sequence)

    async def take(self, batches: Sequence[Batch]) -> None:
        """Works on the next batches. Takes changes of several together: the more wait, the fewer calls for each."""
        first, last = batches[0].sequence, batches[-1].sequence
        if (self._stored or self.sequence) and first > self.sequence + 1:
            lost = f"{self.sequence + 1} to {first - 1}"
            log.error(
                "the processor %s was more than a day behind: the batches %s of partition %d are gone; rebuild what it "
                "keeps",
                self.processor.name,
                lost,
                self.partition,
            )
            self._done = 0
        concerned = [
            Placed(batch.sequence, place, change)
            for batch in batches
            for place, change in enumerate(batch.changes)
            if self.processor.concerns(change) and (batch.sequence > first or place >= self._done)
        ]
        for start in range(0, len(concerned), self.processor.at_once):
            some = concerned[start : start + self.processor.at_once]
            self._progress.since = some[0].change.at
            await self._work(some)
            self._progress.changes += len(some)
        self._progress.since = None
        self.sequence, self._done = last, 0
        if not self.is_stored and time.monotonic() - self._stored_at > STORED_EVERY:
            await self._store()

    async def _work(self, some: Sequence[Placed]) -> None:
        """Gives some changes to the processor, and the failing ones of them to the operator."""
        try:
            await self._persist(some)
            return
        except LeaseLost:
            raise
        except Exception as error:
            failed = error
        if len(some) > 1 and isinstance(failed, TooManyWrites | TooSlow):
            half = len(some) // 2
            await self._work(some[:half])
            await self._work(some[half:])
            return
        if len(some) > 1:
            # Only the one that cannot be handled is set aside.
            for one in some:
                await self._work([one])
            return
        ((sequence, place, change),) = some
        name = self.processor.name
        log.error("the processor %s cannot handle the change of %s", name, change.key, exc_info=failed)
        letter = DeadLetter(
            processor=name,
            partition=self.partition,
            sequence=sequence,
            place=place,
            changes=encoded([change]),
            error=f"{failed!r:.1000}",
        )
        await self._move(some[0], Put(letter))
        self._progress.dead += 1

    async def _persist(self, some: Sequence[Placed]) -> None:
        """Tries several times. Waits for as long as it takes while DynamoDB is the cause."""
        pause, attempt = FIRST_PAUSE, 0
        # One by one, they have failed together before.
        attempts = ATTEMPTS if len(some) > 1 else ATTEMPTS_ALONE
        while True:
            try:
                writes = await react(self.processor, self._table, self._tools, [each.change for each in some])
                if writes:
                    await self._move(some[-1], *writes)
                return
            except (LeaseLost, TooManyWrites):
                raise
            except Exception as error:
                attempt += not isinstance(error, Retryable)
                if attempt >= attempts or (isinstance(error, TooSlow) and len(some) > 1):
                    raise
                log.warning("the processor %s tries again: %r", self.processor.name, error)
                self._progress.retries += 1
            await asyncio.sleep(random.uniform(pause / 2, pause))  # noqa: S311
            pause = min(2 * pause, LONGEST_PAUSE)

    async def _move(self, last: Placed, *writes: Write) -> None:
        """Stores the position after a change, in one transaction with what the processor returned."""
        # The batch may not be finished: its predecessor is.
        move = self._moved(last.sequence - 1, last.place + 1)
        try:
            await self._table.using(Usage.lasting(TIME_FOR_ONE)).transact(*writes, move[0])
        except Conflict as conflict:
            if move[0] in conflict:
                raise LeaseLost from None
            raise
        self._took(move[1])

    async def _store(self, within: float = TIME_FOR_ONE) -> None:
        """Stores the position."""
        write, position = self._moved(self.sequence, self._done)
        try:
            await self._table.using(Usage.lasting(within)).write(write)
        except Conflict:
            raise LeaseLost from None
        self._took(position)

    def _moved(self, sequence: int, done: int) -> tuple[Update, Checkpoint]:
        """Returns the write that stores a position, on condition that the stored one is the last that was seen."""
        position = Checkpoint(partition=self.partition, processor=self.processor.name, sequence=sequence, done=done)
        before = self._stored
        same = (
            absent("sequence") if before is None else equals("sequence", before.sequence) & equals("done", before.done)
        )
        return Update.upsert(position, add={}, when=same), position

    def _took(self, position: Checkpoint) -> None:
        self._stored, self._stored_at = position, time.monotonic()
        self.sequence, self._done = position.sequence, position.done


async def react(processor: Processor, table: Table, tools: Tools, changes: Sequence[Change]) -> Sequence[Write]:
    """Calls a processor and returns what it wants to be written with its position."""
    usage = Usage.lasting(TIME_TO_REACT)
    load = Loaders(table.using(usage), ANONYMOUS, consistent=True)
    try:
        async with asyncio.timeout(TIME_TO_REACT + TIME_TO_HANG):
            writes = await processor.react(load, changes, **asked_for(processor.react, tools)) or ()
    except (TimeoutError, Retryable) as error:
        # A retry says that DynamoDB has its part in it. Then it is worth waiting.
        if usage.seconds_left > 0 or usage.retries:
            raise
        raise TooSlow(
            f"the processor {processor.name} did not finish {len(changes)} changes within {TIME_TO_REACT:.0f} seconds: "
            f"give it a smaller `at_once`, or let it queue a job"
        ) from error
    if len(writes) > MOST_WRITES:
        raise TooManyWrites(
            f"the processor {processor.name} returned {len(writes)} writes for {len(changes)} changes, but at most "
            f"{MOST_WRITES} fit into a transaction: give it a smaller `at_once`"
        )
    return writes


class Processing:
    """All processors of a server. For each partition of the log, one server runs them."""

    def __init__(self, table: Table, leases: Leases, tails: Sequence[Tail], tools: Tools) -> None:
        self._table = table
        self._leases = leases
        self._tails = tails
        self._tools = tools
        self.progress: dict[str, Progress] = {}
        # What runs here now, by partition.
        self.running: dict[int, list[Course]] = {}

    async def run(self) -> None:
        """Works until it is canceled."""
        async with asyncio.TaskGroup() as tasks:
            for tail in self._tails:
                tasks.create_task(self._run(tail))

    async def _run(self, tail: Tail) -> None:
        while True:
            try:
                held = await self._leases.take(f"processors-{tail.partition}")
                if held is not None:
                    await self._hold(held, tail)
            except* (DatastoreError, LeaseLost) as errors:
                log.warning("processors have to wait: %r", errors.exceptions[0])
            except* Exception as errors:
                log.error("processors have to wait", exc_info=errors)
            await asyncio.sleep(PAUSE)

    async def _hold(self, held: Held, tail: Tail) -> None:
        try:
            courses = self.running[tail.partition] = await self.courses(tail.partition)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(held.keep())
                for course in courses:
                    tasks.create_task(course.follow(tail))
        finally:
            self.running.pop(tail.partition, None)
            await held.release()

    async def courses(self, partition: int) -> list[Course]:
        """Returns all processors at their stored positions. A new one begins with the oldest batch of the log."""
        load = Loaders(self._table.using(Usage.lasting(TIME_FOR_ONE)), ANONYMOUS, consistent=True)
        found = {
            each.processor: each
            async for page in load.pages(Checkpoint.within(partition=partition), 100)
            for each in page
        }
        return [
            Course(
                each, partition, self._table, self._tools, self.progress.setdefault(name, Progress()), found.get(name)
            )
            for name, each in PROCESSORS.items()
        ]
