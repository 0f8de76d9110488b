"""Background jobs, queued in the transaction that needs them and run at least once.

Every step of a job is a transaction that keeps all counts correct. A job works page by page, so progress is kept when
its time is up, and requests do not queue behind it.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Iterable
from datetime import timedelta
from itertools import islice
from typing import Any, TypeVar

from datastore.client.budget import Usage
from datastore.client.errors import Conflict, DatastoreError
from datastore.client.table import Table
from datastore.client.writes import Delete, Put, Update, below, equals, exists
from datastore.jobs import Job
from datastore.model.codec import JSON
from datastore.model.keys import Key, Range
from datastore.model.times import Time, new_id, now, time_from_now
from loaders.request import Loaders
from loaders.viewer import ANONYMOUS
from loaders.visibility import never_shown

log = logging.getLogger("heartwood.jobs")

never_shown(Job, because="only workers read the queue")

Work = Callable[..., Awaitable[None]]
F = TypeVar("F", bound=Work)

WORK: dict[str, Work] = {}
SHORT: set[str] = set()
LEASE = 120
TIME_FOR_ONE = 100.0
JOBS_AT_ONCE = 10
LONG_JOBS_AT_ONCE = 6
LOOKED_AT = 100
PAGES_LOOKED_AT = 10
FIRST_PAUSE = 60
LONGEST_PAUSE = 24 * 3600

# For jobs over many records: concurrent changes, and page size of reads.
AT_ONCE = 8
BATCH = 100

# Indexes are eventually consistent. After this delay they contain everything written before a job was queued.
SETTLED = timedelta(seconds=5)


def job(function: F) -> F:
    """Registers a function as a kind of job. It must be idempotent: it may restart at any time."""
    WORK[function.__name__] = function
    return function


def short_job(function: F) -> F:
    """Registers a job that finishes within a few calls. Some slots of a worker are reserved for short jobs."""
    SHORT.add(function.__name__)
    return job(function)


def queued(
    function: Work, *, due_at: Time | None = None, job_id: str | None = None, **subject: str | list[str] | None
) -> Put:
    """Returns the write that queues a job, as part of the transaction that needs it.

    Jobs with the same `job_id` and due time are one job.
    """
    return Put(Job(job_id=job_id or new_id(), due_at=due_at or now(), kind=function.__name__, subject=JSON(subject)))


async def for_each(records: Iterable[Any], step: Callable[..., Awaitable[None]], *given: Any) -> None:
    """Runs the step for each record, a few at a time, so that requests do not queue behind them."""
    waiting = iter(records)
    while some := list(islice(waiting, AT_ONCE)):
        await asyncio.gather(*(step(record, *given) for record in some))


async def attempt(writing: Awaitable[Any]) -> None:
    """Runs a write and ignores conflicts: a failed condition means that it was already done."""
    try:
        await writing
    except Conflict:
        return


async def delete_all(load: Loaders, within: Range[Any]) -> None:
    async for records in load.pages(within, BATCH):
        await load.table.batch_write(deletes=[record.own_key for record in records])


class Worker:
    """Runs due jobs, one worker per server. A lease prevents two servers from running the same job.

    It polls for due jobs every second, regardless of the jobs in progress: a job waits only if all slots are taken.
    """

    def __init__(self, table: Table, pause: float = 1.0) -> None:
        self._table = table
        self._pause = pause
        self._begun: set[Key[Job]] = set()
        self._places = asyncio.Semaphore(JOBS_AT_ONCE)
        self._places_for_long = asyncio.Semaphore(LONG_JOBS_AT_ONCE)

    async def run(self) -> None:
        """Runs until it is canceled; cancels and awaits the jobs in progress."""
        is_failing = False
        async with asyncio.TaskGroup() as tasks:
            while True:
                begun: list[asyncio.Task[bool]] = []
                try:
                    begun = [tasks.create_task(self._in_turn(record)) for record in await self._due()]
                    is_failing = False
                except DatastoreError as error:
                    # Once per outage, because it polls every second.
                    log.log(logging.DEBUG if is_failing else logging.WARNING, "jobs have to wait: %s", error)
                    is_failing = True
                except Exception:
                    log.exception("jobs have to wait")
                await self._until_done(begun)

    async def do_what_is_due(self) -> int:
        """Runs all due jobs once and returns the number of jobs done."""
        due = await self._due()
        return sum(await asyncio.gather(*map(self._in_turn, due)))

    async def _due(self) -> list[Job]:
        """Returns due jobs without a lease. Skips pages of jobs that already wait for a slot here."""
        looked_at = 0
        async for page in self._loaders().pages(Job.within().between(None, now()), LOOKED_AT):
            free = [job for job in page if job.leased_until < time.time() and job.own_key not in self._begun]
            looked_at += 1
            if free or looked_at == PAGES_LOOKED_AT:
                return free
        return []

    async def _until_done(self, begun: Collection["asyncio.Task[bool]"]) -> None:
        """Waits for the jobs or one pause, whichever is shorter; does not pause if a job was done."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._pause):
                outcomes = (await asyncio.wait(begun))[0] if begun else ()
                if not any(task.result() for task in outcomes):
                    await asyncio.sleep(self._pause)

    async def _in_turn(self, record: Job) -> bool:
        """Runs a job when there is a free slot. Returns True if it was done; logs failures."""
        self._begun.add(record.own_key)
        try:
            async with self._place_for(record), self._places:
                return await self._do(record)
        except Exception as error:
            log.warning("a job has to wait: %r", error)
            return False
        finally:
            self._begun.discard(record.own_key)

    def _place_for(self, record: Job) -> contextlib.AbstractAsyncContextManager[Any]:
        return contextlib.nullcontext() if record.kind in SHORT else self._places_for_long

    async def _do(self, record: Job) -> bool:
        loaders = self._loaders()
        leased_until = int(time.time()) + LEASE
        lease = Update(
            record.own_key,
            set={"leased_until": leased_until},
            when=exists() & below("leased_until", int(time.time())),
        )
        try:
            await loaders.write(lease)
        except Conflict:
            return False
        try:
            subject: Any = record.subject
            await WORK[record.kind](loaders, **subject)
        except Exception:
            log.exception("job %s %s failed", record.kind, record.job_id)
            await self._put_off(record)
            return False
        # If the job was queued again while it ran, its lease is reset, and it must run again.
        await attempt(self._loaders().write(Delete(record.own_key, when=equals("leased_until", leased_until))))
        return True

    async def _put_off(self, record: Job) -> None:
        """Schedules a retry with exponential back-off."""
        pause = min(FIRST_PAUSE * 2**record.attempts, LONGEST_PAUSE)
        later = time_from_now(timedelta(seconds=pause))
        again = record.changed(due_at=later, attempts=record.attempts + 1, leased_until=0)
        await self._loaders().write(Delete(record.own_key, when=exists()), Put(again))

    def _loaders(self) -> Loaders:
        return Loaders(self._table.using(Usage.lasting(TIME_FOR_ONE)), ANONYMOUS, consistent=True)
