"""`heartwood schema`: prints the schema, its changes since the last release, or documents about it."""

import argparse
import re
import sys
from datetime import UTC, date, datetime

from schema import error_table, schema_changelog, table_design
from schema.build import sdl
from schema.evolution import ACCEPTED, RELEASED, Comparison, compare, read_acceptance, suggested_entry

VERSION = re.compile(r"\d+\.\d+\.\d+")
NONE_ACCEPTED = """\
# Breaking changes of the schema since the last release, each with a reason (docs/schema-evolution.md).
# `heartwood schema --changes` prints those that are missing here. `*` stands for any part of a word.
since = "{version}"
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument(
        "--table-design",
        action="store_true",
        help="print docs/table-design.md instead: every access pattern, entity and attribute",
    )
    instead.add_argument("--errors", action="store_true", help="print docs/errors.md instead: every error code")
    instead.add_argument(
        "--changes",
        action="store_true",
        help="print the changes since the last release instead; fail if one breaks clients and is not listed",
    )
    instead.add_argument("--changelog", action="store_true", help="print docs/schema-changelog.md instead")
    instead.add_argument(
        "--release",
        metavar="VERSION",
        help="store the schema as the released one, with its changelog; fail as --changes does",
    )


def run(arguments: argparse.Namespace) -> int:
    if not (arguments.changes or arguments.changelog or arguments.release):
        text = table_design.render() if arguments.table_design else error_table.render() if arguments.errors else sdl()
        print(text, end="")
        return 0
    today = datetime.now(UTC).date()
    try:
        acceptance = read_acceptance(ACCEPTED.read_text())
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    comparison = compare(RELEASED.read_text(), sdl(), acceptance, today)
    if arguments.changelog:
        print(schema_changelog.render(schema_changelog.PATH.read_text(), comparison), end="")
        return 0
    return _release(arguments.release, comparison, today) if arguments.release else _print_changes(comparison)


def _print_changes(comparison: Comparison) -> int:
    print(f"Changes of the schema since {comparison.since}:\n\n{schema_changelog.changes(comparison)}", end="")
    return _refused(comparison)


def _refused(comparison: Comparison) -> int:
    for problem in comparison.problems:
        print(problem, file=sys.stderr)
    if comparison.unlisted:
        print(f"\n{suggested_entry(comparison.unlisted)}", file=sys.stderr)
    return 1 if comparison.problems else 0


def _release(version: str, comparison: Comparison, today: date) -> int:
    if not VERSION.fullmatch(version):
        print(f"{version} is not a version: write it like 1.2.0.", file=sys.stderr)
        return 2
    if status := _refused(comparison):
        return status
    changelog = schema_changelog.PATH.read_text()
    schema_changelog.PATH.write_text(schema_changelog.released(changelog, comparison, version, today))
    RELEASED.write_text(sdl())
    ACCEPTED.write_text(NONE_ACCEPTED.format(version=version))
    print(f"The schema of {version} is released: commit {RELEASED.name}, {ACCEPTED.name} and the changelog.")
    return 0
