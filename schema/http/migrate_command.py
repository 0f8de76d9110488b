"""`heartwood migrate`: rewrites items of old versions, here or in the background, and reports what is left."""

import argparse
import asyncio
import sys
import time
from collections.abc import Callable
from typing import Any, cast

import orjson
from rich.console import Console

from datastore.client.table import Table
from datastore.local.settings import TableSettings
from datastore.maintenance import migrating
from datastore.maintenance.connections import Reached, reached
from datastore.maintenance.migrating import LEFT, OLD, READ, REWRITTEN, STATE, Migrating
from datastore.maintenance.records import Migration, MigrationStatus
from datastore.model.entity import REGISTRY
from resolvers.background.jobs import queued
from resolvers.maintenance.jobs import migrate_items
from schema.build import build


def add_arguments(parser: argparse.ArgumentParser) -> None:
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--background", action="store_true", help="let the servers do it, and return at once")
    chosen.add_argument("--pause", action="store_true", help="pause it; without an option, the command goes on with it")
    chosen.add_argument("--status", action="store_true", help="only print the progress and what is left")
    parser.add_argument("--rate", type=_positive, help="read and write units per second; unlimited by default")
    parser.add_argument("--again", action="store_true", help="read the table again after a migration that is done")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


def _positive(text: str) -> float:
    number = float(text)
    if number <= 0:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return number


def run(arguments: argparse.Namespace) -> int:
    build()  # declares all entities
    settings = TableSettings()
    with reached(settings) as where:
        return asyncio.run(_at(where, arguments))


async def _at(where: Reached, arguments: argparse.Namespace) -> int:
    async with where.table() as table:
        if arguments.status:
            return _report(await table.get(STATE, consistent=True), arguments)
        if arguments.pause:
            return _paused(await migrating.pause(table))
        migration = await migrating.begin(table, arguments.rate, again=arguments.again)
        if arguments.background:
            return await _in_background(table, migration)
        migration = await Migrating(table, migration, told=_progress()).run()
        return _report(migration, arguments)


def _paused(found: Migration | None) -> int:
    if found is None:
        print("no migration is under way", file=sys.stderr)
        return 1
    print("paused; `heartwood migrate` or `heartwood migrate --background` goes on with it")
    return 0


async def _in_background(table: Table, migration: Migration) -> int:
    if migration.status is MigrationStatus.DONE:
        print("the migration is done; --again reads the table again")
        return 0
    # One job at a time: jobs with the same ID and time are one.
    await table.put(queued(migrate_items, job_id=f"migrate-{migration.created_at}").record)
    print("a server does it now; `heartwood migrate --status` shows the progress")
    return 0


def _progress() -> Callable[[Migration], None]:
    told, printed_at = Console(stderr=True), 0.0

    def tell(migration: Migration) -> None:
        nonlocal printed_at
        if told.is_terminal and time.monotonic() - printed_at > 0.5:
            printed_at = time.monotonic()
            told.print(f"read: {_total(migration, READ):,}", end="\r", highlight=False)

    return tell


def _total(migration: Migration, what: str) -> int:
    return sum(counts.get(what, 0) for counts in _counts(migration).values())


def _counts(migration: Migration) -> dict[str, dict[str, int]]:
    return cast(dict[str, dict[str, int]], migration.counts)


def _report(migration: Migration | None, arguments: argparse.Namespace) -> int:
    """Prints what was rewritten and what is left. Returns 1 if old items are left, or may be."""
    if migration is None:
        print("no migration has run; `heartwood migrate` begins one", file=sys.stderr)
        return 1
    counts = _counts(migration)
    is_done = migration.status is MigrationStatus.DONE
    left = _total(migration, LEFT)
    if arguments.json:
        report: dict[str, Any] = {"status": migration.status.value, "left": left, "entities": counts}
        print(orjson.dumps(report, option=orjson.OPT_SORT_KEYS).decode())
        return 0 if is_done and not left else 1
    for name in sorted(counts):
        some = counts[name]
        if some.get(OLD):
            print(f"{name}  {some[OLD]:,} old, {some.get(REWRITTEN, 0):,} rewritten, {some.get(LEFT, 0):,} left")
    print(f"{migration.status.value.lower()}: {_total(migration, READ):,} items read, {_total(migration, OLD):,} old")
    if not is_done:
        return 1
    if left:
        print("Old items are left that cannot be read: `heartwood check` names them.")
        return 1
    print("No old items are left.")
    for name, entity in sorted(REGISTRY.items()):
        if entity.upgrades:
            print(f"{name}: its upgrades can be removed, with upgrades_from={entity.schema_version}")
    return 0
