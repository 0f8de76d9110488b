"""From a GEDCOM file to a tree: people and links as everything else is stored, the rest kept as the file has it."""

import asyncio
import base64
import binascii
import io
from collections.abc import Awaitable, Callable, Iterator
from itertools import islice
from typing import Annotated, Any, BinaryIO, NamedTuple, TypeVar
from uuid import UUID, uuid5

import orjson
from typing_extensions import Doc

from datastore.dates import HistoricDate, from_gedcom
from datastore.entity import Entity
from datastore.errors import Conflict, Retryable
from datastore.genealogy import GedcomPart, Marriage, Parentage, Person, Tree
from datastore.keys import Key
from datastore.kin import Gender, MarriageStatus, ParentageKind
from datastore.times import now
from datastore.writes import Put, Update, absent, equals
from loaders.loaders import Loaders
from resolvers.context import Context
from resolvers.gedcom.fingerprints import fingerprint
from resolvers.gedcom.model import GedFamily, GedPerson, GedTree, Status
from resolvers.gedcom.report import Remark, Report
from resolvers.gedcom.trees import read_tree
from resolvers.genealogy import Standing, persons
from resolvers.genealogy_parents import BIOLOGICAL_PARENTS, couple
from resolvers.genealogy_trees import tree_for
from resolvers.problems import ProblemCode, refused
from resolvers.users_commands import is_open

T = TypeVar("T")

NAMESPACE = UUID("6c0f9a52-6f0b-5b43-9a0e-6f1e2f6a7d11")
PEOPLE_AT_ONCE = 90
LINKS_AT_ONCE = 400
MAX_TEXT = 200_000
PART = 100_000

STATUSES = {
    Status.MARRIED: MarriageStatus.MARRIED,
    Status.DIVORCED: MarriageStatus.DIVORCED,
    Status.SEPARATED: MarriageStatus.SEPARATED,
    Status.WIDOWED: MarriageStatus.WIDOWED,
    Status.UNKNOWN: MarriageStatus.PARTNERS,
}

Advance = Callable[[int], None]


class ImportReport(NamedTuple):
    """What became of a file."""

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
    refused: list[Remark]
    repaired: list[Remark]


class Imported(NamedTuple):
    tree: Tree
    report: ImportReport


class Contents(NamedTuple):
    """What a file becomes."""

    people: list[Person]
    links: list[Parentage | Marriage]
    parts: list[GedcomPart]
    mark: str
    report: Report


async def import_gedcom(
    context: Context,
    *,
    tree_id: Annotated[Key[Tree], Doc("The `id` of the tree to add to.")],
    content: Annotated[str, Doc("The file: its text, or its bytes in base64.")],
    is_base64: Annotated[bool, Doc("Whether it is base64: for files in other encodings than UTF-8.")] = False,
    dry_run: Annotated[bool, Doc("Whether only to say what would become of it.")] = False,
) -> Imported:
    """Add everybody in a GEDCOM file to a tree. A file that was imported before is refused."""
    tree = await tree_for(context, tree_id, Standing.EDITOR)
    # Others are served meanwhile: a long file takes seconds to read.
    contents = await asyncio.to_thread(contents_of, tree, io.BytesIO(_bytes(content, is_base64=is_base64)))
    if contents.mark in tree.imports:
        raise refused(ProblemCode.TAKEN, "this file was imported into this tree before", "input", "content")
    if not dry_run:
        try:
            await write_contents(context.load, tree, contents)
        except Retryable:
            message = "there was no time for all of it; send it again, and what is missing is added"
            raise refused(ProblemCode.UNAVAILABLE, message, "input", "content") from None
    (tree_now,) = await context.load.fresh(tree_id)
    return Imported(tree_now or tree, summary(contents.report))


def _bytes(content: str, *, is_base64: bool) -> bytes:
    if not is_base64:
        return content.encode(errors="replace")
    try:
        return base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError):
        raise refused(ProblemCode.INVALID, "this is not base64", "input", "content") from None


