"""`heartwood backup`: writes the whole table, or the items of one owner, to a folder or to S3."""

import argparse
import asyncio
import fcntl
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from datastore.maintenance.backup import STATE, Backup, BackupOptions, CannotResume
from datastore.maintenance.backup_settings import BackupSettings
from datastore.maintenance.changed_places import LogExpired
from datastore.maintenance.connections import Reached, reached
from datastore.maintenance.locations import Folder, Location, location
from datastore.maintenance.manifest import Manifest
from datastore.maintenance.owner_arguments import add_owner_arguments, owner_in
from datastore.maintenance.owner_backup import NothingFound, back_up_owner
from datastore.maintenance.progress import Progress, shown
from datastore.maintenance.segments import MOST_SEGMENTS, SEGMENTS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--to", metavar="PLACE", help="a folder, or s3://bucket/prefix; defaults to BACKUP_TO")
    add_owner_arguments(parser)
    parser.add_argument(
        "--read-units", type=float, metavar="N", help="use at most this many read units per second; no limit by default"
    )
    parser.add_argument(
        "--segments", type=int, metavar="N", help=f"read in N parallel parts; default {SEGMENTS}, locally 1"
    )
    parser.add_argument(
        "--pause-writes",
        action="store_true",
        help="let servers refuse writes for some seconds at the end, so that the backup is of exactly one moment",
    )
    unfinished = parser.add_mutually_exclusive_group()
    unfinished.add_argument("--resume", action="store_true", help="go on with a backup that was interrupted")
    unfinished.add_argument("--restart", action="store_true", help="drop a backup that was interrupted")


def run(arguments: argparse.Namespace) -> int:
    settings = BackupSettings()
    try:
        to = location(arguments.to or settings.backup_to or str(settings.data_dir / "backups"))
        if arguments.segments is not None and not 1 <= arguments.segments <= MOST_SEGMENTS:
            raise ValueError(f"--segments must be 1 to {MOST_SEGMENTS}")
        if arguments.read_units is not None and arguments.read_units <= 0:
            raise ValueError("--read-units must be above 0")
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    with reached(settings) as where, shown() as progress, _work_folder(to, settings) as work:
        try:
            return asyncio.run(_back_up(where, to, work, arguments, progress))
        except (CannotResume, LogExpired, NothingFound) as error:
            print(error, file=sys.stderr)
            return 1


async def _back_up(where: Reached, to: Location, work: Path, arguments: argparse.Namespace, progress: Progress) -> int:
    began = time.monotonic()
    owner = owner_in(arguments)
    async with where.table() as table:
        if owner:
            name, manifest = await back_up_owner(table, to, work.with_name(f"{work.name}-owner"), owner, progress)
        else:
            _prepare(work, arguments)
            options = BackupOptions(
                arguments.segments or where.segments, arguments.read_units, arguments.pause_writes, where.is_alone
            )
            backup = Backup(table, to, work, options, progress)
            manifest = await backup.run()
            name = backup.name
    print(said(to, name, manifest, time.monotonic() - began))
    return 0


def said(to: Location, name: str, manifest: Manifest, seconds: float) -> str:
    """Returns what an operator wants to know about a finished backup."""
    consistency = manifest.details["consistency"]
    moment = f"exactly as of {manifest.as_of}" if consistency["isExact"] else f"as of {manifest.as_of}"
    if spread := consistency.get("secondsOfLastRound"):
        moment += f", give or take {spread:.1f} s (--pause-writes makes it exact)"
    return (
        f"{manifest.items:,} items, {moment}, in {seconds:.1f} s with {manifest.details['readUnits']:,.0f} read units\n"
        f"{to.within(name)}"
    )


def _prepare(work: Path, arguments: argparse.Namespace) -> None:
    """Raises CannotResume if it is not clear what to do with an unfinished backup, or if there is none."""
    is_there = (work / STATE).exists()
    if arguments.restart:
        shutil.rmtree(work, ignore_errors=True)
    elif arguments.resume and not is_there:
        raise CannotResume(f"there is no unfinished backup in {work}; leave out --resume")
    elif is_there and not arguments.resume:
        raise CannotResume(f"a backup was interrupted: pass --resume to go on with it, or --restart to drop {work}")


@contextmanager
def _work_folder(to: Location, settings: BackupSettings) -> Iterator[Path]:
    """Yields the folder for an unfinished backup, locked: beside the backups, or in DATA_DIR if they are in S3."""
    parent = to.path if isinstance(to, Folder) else settings.data_dir
    parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (parent / f".{settings.table_name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OSError(f"another backup to {to} is running; wait for its end") from None
        yield parent / f".{settings.table_name}.partial"
