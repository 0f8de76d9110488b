"""Commands of links between people: parentages and marriages."""

from typing import Annotated, NamedTuple

from typing_extensions import Doc

from datastore.client.writes import Check, Delete, Put, Update, Write, absent, equals, exists
from datastore.genealogy import Marriage, MarriageStatus, Parentage, ParentageKind, Person, Tree
from datastore.model.dates import HistoricDate
from datastore.model.keys import Key
from resolvers.accounts.guards import is_open, no_account
from resolvers.core.access import AccessRelation, AccessRole, access
from resolvers.core.context import Context
from resolvers.core.problems import ProblemCode, Refused, refused
from resolvers.core.retry import retries_on_conflict, write_or_refuse
from resolvers.core.unset import UNSET, given
from resolvers.genealogy.constraints import NOTES, PLACE
from resolvers.genealogy.edges import child as child_of
from resolvers.genealogy.edges import person_key
from resolvers.genealogy.guards import in_tree, link_for, people_for, still_editing
from resolvers.genealogy.link_records import couple, parentage, same_parents, unlinked, warn_of_births, with_parent

LINKED_ALREADY = "these two people are already linked"

Notes = Annotated[str | None, Doc("Notes."), NOTES]
MarriageId = Annotated[Key[Marriage], Doc("ID of the marriage.")]
Status = Annotated[MarriageStatus, Doc("Status of the marriage or partnership.")]
MarriageDate = Annotated[HistoricDate | None, Doc("Date of marriage.")]
MarriagePlace = Annotated[str | None, Doc("Place of marriage."), PLACE]
DivorceDate = Annotated[HistoricDate | None, Doc("Date of divorce.")]


class Unlinked(NamedTuple):
    deleted_parentage_id: Parentage
    child: Person | None


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.OWNER, AccessRelation.TREE_EDITOR))
@retries_on_conflict
async def link_parent(
    context: Context,
    *,
    parent_id: Annotated[Key[Person], Doc("ID of the parent.")],
    child_id: Annotated[Key[Person], Doc("ID of the child, in the same tree.")],
    kind: Annotated[ParentageKind, Doc("Kind of relationship.")] = ParentageKind.BIOLOGICAL,
    adoption_date: Annotated[HistoricDate | None, Doc("Date of adoption.")] = None,
    notes: Notes = None,
    ignore_warnings: Annotated[bool, Doc("True to create the link even if the dates look wrong.")] = False,
) -> Parentage:
    """Links a parent and a child in a tree."""
    (parent, child), tree = await people_for(context, parent_id, child_id)
    if parent.person_id == child.person_id:
        raise refused(ProblemCode.INVALID, "a person cannot be their own parent", at="child_id")
    link = parentage(tree, parent, child, kind=kind, adoption_date=adoption_date, notes=notes)
    await _require_room(context, link, child)
    if await _descends(context, parent, child):
        raise refused(ProblemCode.INVALID, "a person cannot be their own ancestor", at="parent_id")
    if not ignore_warnings:
        warn_of_births(parent, child)
    return await _write_parentage(context, tree, link, parent, child)


async def _require_room(context: Context, link: Parentage, child: Person) -> None:
    """Refuses a third biological parent. A parent who was just deleted counts until a job removes the link."""
    try:
        with_parent(child, link)
    except Refused:
        parents = await context.load.fresh(*(person_key(child, parent_id) for parent_id in child.parent_ids))
        if any(parent is None or parent.deleted_at is not None for parent in parents):
            message = "a parent of this child was just deleted; try again in a few seconds"
            raise refused(ProblemCode.CONFLICT, message, at="child_id") from None
        raise


async def _descends(context: Context, person: Person, ancestor: Person) -> bool:
    """Returns True if the person descends from the ancestor. Reads one generation at a time, consistently."""
    met: set[str] = set()
    generation = [person]
    while generation:
        above = {parent_id for each in generation for parent_id in each.parent_ids} - met
        if ancestor.person_id in above:
            return True
        met |= above
        found = await context.load.fresh(*(person_key(person, parent_id) for parent_id in sorted(above)))
        generation = [each for each in found if each is not None]
    return False


