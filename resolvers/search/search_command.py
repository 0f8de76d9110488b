"""`heartwood search`: the search index of this machine, and what is left of the former one in the table."""

import argparse
import asyncio
import time
from pathlib import Path

from datastore.cards import Card
from datastore.client.budget import Usage
from datastore.client.table import Table
from datastore.client.transport import Transport
from datastore.former_terms import delete_terms_of
from datastore.local import endpoint
from datastore.local.settings import TableSettings
from resolvers.search.choosing import opensearch_for
from resolvers.search.embedded import CURRENT, REBUILD
from resolvers.search.engine import SearchUnavailable
from resolvers.search.refreshing import pages

TIME = 60.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("show", help="show the index of this machine")
    actions.add_parser("rebuild", help="let the server of this machine build its index again; it answers meanwhile")
    actions.add_parser("clean", help="delete the entries of the former index of cards from the table")


def run(arguments: argparse.Namespace) -> int:
    settings = TableSettings()
    if arguments.action == "clean":
        with endpoint.chosen(settings) as where:
            count = asyncio.run(_clean(where, settings.table_name))
        print(f"deleted {count:,} entries of the former index")
        return 0
    if settings.opensearch_url is not None:
        return asyncio.run(_in_opensearch(settings, arguments.action))
    folder = settings.search_folder
    if not (folder / CURRENT).exists():
        print(f"there is no search index in {folder}; a server builds it when it starts")
        return 1
    if arguments.action == "rebuild":
        (folder / REBUILD).touch()
        print("the server of this machine builds the index again within a moment, or when it starts")
    else:
        print(_shown(folder))
    return 0


async def _in_opensearch(settings: TableSettings, action: str) -> int:
    engine = opensearch_for(settings, None)
    try:
        if action == "rebuild":
            is_there = await engine.ask_for_rebuild()
            shown = "the server that writes the index builds it again within a moment, or when it starts"
        else:
            is_there, shown = True, await engine.shown() or ""
        print(shown if is_there and shown else f"there is no search index {engine.alias}; a server builds it")
    except SearchUnavailable as error:
        print(f"{error} {error.__cause__ or ''}".strip())
        return 1
    finally:
        await engine.close()
    return 0 if is_there and shown else 1


def _shown(folder: Path) -> str:
    name = (folder / CURRENT).read_text().strip()
    files = [file.stat() for file in (folder / name).glob("*") if file.is_file()]
    size = sum(file.st_size for file in files)
    age = time.time() - max((file.st_mtime for file in files), default=time.time())
    return f"{folder / name}: {size / 1e6:,.1f} MB, last commit {age:,.0f} s ago"


async def _clean(where: endpoint.Place, name: str) -> int:
    transport = Transport(region=where.region, endpoint=where.endpoint, credentials=where.credentials)
    try:
        return await delete_terms(where.table(transport, name, Usage.lasting(TIME)))
    finally:
        await transport.close()


async def delete_terms(table: Table) -> int:
    """Deletes the terms of all published cards: others had none. Returns their number."""
    count = 0
    async for cards in pages(table, Card.by_time()):
        for card in cards:
            count += await delete_terms_of(table.using(Usage.lasting(TIME)), card.own_key)
    return count
