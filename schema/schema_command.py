"""`heartwood schema`: prints the schema, the design of the table, or the error codes."""

import argparse

from schema import error_table, table_design
from schema.build import sdl

HELP = "print the GraphQL schema"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--table-design",
        action="store_true",
        help="print docs/table-design.md instead: every access pattern, entity and attribute",
    )
    group.add_argument("--errors", action="store_true", help="print docs/errors.md instead: every error code")


def run(arguments: argparse.Namespace) -> int:
    text = table_design.render() if arguments.table_design else error_table.render() if arguments.errors else sdl()
    print(text, end="")
    return 0
