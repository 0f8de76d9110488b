"""Arguments of the command line that select the items of one owner."""

import argparse

from datastore.maintenance.owned_items import ROOTS, Owner


def add_owner_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_mutually_exclusive_group()
    for kind in ROOTS:
        group.add_argument(f"--{kind}", metavar="ID", help=f"only the items of one {kind}, by its ID in the table")


def owner_in(arguments: argparse.Namespace) -> Owner | None:
    given = [Owner(kind, getattr(arguments, kind)) for kind in ROOTS if getattr(arguments, kind)]
    return given[0] if given else None
