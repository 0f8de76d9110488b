"""`heartwood schema`: prints the schema."""

import argparse

from schema.build import build

HELP = "print the GraphQL schema"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds nothing: the command has no options."""


def run(arguments: argparse.Namespace) -> int:
    print(build().as_str())
    return 0
