"""Work that goes on after the answer was sent: queued by the transaction that makes it necessary, done in the end."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from datastore.errors import Conflict, DatastoreError
from datastore.jobs import Job
from datastore.table import Table
from datastore.times import Time, new_id, now
from datastore.usage import Usage
from datastore.writes import Delete, Put, Update, below, exists
from loaders.loaders import Loaders
from loaders.viewer import ANONYMOUS

log = logging.getLogger("heartwood.jobs")

Work = Callable[..., Awaitable[None]]
F = TypeVar("F", bound=Work)

WORK: dict[str, Work] = {}
LEASE = 120
TIME_FOR_ONE = 100.0
AT_ONCE = 10


def job(function: F) -> F:
    """Make a function a kind of job. It may be run again from its start at any time, to do what is left to do."""
    WORK[function.__name__] = function
    return function


def queued(function: Work, *, due_at: Time | None = None, job_id: str | None = None, **subject: str) -> Put:
    """The write that queues a job: part of the transaction that makes the job necessary."""
    return Put(Job(job_id=job_id or new_id(), due_at=due_at or now(), kind=function.__name__, subject=subject))  # type: ignore[arg-type]


class Worker:
    """One per server. Servers share the queue: a lease keeps two from doing the same at once."""

    def __init__(self, table: Table, pause: float = 5.0) -> None:
        self._table = table
        self._pause = pause

    async def run(self) -> None:
        """For as long as the server runs."""
        while True:
            try:
                done = await self.do_what_is_due()
            except DatastoreError as error:
                log.warning("jobs have to wait: %s", error)
                done = 0
            except Exception:
                log.exception("jobs have to wait")
                done = 0
            if not done:
                await asyncio.sleep(self._pause)

    async def do_what_is_due(self) -> int:
        """How many jobs were done."""
        loaders = self._loaders()
        page = await loaders.page(Job.within().between(None, now()), AT_ONCE)
        outcomes = await asyncio.gather(*(self._do(record) for record in page.records if not _is_leased(record)))
        return sum(outcomes)

    async def _do(self, record: Job) -> bool:
        loaders = self._loaders()
        lease = Update(
            record.own_key,
            set={"leased_until": int(time.time()) + LEASE},
            add={"attempts": 1},
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
            # Whatever it was, the job stays queued, and the next attempt begins when the lease is over.
            log.exception("job %s %s failed", record.kind, record.job_id)
            return False
        await loaders.write(Delete(record.own_key))
        return True

    def _loaders(self) -> Loaders:
        return Loaders(self._table.using(Usage.lasting(TIME_FOR_ONE)), ANONYMOUS, consistent=True)


def _is_leased(record: Job) -> bool:
    return record.leased_until >= time.time()
