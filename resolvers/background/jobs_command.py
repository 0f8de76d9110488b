"""`heartwood jobs`: lists, retries and drops dead jobs."""

import argparse
import asyncio
import sys

import orjson

from datastore.client.budget import Usage
from datastore.client.table import Table
from datastore.client.transport import Transport
from datastore.client.writes import Delete, Put, exists
from datastore.jobs import DeadJob, Job
from datastore.local import endpoint
from datastore.local.settings import TableSettings
from datastore.model.times import now
from loaders.request import Loaders
from loaders.viewer import ANONYMOUS

TIME = 600.0
PAGE = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("dead", help="list the jobs that failed permanently")
    for action, purpose in (("retry", "queue a dead job again"), ("drop", "delete a dead job")):
        actions.add_parser(action, help=purpose).add_argument(
            "job_id", help="identifier of the job, as `dead` lists it"
        )


def run(arguments: argparse.Namespace) -> int:
    settings = TableSettings()
    with endpoint.chosen(settings) as where:
        return asyncio.run(_at(where, settings.table_name, arguments))


async def _at(where: endpoint.Place, name: str, arguments: argparse.Namespace) -> int:
    transport = Transport(region=where.region, endpoint=where.endpoint, credentials=where.credentials)
    try:
        load = Loaders(Table(transport, name, Usage.lasting(TIME)), ANONYMOUS, consistent=True)
        dead = [each async for page in load.pages(DeadJob.within(), PAGE) for each in page]
        if arguments.action == "dead":
            print("".join(f"{_line(each)}\n" for each in dead), end="")
            return 0
        chosen = next((each for each in dead if each.job_id == arguments.job_id), None)
        if chosen is None:
            print(f"there is no dead job {arguments.job_id}; `heartwood jobs dead` lists them", file=sys.stderr)
            return 1
        return await (_retry if arguments.action == "retry" else _drop)(load, chosen)
    finally:
        await transport.close()


def _line(dead: DeadJob) -> str:
    what = f"{dead.kind}  {orjson.dumps(dead.subject).decode()}" if dead.kind else dead.item
    return f"{dead.died_at}  {dead.job_id}  {what}  {dead.attempts} attempts  {dead.error}"


async def _retry(load: Loaders, dead: DeadJob) -> int:
    if dead.kind is None or dead.subject is None:
        print(f"{dead.job_id} cannot be decoded, so it cannot run; drop it", file=sys.stderr)
        return 1
    job = Job(job_id=dead.job_id, due_at=now(), kind=dead.kind, subject=dead.subject)
    await load.write(Delete(dead.own_key, when=exists()), Put(job))
    print(f"{dead.job_id} is queued again")
    return 0


async def _drop(load: Loaders, dead: DeadJob) -> int:
    await load.write(Delete(dead.own_key, when=exists()))
    print(f"{dead.job_id} is dropped")
    return 0
