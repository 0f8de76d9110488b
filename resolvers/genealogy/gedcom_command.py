"""`heartwood gedcom`: imports and exports family trees, directly from and to the table."""

import argparse
import asyncio
import sys
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TimeRemainingColumn

from datastore.accounts import User
from datastore.client.budget import Usage
from datastore.client.errors import TableMissing
from datastore.client.transport import Transport
from datastore.client.writes import Put, absent
from datastore.genealogy import Tree
from datastore.local import endpoint
from datastore.local.settings import TableSettings
from datastore.model.times import new_id
from loaders.request import Loaders
from loaders.viewer import Viewer
from resolvers.accounts.edges import user_by_username
from resolvers.core.problems import Refused
from resolvers.genealogy.edges import tree_by_database_id, trees
from resolvers.genealogy.exporting.exporter import file_of
from resolvers.genealogy.gedcom.records import Version
from resolvers.genealogy.gedcom.writer import write_tree
from resolvers.genealogy.importing.mapping import Contents, ReadFile, contents_of, read_file
from resolvers.genealogy.importing.writes import write_contents

VERSIONS = {"5.5.1": Version.V5, "7.0": Version.V7}
TIME = 24 * 3600.0
TIME_FOR_AN_ANSWER = 10.0
COLUMNS = ("[progress.description]{task.description}", BarColumn(), TaskProgressColumn(), TimeRemainingColumn())

# Messages go to standard error, because an export may go to standard output.
told = Console(stderr=True, markup=False, highlight=False, soft_wrap=True)


class Failed(Exception):
    """A failure that the user can fix; the message says how."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    reading = actions.add_parser("import", help="add the people in a file to a tree")
    reading.add_argument("file", type=Path, help="GEDCOM 5.5.1 or 7.0, in UTF-8, UTF-16, ANSEL or Latin-1")
    reading.add_argument("--user", required=True, help="username of the tree's owner")
    reading.add_argument("--tree", help="treeId of an existing tree; defaults to a new tree")
    reading.add_argument("--name", help="name of the new tree; defaults to the name of the file")
    reading.add_argument("--dry-run", action="store_true", help="report what would be imported and write nothing")
    reading.add_argument("--again", action="store_true", help="import a file that was imported before")
    writing = actions.add_parser("export", help="write a tree to a file")
    writing.add_argument("tree", help="treeId of the tree")
    writing.add_argument("--version", choices=VERSIONS, default="7.0", help="GEDCOM version; defaults to 7.0")
    writing.add_argument("--out", type=Path, help="file to write; defaults to standard output")


def run(arguments: argparse.Namespace) -> int:
    settings = TableSettings()
    try:
        with endpoint.chosen(settings) as where:
            asyncio.run(_at(where, settings.table_name, arguments))
    except TableMissing:
        print(f"there is no table {settings.table_name}", file=sys.stderr)
        return 1
    except (Failed, Refused) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


async def import_file(load: Loaders, arguments: argparse.Namespace) -> None:
    """Imports into a new tree, into the tree of an unfinished import of the same file, or into the given tree."""
    owner = await _owner(load, arguments.user)
    read = _read(arguments.file)
    others = [tree async for page in load.pages(trees(owner), 100) for tree in page if tree.deleted_at is None]
    known = [other for other in others if read.mark in other.imports]
    begun = [other for other in others if read.mark == other.begun_import and other not in known]
    if arguments.tree:
        tree = await _tree(load, arguments.tree)
    else:
        tree = begun[0] if begun else _new_tree(owner, read, arguments)
    if tree.user_id != owner.user_id:
        raise Failed(f"the tree {tree.tree_id} does not belong to {arguments.user}")
    contents = contents_of(tree, read)
    _report(contents)
    if known and not arguments.again:
        tree = known[0]
        raise Failed(f"this file was already imported as {tree.name} ({tree.tree_id}); pass --again to repeat it")
    if arguments.dry_run:
        told.print("This was a dry run: nothing was written.")
        return
    if not arguments.tree and not begun:
        await load.write(Put(tree, when=absent()))
    total = contents.person_count + contents.link_count + len(contents.parts)
    with Progress(*COLUMNS, console=told) as progress:
        task = progress.add_task("writing", total=total)
        await write_contents(load, tree, contents, lambda count: progress.advance(task, count))
    told.print(f"{contents.person_count:,} people and {contents.link_count:,} links are in the tree {tree.tree_id}.")


async def export_file(load: Loaders, arguments: argparse.Namespace) -> None:
    """Exports the whole tree, private people included, because the command has access to the table anyway."""
    tree = await _tree(load, arguments.tree)
    load.viewer = Viewer(tree.user_id)
    file = await load.run(file_of(tree, load.viewer))
    records = write_tree(file, VERSIONS[arguments.version])
    if arguments.out is None:
        for record in records:
            sys.stdout.buffer.write(record)
    else:
        with arguments.out.open("wb") as out:
            out.writelines(records)
    told.print(f"{len(file.persons):,} people and {len(file.families):,} families.")


def _read(path: Path) -> ReadFile:
    with path.open("rb") as stream, Progress(*COLUMNS, console=told) as progress:
        task = progress.add_task("reading", total=path.stat().st_size)
        return read_file(stream, lambda count: progress.update(task, completed=count))


def _report(contents: Contents) -> None:
    report = contents.report
    told.print(
        f"GEDCOM {report.version or 'of unknown version'} in {report.encoding}: {report.line_count:,} lines, "
        f"{report.person_count:,} people, {report.family_count:,} families, "
        f"{report.other_record_count:,} other records; {report.mapped_count:,} structures mapped, "
        f"{report.kept_count:,} kept as they are, {report.refused_count:,} refused, {report.repaired_count:,} repaired."
    )
    for what, remarks, count in (
        ("refused", report.refused, report.refused_count),
        ("repaired", report.repaired, report.repaired_count),
    ):
        for remark in remarks:
            told.print(f"line {remark.line}: {remark.tag} {what}: {remark.reason} {remark.text}")
        if count > len(remarks):
            told.print(f"… and {count - len(remarks):,} more {what}")


async def _owner(load: Loaders, username: str) -> User:
    page = await load.page(user_by_username(username=username), 5)
    for user in page.records:
        if user.deleted_at is None:
            return user
    raise Failed(f"there is no user {username}")


async def _tree(load: Loaders, tree_id: str) -> Tree:
    page = await load.page(tree_by_database_id(database_id=tree_id), 5)
    for tree in page.records:
        if tree.deleted_at is None:
            return tree
    raise Failed(f"there is no tree {tree_id}")


def _new_tree(owner: User, read: ReadFile, arguments: argparse.Namespace) -> Tree:
    """Stores the file's fingerprint in the tree, so that running the command again resumes an unfinished import."""
    name = arguments.name or arguments.file.stem
    return Tree(user_id=owner.user_id, tree_id=new_id(), name=name, begun_import=read.mark)


async def _at(where: endpoint.Place, name: str, arguments: argparse.Namespace) -> None:
    transport = Transport(region=where.region, endpoint=where.endpoint)
    table = where.table(transport, name, Usage.lasting(TIME, is_patient=True))
    try:
        # A busy database may take its time later; one that is out of reach is reported at once.
        if not await table.using(Usage.lasting(TIME_FOR_AN_ANSWER)).answers():
            raise Failed(f"the table {name} is not active")
        load = Loaders(table, Viewer(None))
        await (import_file if arguments.action == "import" else export_file)(load, arguments)
    finally:
        await transport.close()
