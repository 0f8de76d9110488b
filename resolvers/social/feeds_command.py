"""`heartwood feeds`: builds the home feeds of a table from before they had entries."""

import argparse
import asyncio

from datastore.client.budget import Usage
from datastore.client.transport import Transport
from datastore.local import endpoint
from datastore.local.settings import TableSettings
from resolvers.background.jobs import queued
from resolvers.social.feed_jobs import build_home_feeds

TIME = 60.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("build", help="queue a job that builds the home feed of every user who has none")


def run(arguments: argparse.Namespace) -> int:
    settings = TableSettings()
    with endpoint.chosen(settings) as where:
        asyncio.run(_queue(where, settings.table_name))
    print("the job is queued; servers run it")
    return 0


async def _queue(where: endpoint.Place, name: str) -> None:
    transport = Transport(region=where.region, endpoint=where.endpoint, credentials=where.credentials)
    try:
        await where.table(transport, name, Usage.lasting(TIME)).write(queued(build_home_feeds))
    finally:
        await transport.close()
