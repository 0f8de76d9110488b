"""The commands of links: who is whose parent, who are or were couples."""

from typing import Annotated, Any, NamedTuple, TypeVar

from typing_extensions import Doc

from datastore.client.writes import Check, Condition, Delete, Put, Update, Write, absent, equals, exists
from datastore.genealogy import Marriage, MarriageStatus, Parentage, ParentageKind, Person, Tree
from datastore.model.dates import HistoricDate, earliest, latest
from datastore.model.keys import Key
from resolvers.accounts.guards import is_open, no_account
from resolvers.core.context import Context
from resolvers.core.problems import ProblemCode, Refused, refused
from resolvers.core.retry import settled, write_or_refuse
from resolvers.core.unset import UNSET
from resolvers.core.validation import Checks
from resolvers.genealogy.edges import child, person_key, tree_of
from resolvers.genealogy.link_records import couple, parentage, same_parents, unlinked, with_parent
from resolvers.genealogy.standing import Standing
from resolvers.genealogy.tree_commands import in_tree, no_such_person, still_editing, tree_for

L = TypeVar("L", Parentage, Marriage)

MAX_NOTES = 2_000
MAX_PLACE = 300


class Unlinked(NamedTuple):
    deleted_parentage_id: Parentage
    child: Person | None


async def link_parent(
    context: Context,
    *,
    parent_id: Annotated[Key[Person], Doc("The `id` of the parent.")],
    child_id: Annotated[Key[Person], Doc("The `id` of the child, in the same tree.")],
    kind: Annotated[ParentageKind, Doc("How they are the child's parent.")] = ParentageKind.BIOLOGICAL,
    adoption_date: Annotated[HistoricDate | None, Doc("When the child was adopted.")] = None,
    notes: Annotated[str | None, Doc("What else there is to say, up to 2,000 characters.")] = None,
    ignore_warnings: Annotated[bool, Doc("Whether to do it although it looks wrong.")] = False,
) -> Parentage:
    """Make somebody in a tree a parent of somebody else in it."""
    checks = Checks()
    notes = checks.text("notes", notes, at_most=MAX_NOTES)
    checks.done()
    said = {"kind": kind, "adoption_date": adoption_date, "notes": notes}
    return await settled(lambda: _link_parent(context, parent_id, child_id, said, ignore_warnings))


async def _link_parent(
    context: Context, parent_id: Key[Person], child_id: Key[Person], said: dict[str, Any], ignore_warnings: bool
) -> Parentage:
    (parent, child), tree = await people_for(context, parentId=parent_id, childId=child_id)
    if parent.person_id == child.person_id:
        raise refused(ProblemCode.INVALID, "nobody is their own parent", "input", "childId")
    link = parentage(tree, parent, child, **said)
    await _require_room(context, link, child)
    if await _descends(context, parent, child):
        raise refused(ProblemCode.INVALID, "nobody can be their own ancestor", "input", "parentId")
    if not ignore_warnings:
        warn_of_births(parent, child, "parentId")
    return await _write_parentage(context, tree, link, parent, child)


async def _require_room(context: Context, link: Parentage, child: Person) -> None:
    """A child has two biological parents; one that was just deleted is one of them for a few seconds."""
    try:
        with_parent(child, link)
    except Refused:
        parents = await context.load.fresh(*(person_key(child, parent_id) for parent_id in child.parent_ids))
        if any(parent is None or parent.deleted_at is not None for parent in parents):
            message = "a parent of this child was just deleted; try again in a few seconds"
            raise refused(ProblemCode.CONFLICT, message, "input", "childId") from None
        raise


async def _write_parentage(context: Context, tree: Tree, link: Parentage, parent: Person, child: Person) -> Parentage:
    """On the condition that no other link was made since this was decided: together they might make a loop.

    Both people were read before the tree, and so it has to be said of them that they are as they were.
    """
    made = Put(link, when=absent())
    unchanged = Check(parent.own_key, when=in_tree(tree) & same_parents(parent))
    change = Update.of(child, with_parent(child, link), when=in_tree(tree) & same_parents(child))
    counted = Update(tree.own_key, add={"links_changed": 1}, when=is_open() & _no_new_links(tree))
    allowed = still_editing(context, tree)
    refusals: dict[Write, Refused] = {made: _linked_already("parentId"), allowed[0]: no_account()}
    await write_or_refuse(context.load, *allowed, made, unchanged, change, counted, refusals=refusals)
    return link


