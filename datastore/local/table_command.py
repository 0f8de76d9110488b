"""`heartwood table`: creates, describes and deletes the table."""

import argparse
import sys

import orjson

from datastore.local import endpoint, provision
from datastore.local.settings import TableSettings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("create", help="create the table, or verify the existing one")
    actions.add_parser("describe", help="print the table and how it differs from what the server needs")
    wipe = actions.add_parser("wipe", help="delete the table and everything in it")
    wipe.add_argument("--force", action="store_true", help="wipe a table on another machine, too")
    wipe.add_argument("--yes", action="store_true", help="do not ask for confirmation")


def run(arguments: argparse.Namespace) -> int:
    settings = TableSettings()
    with endpoint.chosen(settings) as where:
        client = provision.connect(where.endpoint, where.region)
        match arguments.action:
            case "create":
                return _create(settings.table_name, where)
            case "describe":
                return _describe(client, settings.table_name, where)
            case _:
                return _wipe(arguments, client, settings.table_name, where)


def _create(name: str, where: endpoint.Place) -> int:
    created = where.ensure_table(name)
    print(f"{name} at {where}: {'created' if created else 'exists and fits'}")
    return 0


def _describe(client: provision.DynamoDBClient, name: str, where: endpoint.Place) -> int:
    print(orjson.dumps(provision.describe(client, name), default=str, option=orjson.OPT_INDENT_2).decode())
    found = provision.differences(client, name, backups=where.needs_backups, stream=where.needs_stream)
    print("\n".join(f"differs: {line}" for line in found) or "fits")
    return 1 if found else 0


def _wipe(arguments: argparse.Namespace, client: provision.DynamoDBClient, name: str, where: endpoint.Place) -> int:
    if not where.is_local and not arguments.force:
        print(f"{where} is not on this machine; pass --force to wipe it", file=sys.stderr)
        return 1
    if provision.describe(client, name) is None:
        print(f"there is no table {name} at {where}")
        return 0
    if not arguments.yes and _answer(f"Delete {name} at {where} and everything in it? Type its name: ") != name:
        print("nothing was deleted")
        return 1
    provision.wipe(client, name)
    print(f"{name} at {where} was deleted")
    return 0


def _answer(question: str) -> str:
    try:
        return input(question)
    except EOFError:
        return ""
