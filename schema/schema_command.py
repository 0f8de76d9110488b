"""`heartwood schema`: prints the schema, or the design of the table."""

import argparse

from schema import table_design
from schema.build import sdl

HELP = "print the GraphQL schema"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--table-design",
        action="store_true",
        help="print docs/table-design.md instead: every access pattern, entity and attribute",
    )


def run(arguments: argparse.Namespace) -> int:
    print(table_design.render() if arguments.table_design else sdl(), end="")
    return 0
