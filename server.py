"""The command line, `heartwood`."""

import argparse
import sys
from collections.abc import Sequence

from botocore.exceptions import BotoCoreError, ClientError
from pydantic import ValidationError

from datastore.client.errors import DatastoreError
from datastore.local import table_command
from datastore.local.engine import EngineFailed
from datastore.local.provision import TableDiffers
from resolvers.background import jobs_command
from resolvers.genealogy import gedcom_command
from schema import new_command, schema_command
from schema.http import serve_command, token_command
from schema.http.settings import explained

COMMANDS = {
    "serve": serve_command,
    "token": token_command,
    "table": table_command,
    "gedcom": gedcom_command,
    "jobs": jobs_command,
    "schema": schema_command,
    "new": new_command,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command and returns the exit status: 0 on success, 1 on failure, 2 for bad arguments or settings."""
    parser = argparse.ArgumentParser(
        prog="heartwood", description="One GraphQL API over one DynamoDB table. Environment variables configure it."
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for name, command in COMMANDS.items():
        subparser = commands.add_parser(name, help=command.HELP, description=command.HELP)
        command.add_arguments(subparser)
        subparser.set_defaults(run=command.run)
    chosen = parser.parse_args(arguments)
    if "run" not in chosen:
        parser.print_help(sys.stderr)
        return 2
    try:
        status: int = chosen.run(chosen)
    except ValidationError as error:
        print(explained(error), file=sys.stderr)
        return 2
    except (EngineFailed, TableDiffers, DatastoreError, BotoCoreError, ClientError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return status


if __name__ == "__main__":
    sys.exit(main())
