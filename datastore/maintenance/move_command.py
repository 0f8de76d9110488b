"""`heartwood move`: moves the table to another engine, region or account while servers use it."""

import argparse
import asyncio
import sys
import time

from datastore.maintenance.changed_places import LogExpired
from datastore.maintenance.connections import EXAMPLE, Reached, described
from datastore.maintenance.move import CannotMove, Move, Moved, MoveOptions, release
from datastore.maintenance.progress import Progress, shown
from datastore.maintenance.segments import MOST_SEGMENTS, SEGMENTS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--from", dest="source", required=True, metavar="TABLE", help=f"like {EXAMPLE}")
    parser.add_argument("--to", dest="target", required=True, metavar="TABLE", help="the same; created if missing")
    parser.add_argument("--read-units", type=float, metavar="N", help="use at most this many read units per second")
    parser.add_argument(
        "--segments", type=int, metavar="N", help=f"read in N parallel parts; default {SEGMENTS}, locally 1"
    )
    steps = parser.add_mutually_exclusive_group()
    steps.add_argument(
        "--switch", action="store_true", help="pause writes at the end, copy the rest, and leave the source read-only"
    )
    steps.add_argument("--release", action="store_true", help="withdraw a switch: let servers write to the source")
    parser.add_argument(
        "--compare-paused", action="store_true", help="with --switch: compare all items again while writes are paused"
    )


def run(arguments: argparse.Namespace) -> int:
    try:
        if arguments.segments is not None and not 1 <= arguments.segments <= MOST_SEGMENTS:
            raise ValueError(f"--segments must be 1 to {MOST_SEGMENTS}")
        if arguments.read_units is not None and arguments.read_units <= 0:
            raise ValueError("--read-units must be above 0")
        with described(arguments.source) as source, described(arguments.target) as target, shown() as progress:
            if (source.place.endpoint, source.place.region, source.place.profile, source.table_name) == (
                target.place.endpoint,
                target.place.region,
                target.place.profile,
                target.table_name,
            ):
                raise ValueError("--from and --to are the same table")
            return asyncio.run(_move(source, target, arguments, progress))
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    except (CannotMove, LogExpired) as error:
        print(error, file=sys.stderr)
        return 1


async def _move(source: Reached, target: Reached, arguments: argparse.Namespace, progress: Progress) -> int:
    began = time.monotonic()
    async with source.table() as here:
        if arguments.release:
            done = await release(here, arguments.target, target.table_name)
            print(f"{source} takes writes again" if done else f"there is no move of {source} to withdraw")
            return 0 if done else 1
        if await asyncio.to_thread(target.place.ensure_table, target.table_name):
            progress.say(f"created the table {target}")
        async with target.table() as there:
            options = MoveOptions(
                arguments.segments or source.segments,
                arguments.read_units,
                arguments.switch,
                arguments.compare_paused,
                source.is_alone,
            )
            moved = await Move(here, there, arguments.target, options, progress).run()
    print(_said(moved, source, target, time.monotonic() - began))
    return 0


def _said(moved: Moved, source: Reached, target: Reached, seconds: float) -> str:
    lines = [
        f"{moved.copied:,} items copied, {moved.followed:,} changes followed, {moved.compared:,} items compared, "
        f"{moved.repaired:,} of them copied again, in {seconds:.1f} s"
    ]
    if moved.is_switched:
        lines += [
            f"{source} is read-only since {moved.paused_seconds:.1f} s, and stays so for a day",
            f"start the servers with the table {target}; to go back, run the command with --release before they write",
        ]
    else:
        lines.append("both tables are equal but for changes since; run the command again with --switch to switch")
    return "\n".join(lines)
