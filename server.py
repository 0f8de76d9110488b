"""The command line, `heartwood`."""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

from schema.http.garbage_collection import paused

COMMANDS = {
    "serve": ("schema.http.serve_command", "run the server"),
    "token": ("schema.http.token_command", "print a bearer token"),
    "table": ("datastore.local.table_command", "create, describe or wipe the table"),
    "gedcom": ("resolvers.genealogy.gedcom_command", "import or export a family tree"),
    "changes": ("schema.http.changes_command", "show how far processors are, replay or drop what failed"),
    "check": ("schema.http.check_command", "find and repair what is inconsistent in the table"),
    "migrate": ("schema.http.migrate_command", "rewrite items of old versions, and report what is left"),
    "sweep": ("schema.http.sweep_command", "delete expired items where DynamoDB does not"),
    "jobs": ("resolvers.background.jobs_command", "list, retry or cancel jobs"),
    "feeds": ("resolvers.social.feeds_command", "build home feeds"),
    "search": ("resolvers.search.search_command", "show or rebuild the search index, clean up after the former one"),
    "webhooks": ("schema.webhooks_command", "list the webhooks of an owner, or send a test"),
    "backup": ("datastore.maintenance.backup_command", "back up the table, or the items of one owner"),
    "restore": ("datastore.maintenance.restore_command", "restore a backup, or an export of AWS"),
    "backups": ("datastore.maintenance.backups_command", "list, verify and delete backups, and use those of AWS"),
    "move": ("datastore.maintenance.move_command", "move the table to another place while it is in use"),
    "top": ("schema.http.top_command", "show what servers do, live"),
    "schema": ("schema.schema_command", "print the GraphQL schema"),
    "new": ("schema.new_command", "write the files of a new entity"),
}
"""The module of each command, which is imported only to run it, and its description."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command and returns the exit status: 0 on success, 1 on failure, 2 for bad arguments or settings."""
    arguments = sys.argv[1:] if arguments is None else arguments
    parser = argparse.ArgumentParser(
        prog="heartwood", description="One GraphQL API over one DynamoDB table. Environment variables configure it."
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for name, (module, purpose) in COMMANDS.items():
        subparser = commands.add_parser(name, help=purpose, description=purpose)
        if name in arguments[:1]:
            with paused():
                command = import_module(module)
            command.add_arguments(subparser)
            subparser.set_defaults(run=command.run)
    chosen = parser.parse_args(arguments)
    if "run" not in chosen:
        parser.print_help(sys.stderr)
        return 2
    try:
        status: int = chosen.run(chosen)
    except Exception as error:
        return _reported(error)
    return status


def _reported(error: Exception) -> int:
    """Prints a failure that has a message for the operator, and returns the exit status. Raises any other."""
    # Imported after a failure only, because these modules take time to load.
    from botocore.exceptions import BotoCoreError, ClientError
    from pydantic import ValidationError

    from datastore.client.errors import DatastoreError
    from datastore.local.engine import EngineFailed
    from datastore.local.provision import TableDiffers
    from schema.http.settings import explained

    if isinstance(error, ValidationError):
        print(explained(error), file=sys.stderr)
        return 2
    if isinstance(error, EngineFailed | TableDiffers | DatastoreError | BotoCoreError | ClientError | OSError):
        print(error, file=sys.stderr)
        return 1
    raise error


if __name__ == "__main__":
    sys.exit(main())