async def _write_parentage(context: Context, tree: Tree, link: Parentage, parent: Person, child: Person) -> Parentage:
    """Writes the link on the condition that no other link was created meanwhile: together they could form a cycle.

    Both people were read before the tree, so their parents must be unchanged too.
    """
    created = Put(link, when=absent())
    unchanged = Check(parent.own_key, when=in_tree(tree) & same_parents(parent))
    change = Update.of(child, with_parent(child, link), when=in_tree(tree) & same_parents(child))
    no_new_links = equals("links_changed", tree.links_changed)
    counted = Update(tree.own_key, add={"links_changed": 1}, when=is_open() & no_new_links)
    taken = refused(ProblemCode.TAKEN, LINKED_ALREADY, at="parent_id")
    await _write(context, tree, created, unchanged, change, tree_write=counted, refusals={created: taken})
    return link


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.OWNER, AccessRelation.TREE_EDITOR))
@retries_on_conflict
async def unlink_parent(
    context: Context, *, parentage_id: Annotated[Key[Parentage], Doc("ID of the parentage.")]
) -> Unlinked:
    """Deletes the link between a parent and a child."""
    link, tree = await link_for(context, parentage_id)
    (child,) = await context.load.fresh(child_of(link))
    counted = Update(tree.own_key, add={"links_changed": 1}, when=is_open())
    await _write(context, tree, *unlinked(link, child), tree_write=counted)
    return Unlinked(link, await context.load.one(child_of(link)))


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.OWNER, AccessRelation.TREE_EDITOR))
@retries_on_conflict
async def link_spouses(
    context: Context,
    *,
    person1_id: Annotated[Key[Person], Doc("ID of one spouse.")],
    person2_id: Annotated[Key[Person], Doc("ID of the other spouse, in the same tree.")],
    status: Status = MarriageStatus.MARRIED,
    marriage_date: MarriageDate = None,
    marriage_place: MarriagePlace = None,
    divorce_date: DivorceDate = None,
    notes: Notes = None,
) -> Marriage:
    """Links two people in a tree as spouses or partners."""
    people, tree = await people_for(context, person1_id, person2_id)
    if people[0].person_id == people[1].person_id:
        raise refused(ProblemCode.INVALID, "a person cannot be their own spouse", at="person2_id")
    marriage = couple(
        tree,
        *(person.person_id for person in people),
        status=status,
        marriage_date=marriage_date,
        marriage_place=marriage_place,
        divorce_date=divorce_date,
        notes=notes,
    )
    created = Put(marriage, when=absent())
    there = [Check(person.own_key, when=in_tree(tree)) for person in people]
    taken = refused(ProblemCode.TAKEN, LINKED_ALREADY, at="person2_id")
    await _write(context, tree, created, *there, refusals={created: taken})
    return marriage


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.OWNER, AccessRelation.TREE_EDITOR))
@retries_on_conflict
async def update_marriage(
    context: Context,
    *,
    marriage_id: MarriageId,
    status: Status = UNSET,
    marriage_date: MarriageDate = UNSET,
    marriage_place: MarriagePlace = UNSET,
    divorce_date: DivorceDate = UNSET,
    notes: Notes = UNSET,
) -> Marriage:
    """Edits a marriage. Omitted fields keep their values; null removes a value, except for the status."""
    marriage, tree = await link_for(context, marriage_id)
    changed: Marriage = marriage.changed(
        **given(
            status=status,
            marriage_date=marriage_date,
            marriage_place=marriage_place,
            divorce_date=divorce_date,
            notes=notes,
        )
    )
    as_read = exists() & equals("updated_at", marriage.updated_at)
    await _write(context, tree, Update.of(marriage, changed, when=as_read))
    return changed


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.OWNER, AccessRelation.TREE_EDITOR))
@retries_on_conflict
async def unlink_spouses(context: Context, *, marriage_id: MarriageId) -> Marriage:
    """Deletes the link between two spouses."""
    marriage, tree = await link_for(context, marriage_id)
    await _write(context, tree, Delete(marriage_id, when=exists()))
    return marriage


async def _write(
    context: Context,
    tree: Tree,
    *writes: Write,
    tree_write: Update | None = None,
    refusals: dict[Write, Refused] | None = None,
) -> None:
    """Writes on the condition that the tree exists and the viewer may still edit it."""
    allowed = still_editing(context, tree)
    open_tree = tree_write or Check(tree.own_key, when=is_open())
    known = {allowed[0]: no_account(), **(refusals or {})}
    await write_or_refuse(context.load, *allowed, open_tree, *writes, refusals=known)