async def unlink_parent(
    context: Context, *, parentage_id: Annotated[Key[Parentage], Doc("The `id` of the parentage.")]
) -> Unlinked:
    """Say no more that somebody is somebody's parent."""
    return await settled(lambda: _unlink_parent(context, parentage_id))


async def _unlink_parent(context: Context, key: Key[Parentage]) -> Unlinked:
    link, tree = await _link_for(context, key, "parentageId")
    (person,) = await context.load.fresh(child(link))
    counted = Update(tree.own_key, add={"links_changed": 1}, when=is_open())
    await _write(context, tree, *unlinked(link, person), counted)
    return Unlinked(link, await context.load.one(child(link)))


async def link_spouses(
    context: Context,
    *,
    person1_id: Annotated[Key[Person], Doc("The `id` of one of them.")],
    person2_id: Annotated[Key[Person], Doc("The `id` of the other one, in the same tree.")],
    status: Annotated[MarriageStatus, Doc("What became of it.")] = MarriageStatus.MARRIED,
    marriage_date: Annotated[HistoricDate | None, Doc("When they married.")] = None,
    marriage_place: Annotated[str | None, Doc("Where they married, up to 300 characters.")] = None,
    divorce_date: Annotated[HistoricDate | None, Doc("When they divorced.")] = None,
    notes: Annotated[str | None, Doc("What else there is to say, up to 2,000 characters.")] = None,
) -> Marriage:
    """Make two people in a tree a couple."""
    said = _marriage_said(
        status=status,
        marriage_date=marriage_date,
        marriage_place=marriage_place,
        divorce_date=divorce_date,
        notes=notes,
    )
    return await settled(lambda: _link_spouses(context, person1_id, person2_id, said))


async def _link_spouses(
    context: Context, person1_id: Key[Person], person2_id: Key[Person], said: dict[str, Any]
) -> Marriage:
    people, tree = await people_for(context, person1Id=person1_id, person2Id=person2_id)
    if people[0].person_id == people[1].person_id:
        raise refused(ProblemCode.INVALID, "nobody marries themselves", "input", "person2Id")
    marriage = couple(tree, people[0].person_id, people[1].person_id, **said)
    made = Put(marriage, when=absent())
    there = [Check(person.own_key, when=in_tree(tree)) for person in people]
    await _write(context, tree, made, *there, refusals={made: _linked_already("person2Id")})
    return marriage


async def update_marriage(
    context: Context,
    *,
    marriage_id: Annotated[Key[Marriage], Doc("The `id` of the marriage.")],
    status: Annotated[MarriageStatus | None, Doc("What became of it.")] = UNSET,
    marriage_date: Annotated[HistoricDate | None, Doc("When they married; null removes it.")] = UNSET,
    marriage_place: Annotated[str | None, Doc("Where they married; null removes it.")] = UNSET,
    divorce_date: Annotated[HistoricDate | None, Doc("When they divorced; null removes it.")] = UNSET,
    notes: Annotated[str | None, Doc("What else there is to say; null removes it.")] = UNSET,
) -> Marriage:
    """Change what is said of a couple. What is left out stays as it is."""
    said = _marriage_said(
        status=status,
        marriage_date=marriage_date,
        marriage_place=marriage_place,
        divorce_date=divorce_date,
        notes=notes,
    )
    return await settled(lambda: _update_marriage(context, marriage_id, said))


async def _update_marriage(context: Context, key: Key[Marriage], said: dict[str, Any]) -> Marriage:
    marriage, tree = await _link_for(context, key, "marriageId")
    changed: Marriage = marriage.changed(**said)
    as_read = exists() & equals("updated_at", marriage.updated_at)
    await _write(context, tree, Update.of(marriage, changed, when=as_read))
    return changed


async def unlink_spouses(
    context: Context, *, marriage_id: Annotated[Key[Marriage], Doc("The `id` of the marriage.")]
) -> Marriage:
    """Say no more that two people are or were a couple."""
    return await settled(lambda: _unlink_spouses(context, marriage_id))


