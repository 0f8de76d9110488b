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
from types import MappingProxyType
from typing import Any, TypeVar, cast

import orjson

from datastore.client.budget import Usage
from datastore.client.errors import Conflict, CorruptItem, DatastoreError
from datastore.client.positions import Position
from datastore.client.table import Page, Table
from datastore.client.writes import Condition, Delete, Put, Update, below, equals, exists
from datastore.jobs import JOB_PARTITIONS, DeadJob, Job, partition_of
from datastore.model.codec import JSON
from datastore.model.keys import Key, Range
from datastore.model.times import Time, epoch_seconds, new_id, now, time_from_now
from loaders.request import Loaders
from loaders.viewer import ANONYMOUS
from loaders.visibility import never_shown
from resolvers.background.job_stats import JobStats
from resolvers.background.tools import Tools, asked_for

log = logging.getLogger("heartwood.jobs")

never_shown(Job, DeadJob, because="only workers and operators read the queue")

Work = Callable[..., Awaitable[None]]
F = TypeVar("F", bound=Work)

WORK: dict[str, Work] = {}
SHORT: set[str] = set()
WAITING: set[str] = set()
LEASE = 30
RENEWED_EVERY = 10.0
TIME_FOR_ONE = 600.0
TIME_TO_RENEW = 5.0
TIME_TO_RELEASE = 3.0
MAX_ATTEMPTS = 12
# How long a job of an unknown kind or version waits for a newer server, while servers are being replaced.
PATIENCE = timedelta(days=1)
JOBS_AT_ONCE = 10
LONG_JOBS_AT_ONCE = 6
# More than requests of webhooks at a time, so that those without a place learn it soon and are put off.
WAITING_JOBS_AT_ONCE = 100
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


def waiting_job(function: F) -> F:
    """Registers a job that spends its time waiting for another server. It has slots of its own and delays no other."""
    WAITING.add(function.__name__)
    return job(function)


def queued(
    function: Work, *, due_at: Time | None = None, job_id: str | None = None, **subject: str | list[str] | None
) -> Put:
    """Returns the write that queues a job, as part of the transaction that needs it.

    Jobs with the same `job_id` and due time are one job.
    """
    job_id = job_id or new_id()
    return Put(
        Job(
            job_id=job_id,
            due_at=due_at or now(),
            kind=function.__name__,
            subject=JSON(subject),
            partition=partition_of(job_id),
        )
    )


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


class LeaseLost(Exception):
    """Another server may run the job now."""


