"""`heartwood sweep`: deletes expired items now. A server does it every hour where DynamoDB does not."""

import argparse
import asyncio
import sys

from datastore.local.settings import TableSettings
from datastore.maintenance.connections import Reached, reached
from datastore.maintenance.read_rate import ReadRate
from datastore.maintenance.sweeping import sweep
from schema.build import build


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rate", type=float, help="read units per second; unlimited by default")


def run(arguments: argparse.Namespace) -> int:
    if arguments.rate is not None and arguments.rate <= 0:
        print("--rate must be above 0", file=sys.stderr)
        return 2
    build()  # declares all entities
    settings = TableSettings()
    with reached(settings) as where:
        if where.place.needs_stream:
            print(f"DynamoDB deletes expired items of a table with a stream by itself: {where}", file=sys.stderr)
            return 1
        return asyncio.run(_at(where, arguments))


async def _at(where: Reached, arguments: argparse.Namespace) -> int:
    async with where.table() as table:
        print(f"{await sweep(table, ReadRate(arguments.rate)):,} expired items deleted")
    return 0