async def _unlink_spouses(context: Context, key: Key[Marriage]) -> Marriage:
    marriage, tree = await _link_for(context, key, "marriageId")
    await _write(context, tree, Delete(key, when=exists()))
    return marriage


def warn_of_births(parent: Person, child: Person, path: str) -> None:
    """A refusal that can be overridden: what people know of the past is often wrong elsewhere."""
    born = latest(child.birth_date) if child.birth_date else None
    parent_born = earliest(parent.birth_date) if parent.birth_date else None
    if born is not None and parent_born is not None and born < parent_born:
        message = "the child was born before the parent; send `ignoreWarnings: true` if that is what you know"
        raise refused(ProblemCode.WARNING, message, "input", path)


async def people_for(context: Context, **keys: Key[Person]) -> tuple[list[Person], Tree]:
    """People of one tree as they are now, in which the viewer may change something; keys by their arguments' names."""
    _ = context.signed_in
    found = dict(zip(keys, await context.load.fresh(*keys.values()), strict=True))
    path, person = next(iter(found.items()))
    tree = await _tree_for(context, _there(person, path), no_such_person(path), Standing.EDITOR)
    for path, person in found.items():
        if tree_of(_there(person, path)) != tree.own_key:
            await _tree_for(context, _there(person, path), no_such_person(path), Standing.STRANGER)
            raise refused(ProblemCode.INVALID, "these two are in different trees", "input", path)
    return [_there(person, path) for path, person in found.items()], tree


def _there(person: Person | None, path: str) -> Person:
    if person is None or person.deleted_at is not None:
        raise no_such_person(path)
    return person


async def _link_for(context: Context, key: Key[L], path: str) -> tuple[L, Tree]:
    """A link as it is now, in a tree in which the viewer may change something."""
    _ = context.signed_in
    missing = refused(ProblemCode.NOT_FOUND, "there is no such link", "input", path)
    (link,) = await context.load.fresh(key)
    if link is None:
        raise missing
    return link, await _tree_for(context, link, missing, Standing.EDITOR)


async def _tree_for(context: Context, record: Person | L, missing: Refused, needed: Standing) -> Tree:
    """Whoever does not see the tree is told of nothing in it."""
    try:
        return await tree_for(context, tree_of(record), needed)
    except Refused as refusal:
        (problem,) = refusal.problems
        if problem.code is ProblemCode.NOT_FOUND:
            raise missing from None
        raise refused(problem.code, problem.message, *missing.problems[0].path) from None


async def _descends(context: Context, person: Person, ancestor: Person) -> bool:
    """Whether somebody descends from somebody, by what is there now: a generation at a time, upward."""
    met: set[str] = set()
    edge = [person]
    while edge:
        above = {parent_id for each in edge for parent_id in each.parent_ids} - met
        if ancestor.person_id in above:
            return True
        met |= above
        found = await context.load.fresh(*(person_key(person, parent_id) for parent_id in sorted(above)))
        edge = [each for each in found if each is not None]
    return False


async def _write(context: Context, tree: Tree, *writes: Write, refusals: dict[Any, Refused] | None = None) -> None:
    allowed = still_editing(context, tree)
    known = {allowed[0]: no_account(), **(refusals or {})}
    counted = any(isinstance(write, Update) and write.key == tree.own_key for write in writes)
    open_tree = [] if counted else [Check(tree.own_key, when=is_open())]
    await write_or_refuse(context.load, *allowed, *open_tree, *writes, refusals=known)


def _marriage_said(**given: Any) -> dict[str, Any]:
    checks = Checks()
    said = {name: value for name, value in given.items() if value is not UNSET}
    if "status" in said:
        checks.given("status", said["status"])
    if "marriage_place" in said:
        said["marriage_place"] = checks.text("marriagePlace", said["marriage_place"], at_most=MAX_PLACE)
    if "notes" in said:
        said["notes"] = checks.text("notes", said["notes"], at_most=MAX_NOTES)
    checks.done()
    return said


def _no_new_links(tree: Tree) -> Condition:
    return equals("links_changed", tree.links_changed)


def _linked_already(path: str) -> Refused:
    return refused(ProblemCode.TAKEN, "these two are linked already", "input", path)