class Worker:
    """Runs due jobs, one worker per server. A lease prevents two servers from running the same job.

    It polls for due jobs every second, regardless of the jobs in progress: a job waits only if all slots are taken. A
    lease is short and renewed while its job runs, so that the jobs of a dead server are soon taken over.
    """

    def __init__(
        self,
        table: Table,
        tools: Tools = MappingProxyType({}),
        *,
        pause: float = 1.0,
        clock: Callable[[], float] = time.time,
        stats: JobStats | None = None,
    ) -> None:
        self.stats = stats or JobStats()
        self._table = table
        self._tools = tools
        self._pause = pause
        self._clock = clock
        self._begun: set[Key[Job]] = set()
        self._places = asyncio.Semaphore(JOBS_AT_ONCE)
        self._places_for_long = asyncio.Semaphore(LONG_JOBS_AT_ONCE)
        self._places_for_waiting = asyncio.Semaphore(WAITING_JOBS_AT_ONCE)

    async def run(self) -> None:
        """Runs until it is canceled; cancels the jobs in progress and releases their leases."""
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
        """Returns due jobs without a lease, the oldest first."""
        found = await asyncio.gather(*map(self._due_in, range(JOB_PARTITIONS)))
        due = sorted((job for jobs in found for job in jobs), key=lambda job: job.due_at)
        self.stats.lag = max(0.0, self._clock() - epoch_seconds(due[0].due_at)) if due else 0.0
        return due

    async def _due_in(self, partition: int) -> list[Job]:
        """Returns due jobs of a partition. Skips pages of jobs that already wait for a slot here."""
        # Eventually consistent: it is asked again in a second, and the lease decides.
        table, after = self._table.using(Usage.lasting(TIME_FOR_ONE)), cast(Position | None, None)
        due = Job.within(partition=partition).between(None, now())
        for _ in range(PAGES_LOOKED_AT):
            page: Page[Job] = await table.query(due, limit=LOOKED_AT, after=after)
            for damage in page.damaged:
                await self._set_aside(damage)
            free = [job for job in page.records if job.leased_until < self._clock() and job.own_key not in self._begun]
            known = [job for job in free if job.kind in WORK]
            for job in free:
                if job.kind not in WORK and job.due_at < time_from_now(-PATIENCE):
                    await self._give_up(
                        job, f"no server knows the kind {job.kind}", when=equals("leased_until", job.leased_until)
                    )
            if known or page.more is None:
                return known
            after = page.more
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
            async with contextlib.AsyncExitStack() as stack:
                for places in self._places_for(record):
                    await stack.enter_async_context(places)
                return await self._do(record)
        except Exception as error:
            log.warning("a job has to wait: %r", error)
            return False
        finally:
            self._begun.discard(record.own_key)

    def _places_for(self, record: Job) -> list[asyncio.Semaphore]:
        if record.kind in WAITING:
            return [self._places_for_waiting]
        return [self._places] if record.kind in SHORT else [self._places_for_long, self._places]

    async def _do(self, record: Job) -> bool:
        run_id, leased_at = new_id(), self._clock()
        try:
            await self._lease(record, run_id, when=exists() & below("leased_until", int(leased_at)))
        except Conflict:
            return False
        # If the job was queued again while it ran, its lease is reset, and it must run again.
        mine = equals("leased_by", run_id)
        self.stats.running += 1
        try:
            await self._work(record, run_id, leased_at + LEASE)
        except asyncio.CancelledError:
            await self._release(record, mine)
            raise
        except ExceptionGroup as failed:
            error = failed.exceptions[0]
            if isinstance(error, LeaseLost):
                log.warning("job %s %s stopped: its lease was lost", record.kind, record.job_id)
                return False
            log.error("job %s %s failed", record.kind, record.job_id, exc_info=error)
            self.stats.failed[record.kind] += 1
            await attempt(self._put_off(record, error, mine))
            return False
        finally:
            self.stats.running -= 1
        self.stats.done[record.kind] += 1
        await attempt(self._loaders().write(Delete(record.own_key, when=mine)))
        return True

    async def _work(self, record: Job, run_id: str, expires_at: float) -> None:
        """Runs the function while its lease is renewed. A lost lease cancels it."""
        subject: Any = record.subject
        async with asyncio.TaskGroup() as tasks:
            renewing = tasks.create_task(self._keep_lease(record, run_id, expires_at))
            function = WORK[record.kind]
            await function(self._loaders(), **subject, **asked_for(function, self._tools))
            renewing.cancel()

    async def _keep_lease(self, record: Job, run_id: str, expires_at: float) -> None:
        """Renews the lease. Raises LeaseLost as soon as it expires: from then on another server may run the job."""
        while (left := expires_at - self._clock()) > 0:
            await asyncio.sleep(min(RENEWED_EVERY, left))
            renewed_at = self._clock()
            within = min(TIME_TO_RENEW, expires_at - renewed_at)
            try:
                await self._lease(record, run_id, when=equals("leased_by", run_id), within=within)
                expires_at = renewed_at + LEASE
            except Conflict:
                raise LeaseLost from None
            except DatastoreError as error:
                log.warning("the lease of job %s %s was not renewed: %s", record.kind, record.job_id, error)
        raise LeaseLost

    async def _lease(self, record: Job, run_id: str, when: Condition, within: float = TIME_TO_RENEW) -> None:
        until = int(self._clock()) + LEASE
        table = self._table.using(Usage.lasting(within))
        await table.update(Update(record.own_key, set={"leased_until": until, "leased_by": run_id}, when=when))

    async def _release(self, record: Job, mine: Condition) -> None:
        """Lets another server continue at once."""
        try:
            async with asyncio.timeout(TIME_TO_RELEASE):
                await self._table.using(Usage.lasting(TIME_TO_RELEASE)).update(
                    Update(record.own_key, set={"leased_until": 0}, remove=["leased_by"], when=mine)
                )
        except (DatastoreError, TimeoutError) as error:
            log.warning("the lease of job %s %s was not released: %r", record.kind, record.job_id, error)

    async def _put_off(self, record: Job, error: Exception, mine: Condition) -> None:
        """Schedules a retry with exponential back-off, or gives up."""
        if record.attempts + 1 >= MAX_ATTEMPTS:
            await self._give_up(record.changed(attempts=record.attempts + 1), f"{error!r:.1000}", when=mine)
            return
        pause = min(FIRST_PAUSE * 2**record.attempts, LONGEST_PAUSE)
        later = time_from_now(timedelta(seconds=pause))
        again = record.changed(due_at=later, attempts=record.attempts + 1, leased_until=0, leased_by=None)
        await self._loaders().write(Delete(record.own_key, when=mine), Put(again))

    async def _give_up(self, record: Job, error: str, when: Condition) -> None:
        dead = DeadJob(
            job_id=record.job_id,
            died_at=now(),
            error=error,
            attempts=record.attempts,
            kind=record.kind,
            subject=record.subject,
        )
        await self._bury(dead, record.own_key, when)

    async def _set_aside(self, damage: CorruptItem) -> None:
        """Moves a job that cannot be decoded to the dead ones, unless a newer server may know its version."""
        key = Key(Job, damage.pk, damage.sk)
        item = await self._table.stored_item(key)
        if item is None:
            return
        version = item.get("schemaVersion", {}).get("N", "")
        is_newer = version.isdigit() and int(version) > Job.schema_version
        if is_newer and damage.sk > time_from_now(-PATIENCE):
            return
        dead = DeadJob(job_id=new_id(), died_at=now(), error=f"{damage!s:.1000}", item=orjson.dumps(item).decode())
        await self._bury(dead, key, exists())

    async def _bury(self, dead: DeadJob, key: Key[Job], when: Condition) -> None:
        with contextlib.suppress(Conflict):
            await self._loaders().write(Delete(key, when=when), Put(dead))
            self.stats.dead[dead.kind if dead.kind in WORK else "other"] += 1
            log.error("job %s %s is dead: %s", dead.kind, dead.job_id, dead.error)

    def _loaders(self) -> Loaders:
        return Loaders(self._table.using(Usage.lasting(TIME_FOR_ONE)), ANONYMOUS, consistent=True)
