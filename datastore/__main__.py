"""python -m datastore create | describe | wipe: the table, from the command line."""

import argparse
import sys

import orjson
from botocore.exceptions import BotoCoreError, ClientError
from pydantic import ValidationError

from datastore.local import endpoint, provision
from datastore.local.engine import EngineFailed
from datastore.local.settings import TableSettings


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m datastore", description="The table, from the command line.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("create", help="create the table, or verify the one that is there")
    commands.add_parser("describe", help="print the table and how it differs from what is needed")
    wipe = commands.add_parser("wipe", help="delete the table and everything in it")
    wipe.add_argument("--force", action="store_true", help="even if it is not on this machine")
    wipe.add_argument("--yes", action="store_true", help="do not ask")
    arguments = parser.parse_args()
    try:
        settings = TableSettings()
        with endpoint.chosen(settings) as where:
            client = provision.connect(where.endpoint, where.region)
            return _run(arguments, client, settings.table_name, where)
    except (ValidationError, EngineFailed, provision.TableDiffers, BotoCoreError, ClientError) as error:
        print(error, file=sys.stderr)
        return 1


def _run(arguments: argparse.Namespace, client: provision.DynamoDBClient, name: str, where: endpoint.Place) -> int:
    match arguments.command:
        case "create":
            created = where.ensure_table(name)
            print(f"{name} at {where}: {'created' if created else 'there already, and it fits'}")
        case "describe":
            print(orjson.dumps(provision.describe(client, name), default=str, option=orjson.OPT_INDENT_2).decode())
            found = provision.differences(client, name, backups=where.needs_backups, stream=where.needs_stream)
            print("\n".join(f"differs: {line}" for line in found) or "fits")
            return 1 if found else 0
        case "wipe":
            return _wipe(arguments, client, name, where)
    return 0


def _wipe(arguments: argparse.Namespace, client: provision.DynamoDBClient, name: str, where: endpoint.Place) -> int:
    if not where.is_local and not arguments.force:
        print(f"{where} is not on this machine; --force wipes it all the same", file=sys.stderr)
        return 1
    if provision.describe(client, name) is None:
        print(f"there is no table {name} at {where}")
        return 0
    if not arguments.yes and _asked(f"Delete {name} at {where} and everything in it? Type its name: ") != name:
        print("nothing was deleted")
        return 1
    provision.wipe(client, name)
    print(f"{name} at {where} is gone")
    return 0


def _asked(question: str) -> str:
    try:
        return input(question)
    except EOFError:
        return ""


if __name__ == "__main__":
    sys.exit(main())
