"""`heartwood check`: finds what is inconsistent in the table, and repairs it."""

import argparse
import asyncio
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
from rich.console import Console
from rich.table import Table as Grid

from datastore.client.table import Table
from datastore.maintenance.connections import Reached, reached
from datastore.maintenance.read_rate import ReadRate
from datastore.maintenance.work_file import NotThisTable, Positions, WorkFile
from resolvers.maintenance.all_checks import version
from resolvers.maintenance.checking import CONFIRMED, REPAIRED, UNSETTLED, Checking, Pace
from resolvers.maintenance.findings import MEANINGS, Kind
from schema.http.secret import secret_for
from schema.http.services import Services
from schema.http.settings import Settings

# A repair may reveal what another one has to do, such as comments on a post that was deleted as an orphan.
MOST_PASSES = 6
SHOWN = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--repair", action="store_true", help="repair what can be repaired, each in one transaction")
    parser.add_argument("--dry-run", action="store_true", help="with --repair: only print what would be repaired")
    parser.add_argument("--json", action="store_true", help="print each finding as a line of JSON, and a summary")
    parser.add_argument("--limit", type=int, default=SHOWN, help=f"findings to print of each kind; default {SHOWN}")
    parser.add_argument("--rate", type=_positive, help="read units per second for the scan; unlimited by default")
    parser.add_argument(
        "--segments",
        type=int,
        choices=range(1, 65),
        metavar="N",
        help="parallel reads, 1 to 64; default 1 locally, else 4",
    )
    parser.add_argument("--pause", type=float, default=None, help="seconds between two looks at a difference")
    parser.add_argument("--work-file", type=Path, help="file for notes and progress; default: in DATA_DIR")
    parser.add_argument("--from-start", action="store_true", help="do not go on with a check that was interrupted")


def _positive(text: str) -> float:
    number = float(text)
    if number <= 0:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return number


def run(arguments: argparse.Namespace) -> int:
    if arguments.dry_run and not arguments.repair:
        print("--dry-run belongs to --repair; without both, nothing is ever changed", file=sys.stderr)
        return 2
    settings = Settings()
    with reached(settings) as where:
        return asyncio.run(_at(where, settings, arguments))


async def _at(found: Reached, settings: Settings, arguments: argparse.Namespace) -> int:
    services = Services.at(found.place, settings, secret_for(settings))
    try:
        async with found.table() as table:
            return await _check(services, table, found.segments, settings, arguments)
    finally:
        await services.close()


async def _check(
    services: Services, table: Table, usual_segments: int, settings: Settings, arguments: argparse.Namespace
) -> int:
    where = services.place
    # The local engine is at another port each time.
    at = "this machine" if where.has_own_engine else str(where)
    purpose = f"check {version()} of {settings.table_name} at {at}"
    path = arguments.work_file or Path(settings.data_dir) / f"check-{settings.table_name}.sqlite"
    told = Console(stderr=True)
    began, repaired = time.monotonic(), 0
    try:
        for number in range(MOST_PASSES):
            from_start = arguments.from_start and not number
            work = WorkFile(path, purpose, Checking.tables(), from_start=from_start)
            if work.was_there:
                told.print(f"going on with the check in {path}; --from-start begins a new one", highlight=False)
            pace = Pace(
                segments=arguments.segments or usual_segments, rate=ReadRate(arguments.rate), told=_progress(told)
            )
            if arguments.pause is not None:
                pace.pause = arguments.pause
            checking = Checking(table, services.tools, work, pace)
            positions = await checking.run()
            if arguments.repair and not arguments.dry_run:
                await checking.repair()
            totals = checking.totals()
            now_repaired = sum(each.get(REPAIRED, 0) for each in totals.values())
            repaired += now_repaired
            if now_repaired and number + 1 < MOST_PASSES:
                told.print(f"{now_repaired:,} repaired; checking again", highlight=False)
                _show_repairs(checking, arguments)
                checking.work.delete()
                continue
            break
        _report(checking, arguments, positions, repaired, time.monotonic() - began)
        is_left = any(each.get(CONFIRMED) for each in totals.values())
        checking.work.delete()
        return 1 if is_left else 0
    except NotThisTable as error:
        print(error, file=sys.stderr)
        return 2


def _progress(told: Console) -> Callable[[str, int], None]:
    """Prints progress to a terminal, at most twice a second."""
    printed_at = 0.0

    def tell(phase: str, count: int) -> None:
        nonlocal printed_at
        if told.is_terminal and time.monotonic() - printed_at > 0.5:
            printed_at = time.monotonic()
            told.print(f"{phase}: {count:,}", end="\r", highlight=False)

    return tell


def _show_repairs(checking: Checking, arguments: argparse.Namespace) -> None:
    if arguments.json:
        for finding in checking.findings():
            if finding["state"] == REPAIRED:
                _print_json(finding)


def _report(
    checking: Checking, arguments: argparse.Namespace, positions: Positions, repaired: int, seconds: float
) -> None:
    totals = checking.totals()
    if arguments.json:
        for finding in checking.findings():
            _print_json(finding)
        summary: dict[str, Any] = {
            "items": positions.items,
            "readUnits": positions.read_units,
            "seconds": round(seconds, 1),
            "repaired": repaired,
            "kinds": {kind.value: _counts(totals.get(kind, {})) for kind in Kind},
        }
        _print_json({"summary": summary})
        return
    grid = Grid("kind", "what", "found", "not settled")
    for kind in Kind:
        counts = _counts(totals.get(kind, {}))
        grid.add_row(kind, MEANINGS[kind], f"{counts['found']:,}", f"{counts['unsettled']:,}")
    out = Console(width=None if sys.stdout.isatty() else 120)
    out.print(grid)
    shown: dict[str, int] = {}
    for finding in checking.findings():
        shown[finding["kind"]] = shown.get(finding["kind"], 0) + 1
        if shown[finding["kind"]] <= arguments.limit:
            print(_line(finding, would_repair=arguments.dry_run))
    found = sum(shown.values())
    print(
        f"{positions.items:,} items, {positions.read_units:,.0f} read units, {seconds:,.1f} s: "
        f"{found:,} found, {repaired:,} repaired"
    )
    if any(each.get(UNSETTLED) for each in totals.values()):
        print("What is not settled keeps changing, or waits for jobs and processors: check again later.")


def _counts(states: dict[str, int]) -> dict[str, int]:
    return {"found": states.get(CONFIRMED, 0) + states.get(REPAIRED, 0), "unsettled": states.get(UNSETTLED, 0)}


def _line(finding: dict[str, Any], *, would_repair: bool) -> str:
    text = f"{finding['kind']}  {finding['pk']} / {finding['sk']}  {finding['what']}"
    if finding["state"] == REPAIRED:
        return f"{text}  (repaired)"
    if finding["repair"] is None:
        return f"{text}  (no repair: {finding['advice']})"
    return f"{text}  (repair: {finding['repair']})" if would_repair else text


def _print_json(value: dict[str, Any]) -> None:
    print(orjson.dumps(value).decode())
