"""A recovery drill: backs a table up, restores it into an empty one, and measures whether 24 hours are enough.

    python deploy/recovery_drill.py --table heartwood --into heartwood-drill --to s3://bucket/drill

Run it every quarter, and after a change of the size of the table. It never writes to the source table. The table that
it restores into must not exist; delete it afterwards with `heartwood table wipe`.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

PROMISED_HOURS = 24.0
HEARTWOOD = str(Path(sys.executable).parent / "heartwood")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", default=os.environ.get("TABLE_NAME", "heartwood"), help="table to back up")
    parser.add_argument("--into", required=True, help="name of a table that does not exist yet")
    parser.add_argument("--to", required=True, help="folder or s3:// address for the backup")
    parser.add_argument("--command", default=HEARTWOOD, help="the program, if it is not beside this Python")
    parser.add_argument("--without-check", action="store_true", help="do not check the restored table")
    parser.add_argument("--record", type=Path, help="append the figures to this file, as JSON Lines")
    given = parser.parse_args()
    if given.into == given.table:
        parser.error("--into: choose another name than that of the table itself")
    steps: dict[str, float] = {}
    try:
        _step(steps, "back up", given.command, given.table, "backup", "--to", given.to)
        _step(steps, "create a table", given.command, given.into, "table", "create")
        _step(steps, "restore", given.command, given.into, "restore", _newest(given.to))
        if not given.without_check:
            _step(steps, "check", given.command, given.into, "check")
    except subprocess.CalledProcessError as failed:
        print(f"FAILED: {' '.join(failed.cmd)} ended with {failed.returncode}", file=sys.stderr)
        return 1
    recovery = sum(seconds for name, seconds in steps.items() if name != "back up")
    hours = recovery / 3600
    for name, seconds in steps.items():
        print(f"{name:<16}{seconds:10.1f} s")
    print(f"{'recovery':<16}{recovery:10.1f} s, {hours / PROMISED_HOURS:.2%} of the {PROMISED_HOURS:.0f} hours")
    if given.record:
        line = {"at": datetime.now(UTC).isoformat(), "table": given.table, "seconds": steps, "hours": round(hours, 4)}
        with given.record.open("a") as file:
            file.write(json.dumps(line) + "\n")
    return 0 if hours < PROMISED_HOURS else 1


def _step(steps: dict[str, float], name: str, command: str, table: str, *arguments: str) -> None:
    began = time.monotonic()
    _heartwood(command, table, *arguments)
    steps[name] = time.monotonic() - began


def _newest(place: str) -> str:
    """Returns the backup that was just written."""
    if place.startswith("s3://"):
        listed = subprocess.run(
            ["aws", "s3", "ls", place.rstrip("/") + "/"], check=True, capture_output=True, text=True
        ).stdout.split()
        return f"{place.rstrip('/')}/{max(name for name in listed if name.endswith('/')).rstrip('/')}"
    folders = [each for each in Path(place).iterdir() if each.is_dir()]
    return str(max(folders, key=lambda each: each.stat().st_mtime))


def _heartwood(command: str, table: str, *arguments: str) -> None:
    subprocess.run([*command.split(), *arguments], check=True, env={**os.environ, "TABLE_NAME": table})


if __name__ == "__main__":
    sys.exit(main())