def summary(report: Report) -> ImportReport:
    return ImportReport(
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


def contents_of(tree: Tree, stream: BinaryIO, progress: Callable[[int], None] | None = None) -> Contents:
    """Whatever the bytes are. The same file in the same tree makes the same people, so that it can be done again."""
    file, report = read_tree(stream, progress)
    if not file.persons:
        raise refused(ProblemCode.INVALID, "there is nobody in it: a GEDCOM file has INDI records", "input", "content")
    mark = fingerprint(file)
    ids = {person.xref: uuid5(NAMESPACE, f"{tree.tree_id} {mark} {person.xref}").hex for person in file.persons}
    parentages = _parentages(tree, file, ids, report)
    parents: dict[str, list[Parentage]] = {}
    for link in parentages:
        parents.setdefault(link.child_id, []).append(link)
    moment = now()
    people = [
        _person(tree, person, ids[person.xref], number, parents.get(ids[person.xref], []), moment, report)
        for number, person in enumerate(file.persons, 1)
    ]
    marriages, extra = _marriages(tree, file, ids)
    parts = [*_parts(tree, mark, _families(file, ids, extra), "FAM"), *_parts(tree, mark, _others(file), "OTHER")]
    return Contents(people, [*parentages, *marriages], parts, mark, report)


async def write_contents(load: Loaders, tree: Tree, contents: Contents, advance: Advance | None = None) -> None:
    """People are counted as they come, and those who are there already are left: what was cut short is finished."""
    there: set[str] = set()
    async for page in load.pages(persons(tree), 1_000):
        there |= {person.person_id for person in page}
    missing = iter([person for person in contents.people if person.person_id not in there])
    while some := list(islice(missing, PEOPLE_AT_ONCE)):
        counted = Update(tree.own_key, add={"person_count": len(some)}, when=is_open())
        await _or_refuse(load.write(counted, *(Put(person, when=absent()) for person in some)))
        _tell(advance, len(some))
    rest: Iterator[Entity] = iter([*contents.links, *contents.parts])
    while others := list(islice(rest, LINKS_AT_ONCE)):
        await load.table.batch_write(puts=others)
        _tell(advance, len(others))
    (fresh,) = await load.fresh(tree.own_key)
    if fresh is None:
        raise refused(ProblemCode.NOT_FOUND, "the tree was deleted in the meantime", "input", "treeId")
    done = fresh.changed(
        imports=[*fresh.imports, contents.mark],
        root_person_id=fresh.root_person_id or contents.people[0].person_id,
        links_changed=fresh.links_changed + 1,
    )
    as_read = is_open() & equals("links_changed", fresh.links_changed) & equals("imports", fresh.imports)
    await _or_refuse(load.write(Update.of(fresh, done, when=as_read)))


async def _or_refuse(writing: Awaitable[T]) -> T:
    try:
        return await writing
    except Conflict:
        message = "the tree is being changed by somebody else; send it again, and what is missing is added"
        raise refused(ProblemCode.CONFLICT, message, "input", "treeId") from None


def _tell(advance: Advance | None, count: int) -> None:
    if advance:
        advance(count)


def _person(
    tree: Tree, said: GedPerson, person_id: str, number: int, parents: list[Parentage], moment: Any, report: Report
) -> Person:
    kept, biography = said.kept, said.biography
    if len(kept) > MAX_TEXT or len(biography) > MAX_TEXT:
        report.refuse(said.line, "INDI", f"Over {MAX_TEXT:,} characters are said of @{said.xref}@: the rest is lost.")
        kept, biography = kept[:MAX_TEXT].rpartition("\n")[0], biography[:MAX_TEXT]
    return Person(
        user_id=tree.user_id,
        tree_id=tree.tree_id,
        person_id=person_id,
        number=number,
        first_name=said.first_name or None,
        middle_name=said.middle_name or None,
        last_name=said.last_name or None,
        birth_name=said.birth_name or None,
        preferred_name=said.preferred_name or None,
        suffix=said.suffix or None,
        gender=Gender[said.gender.name],
        birth_date=_date(said.birth_date),
        birth_place=said.birth_place or None,
        death_date=_date(said.death_date),
        death_place=said.death_place or None,
        is_deceased=said.is_deceased,
        biography=biography or None,
        photo_url=said.photo_url or None,
        parent_ids=[link.parent_id for link in parents],
        biological_parents=sum(link.kind is ParentageKind.BIOLOGICAL for link in parents),
        xref=said.xref,
        kept=kept or None,
        created_at=moment,
        updated_at=moment,
    )


def _date(text: str) -> HistoricDate | None:
    return from_gedcom(text) if text else None


def _parentages(tree: Tree, file: GedTree, ids: dict[str, str], report: Report) -> list[Parentage]:
    """Each pair once; neither a third parent by birth nor somebody who would be their own ancestor."""
    found: dict[tuple[str, str], Parentage] = {}
    parents: dict[str, list[str]] = {}
    for family in file.families:
        for child in family.children:
            for partner, pedigree in ((family.husband, child.husband_pedigree), (family.wife, child.wife_pedigree)):
                pair = ids.get(partner, ""), ids.get(child.xref, "")
                if not all(pair) or pair in found:
                    continue
                kind = ParentageKind[pedigree.name]
                wrong = _wrong(found, parents, pair, kind)
                if wrong:
                    report.refuse(family.line, "CHIL", f"@{child.xref}@ of @{partner}@: {wrong}.")
                    continue
                found[pair] = Parentage(
                    user_id=tree.user_id, tree_id=tree.tree_id, parent_id=pair[0], child_id=pair[1], kind=kind
                )
                parents.setdefault(pair[1], []).append(pair[0])
    return [*found.values()]


def _wrong(
    found: dict[tuple[str, str], Parentage], parents: dict[str, list[str]], pair: tuple[str, str], kind: ParentageKind
) -> str | None:
    parent_id, child_id = pair
    of_birth = [each for each in parents.get(child_id, ()) if found[each, child_id].kind is ParentageKind.BIOLOGICAL]
    if kind is ParentageKind.BIOLOGICAL and len(of_birth) >= BIOLOGICAL_PARENTS:
        return "a child has two biological parents at most"
    met, edge = {parent_id}, [parent_id]
    while edge:
        if child_id in met:
            return "nobody can be their own ancestor"
        edge = [above for each in edge for above in parents.get(each, ()) if above not in met]
        met.update(edge)
    return None


def _marriages(tree: Tree, file: GedTree, ids: dict[str, str]) -> tuple[list[Marriage], set[str]]:
    """One for two people; the families of a couple that has one already keep for themselves what they say of it."""
    found: dict[Key[Marriage], Marriage] = {}
    extra: set[str] = set()
    for family in file.families:
        one, other = ids.get(family.husband), ids.get(family.wife)
        if not one or not other or one == other:
            extra.add(family.xref)
            continue
        marriage = couple(
            tree,
            one,
            other,
            status=STATUSES[family.status],
            marriage_date=_date(family.marriage_date),
            marriage_place=family.marriage_place or None,
            divorce_date=_date(family.divorce_date),
        )
        if marriage.own_key in found:
            extra.add(family.xref)
        found.setdefault(marriage.own_key, marriage)
    return [*found.values()], extra


def _families(file: GedTree, ids: dict[str, str], extra: set[str]) -> Iterator[dict[str, Any]]:
    """As the file has them: who is in which, in which order, and what else it says of each."""
    for family in file.families:
        said: dict[str, Any] = {
            "xref": family.xref,
            "husband": ids.get(family.husband),
            "wife": ids.get(family.wife),
            "children": [ids[child.xref] for child in family.children if child.xref in ids],
            "kept": family.kept,
        }
        if family.xref in extra:
            said["own"] = _own(family)
        yield said


def _own(family: GedFamily) -> dict[str, str]:
    return {
        "marriage_date": family.marriage_date,
        "marriage_place": family.marriage_place,
        "divorce_date": family.divorce_date,
        "status": family.status.value,
    }


def _others(file: GedTree) -> Iterator[dict[str, Any]]:
    yield {"header": file.header}
    yield from ({"xref": other.xref, "tag": other.tag, "kept": other.kept} for other in file.others)


def _parts(tree: Tree, mark: str, said: Iterator[dict[str, Any]], kind: str) -> Iterator[GedcomPart]:
    """In items of a moderate size, in order."""
    some: list[dict[str, Any]] = []
    size = number = 0
    for each in said:
        length = len(orjson.dumps(each))
        if some and size + length > PART:
            yield _part(tree, mark, kind, number, some)
            some, size, number = [], 0, number + 1
        some.append(each)
        size += length
    if some:
        yield _part(tree, mark, kind, number, some)


def _part(tree: Tree, mark: str, kind: str, number: int, said: list[dict[str, Any]]) -> GedcomPart:
    return GedcomPart(
        user_id=tree.user_id,
        tree_id=tree.tree_id,
        part_id=f"{kind}-{mark[:16]}-{number:05d}",
        text=orjson.dumps(said).decode(),
    )
