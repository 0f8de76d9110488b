"""`heartwood jobs`: lists, retries and cancels jobs."""

import argparse
import asyncio
import sys
import time
from collections.abc import Iterable
from typing import TypeVar

import orjson

from datastore.client.budget import Usage
from datastore.client.errors import Conflict
from datastore.client.transport import Transport
from datastore.client.writes import Delete, Put, below, exists
from datastore.jobs import JOB_PARTITIONS, DeadJob, Job, partition_of
from datastore.local import endpoint
from datastore.local.settings import TableSettings
from datastore.model.entity import Entity
from datastore.model.keys import Range
from datastore.model.times import now
from loaders.request import Loaders
from loaders.viewer import ANONYMOUS

TIME = 600.0
PAGE = 100

E = TypeVar("E", bound=Entity)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("list", help="list the jobs that wait or run, in the order in which they are due")
    actions.add_parser("dead", help="list the jobs that failed permanently")
    for action, purpose in (
        ("retry", "run a job now: one that is dead, or that waits for its time"),
        ("cancel", "delete a job: one that is dead, or that does not run yet"),
    ):
        actions.add_parser(action, help=purpose).add_argument(
            "job_id", help="identifier of the job, as `list` or `dead` shows it"
        )


def run(arguments: argparse.Namespace) -> int:
    settings = TableSettings()
    with endpoint.chosen(settings) as where:
        return asyncio.run(_at(where, settings.table_name, arguments))


async def _at(where: endpoint.Place, name: str, arguments: argparse.Namespace) -> int:
    transport = Transport(region=where.region, endpoint=where.endpoint, credentials=where.credentials)
    try:
        load = Loaders(where.table(transport, name, Usage.lasting(TIME)), ANONYMOUS, consistent=True)
        parts = [await _all(load, Job.within(partition=partition)) for partition in range(JOB_PARTITIONS)]
        queued = sorted((job for part in parts for job in part), key=lambda job: job.due_at)
        dead = await _all(load, DeadJob.within())
        if arguments.action in ("list", "dead"):
            _print(map(_waiting, queued) if arguments.action == "list" else map(_line, dead))
            return 0
        every: list[Job | DeadJob] = [*dead, *queued]
        for each in every:
            if each.job_id == arguments.job_id:
                return await (_retry if arguments.action == "retry" else _cancel)(load, each)
        print(f"there is no job {arguments.job_id}; `heartwood jobs list` and `dead` show them", file=sys.stderr)
        return 1
    finally:
        await transport.close()


async def _all(load: Loaders, within: Range[E]) -> list[E]:
    return [each async for page in load.pages(within, PAGE) for each in page]


def _print(lines: Iterable[str]) -> None:
    print("".join(f"{line}\n" for line in lines), end="")


def _waiting(job: Job) -> str:
    state = "running" if job.leased_until > time.time() else "waiting"
    return (
        f"{job.due_at}  {job.job_id}  {job.kind}  {orjson.dumps(job.subject).decode()}  {state}  {job.attempts} failed"
    )


def _line(dead: DeadJob) -> str:
    what = f"{dead.kind}  {orjson.dumps(dead.subject).decode()}" if dead.kind else dead.item
    return f"{dead.died_at}  {dead.job_id}  {what}  {dead.attempts} attempts  {dead.error}"


async def _retry(load: Loaders, found: Job | DeadJob) -> int:
    if found.kind is None or found.subject is None:
        print(f"{found.job_id} cannot be decoded, so it cannot run; cancel it", file=sys.stderr)
        return 1
    job = Job(
        job_id=found.job_id,
        due_at=now(),
        kind=found.kind,
        subject=found.subject,
        partition=partition_of(found.job_id),
    )
    return await _done(load, found, f"{found.job_id} is queued again", Put(job))


async def _cancel(load: Loaders, found: Job | DeadJob) -> int:
    return await _done(load, found, f"{found.job_id} is canceled")


async def _done(load: Loaders, found: Job | DeadJob, said: str, *writes: Put) -> int:
    """Deletes the job, unless a server runs it or has run it, and writes the rest."""
    is_there = exists()
    if isinstance(found, Job):
        is_there = is_there & below("leased_until", int(time.time()))
    try:
        await load.write(Delete(found.own_key, when=is_there), *writes)
    except Conflict:
        print(f"a server runs {found.job_id} now, or has run it; `heartwood jobs list` shows", file=sys.stderr)
        return 1
    print(said)
    return 0
