"""`heartwood restore`: restores a backup, an export of AWS, or one owner's items from one of them."""

import argparse
import asyncio
import sys
import time
from collections.abc import Iterator

from datastore.client.table import Table
from datastore.local.settings import TableSettings
from datastore.maintenance.after_restore import check_table
from datastore.maintenance.connections import Reached, reached
from datastore.maintenance.export_format import DamagedBackup
from datastore.maintenance.locations import SUMMARY, Location, location
from datastore.maintenance.owned_items import belongs_to
from datastore.maintenance.owner_arguments import add_owner_arguments, owner_in
from datastore.maintenance.progress import Progress, shown
from datastore.maintenance.raw_items import head_of
from datastore.maintenance.restore import NotEmpty, Outcome, Restore, RestoreFailed, is_empty


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source",
        metavar="BACKUP",
        help="the folder or s3:// address of a backup, as `backups list` prints it",
    )
    add_owner_arguments(parser)
    parser.add_argument("--dry-run", action="store_true", help="verify the backup, and print what would be written")
    parser.add_argument("--overwrite", action="store_true", help="replace items that exist with those of the backup")
    parser.add_argument("--no-check", action="store_true", help="do not run `heartwood check` afterwards")


def run(arguments: argparse.Namespace) -> int:
    settings = TableSettings()
    try:
        source = location(arguments.source)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    if not source.has(SUMMARY) and (names := [name for name in source.folders() if source.within(name).has(SUMMARY)]):
        print(f"{source} has {len(names)} backups; choose one, such as {source.within(names[-1])}", file=sys.stderr)
        return 2
    with reached(settings) as where, shown() as progress:
        try:
            status = asyncio.run(_restore(where, source, arguments, progress))
        except (DamagedBackup, NotEmpty, RestoreFailed) as error:
            print(error, file=sys.stderr)
            return 1
        if status or arguments.dry_run or arguments.no_check:
            return status
        sys.stdout.flush()
        return asyncio.run(check_table(where, settings))


async def _restore(where: Reached, source: Location, arguments: argparse.Namespace, progress: Progress) -> int:
    began = time.monotonic()
    if not arguments.dry_run and await asyncio.to_thread(where.place.ensure_table, where.table_name):
        progress.say(f"created the table {where}")
    async with where.table() as table:
        restore = Restore(table, source, progress=progress, segments=where.segments)
        manifest, owner = restore.manifest, owner_in(arguments)
        if owner:
            places = await asyncio.to_thread(belongs_to, owner, _passes(restore))
            if not places:
                print(f"the backup has no items of the {owner.kind} {owner.owner_id}", file=sys.stderr)
                return 1
            restore.select(lambda item: head_of(item).place in places)
        if owner or not manifest.is_whole:
            outcome = await restore.where_absent(overwrite=arguments.overwrite, dry_run=arguments.dry_run)
        elif arguments.dry_run:
            await asyncio.to_thread(restore.verify)
            return await _said_dry(where, restore, table)
        else:
            outcome = await restore.into_empty(overwrite=arguments.overwrite)
        is_whole = owner is None and manifest.is_whole
        seconds = time.monotonic() - began
        print(_said(outcome, where, seconds, dry_run=arguments.dry_run, is_compared=is_whole))
        return 0


def _passes(restore: Restore) -> Iterator[Iterator[bytes]]:
    while True:
        yield restore.items()


async def _said_dry(where: Reached, restore: Restore, table: Table) -> int:
    manifest = restore.manifest
    print(f"the backup is complete: {manifest.items:,} items of {manifest.table_name}, as of {manifest.as_of}")
    if await is_empty(table):
        print(f"{where} is empty: a restore would write all of them")
        return 0
    print(f"{where} is not empty: a restore would be refused without --overwrite")
    return 1


def _said(outcome: Outcome, where: Reached, seconds: float, *, dry_run: bool, is_compared: bool) -> str:
    verb = "would be written" if dry_run else "were written"
    lines = [f"{outcome.written:,} of {outcome.items:,} items {verb} to {where}, in {seconds:.1f} s"]
    if outcome.identical:
        lines.append(f"{outcome.identical:,} items are there already, with the same content")
    if outcome.kept:
        lines.append(f"{outcome.kept:,} items differ in the table and are kept; --overwrite replaces them:")
        lines += [f"  {each}" for each in outcome.examples]
    if not dry_run:
        lines.append("verified: all items are equal" if is_compared else "the table has every item that was wanted")
    return "\n".join(lines)
