"""Imports a GEDCOM file into a tree: people and links are stored as entities, everything else is preserved."""

import base64
import binascii
import io
from functools import partial
from typing import Annotated, NamedTuple

from typing_extensions import Doc

from datastore.client.errors import Retryable
from datastore.client.writes import Write
from datastore.genealogy import Tree
from datastore.model.keys import Key
from loaders.threads import FILES, check_time
from resolvers.accounts.guards import no_account
from resolvers.core.access import AccessRelation, AccessRole, access
from resolvers.core.context import Context
from resolvers.core.problems import ProblemCode, Refused, refused
from resolvers.genealogy.gedcom.report import GedcomRemark, Report
from resolvers.genealogy.guards import ONLY_EDITORS, still_editing, tree_for
from resolvers.genealogy.importing.mapping import Contents, contents_of, read_file
from resolvers.genealogy.importing.writes import write_contents
from resolvers.genealogy.standing import Standing


class GedcomImportReport(NamedTuple):
    """The result of an import."""

    version: str
    encoding: str
    line_count: int
    person_count: int
    family_count: int
    other_record_count: int
    mapped_count: int
    kept_count: int
    refused_count: int
    repaired_count: int
    refused: list[GedcomRemark]
    repaired: list[GedcomRemark]


class Imported(NamedTuple):
    tree: Tree
    report: GedcomImportReport


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.OWNER, AccessRelation.TREE_EDITOR))
async def import_gedcom(
    context: Context,
    *,
    tree_id: Annotated[Key[Tree], Doc("ID of the tree to import into.")],
    content: Annotated[str, Doc("Content of the file: text, or base64.")],
    is_base64: Annotated[bool, Doc("True if `content` is base64, for files in encodings other than UTF-8.")] = False,
    dry_run: Annotated[bool, Doc("True to return the report without importing anything.")] = False,
) -> Imported:
    """Imports a GEDCOM file into a tree. A file can be imported only once."""
    tree = await tree_for(context, tree_id, Standing.EDITOR)
    contents = await _parsed(context, tree, content, is_base64=is_base64)
    if contents.mark in tree.imports:
        raise refused(ProblemCode.TAKEN, "this file is already imported into this tree", at="content")
    if not dry_run:
        try:
            await write_contents(context.load, tree, contents, allowed=_allowed(context, tree))
        except Retryable:
            message = "the import ran out of time; send the file again to complete it"
            raise refused(ProblemCode.UNAVAILABLE, message, at="content") from None
    (tree_now,) = await context.load.fresh(tree_id)
    return Imported(tree_now or tree, summary(contents.report))


async def imported_before(
    context: Context,
    keys: object,
    *,
    tree_id: Key[Tree],
    content: str,
    is_base64: bool = False,
    **_: object,
) -> dict[str, GedcomImportReport | None]:
    """Replays `importGedcom`: makes the report of the file again."""
    tree = await context.load.one(tree_id)
    if tree is None:
        return {"report": None}
    contents = await _parsed(context, tree, content, is_base64=is_base64)
    return {"report": summary(contents.report)}


async def _parsed(context: Context, tree: Tree, content: str, *, is_base64: bool) -> Contents:
    parse = partial(_contents, tree, _bytes(content, is_base64=is_base64))
    return await FILES.run(parse, seconds=context.load.table.usage.seconds_left)


def _contents(tree: Tree, content: bytes) -> Contents:
    return contents_of(tree, read_file(io.BytesIO(content), lambda _: check_time()))


def _bytes(content: str, *, is_base64: bool) -> bytes:
    if not is_base64:
        return content.encode(errors="replace")
    try:
        return base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError):
        raise refused(ProblemCode.INVALID, "this is not base64", at="content") from None


def _allowed(context: Context, tree: Tree) -> dict[Write, Refused]:
    """Returns the conditions every transaction must meet, and the refusal if one fails."""
    account, *share = still_editing(context, tree)
    not_editing = refused(ProblemCode.FORBIDDEN, ONLY_EDITORS, at=tree.own_key)
    return {account: no_account(), **dict.fromkeys(share, not_editing)}


def summary(report: Report) -> GedcomImportReport:
    return GedcomImportReport(
        report.version,
        report.encoding,
        report.line_count,
        report.person_count,
        report.family_count,
        report.other_record_count,
        report.mapped_count,
        report.kept_count,
        report.refused_count,
        report.repaired_count,
        report.refused,
        report.repaired,
    )
