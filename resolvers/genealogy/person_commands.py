"""Commands of people in family trees."""

from typing import Annotated, Any, NamedTuple

from typing_extensions import Doc

from datastore.client.writes import Check, Put, Update, Write, absent, equals, same
from datastore.genealogy import Gender, ParentageKind, Person, Tree
from datastore.model.dates import HistoricDate, earliest, latest
from datastore.model.keys import Key
from datastore.model.times import new_id, now
from resolvers.accounts.guards import is_open, no_account
from resolvers.core.access import AccessRelation, AccessRole, access
from resolvers.core.context import Context
from resolvers.core.problems import ProblemCode, Refused, not_found, outdated, refused
from resolvers.core.retry import retries_on_conflict, write_or_refuse
from resolvers.core.unset import UNSET, given
from resolvers.core.validation import Checks
from resolvers.genealogy.constraints import BIOGRAPHY, NAME, PLACE, PhotoUrl
from resolvers.genealogy.guards import in_tree, people_for, still_editing, tree_for
from resolvers.genealogy.jobs import purging
from resolvers.genealogy.link_records import parentage, warn_of_births, with_parent
from resolvers.genealogy.standing import Standing

PersonId = Annotated[Key[Person], Doc("ID of the person.")]
FirstName = Annotated[str | None, Doc("First name. A person has a first or a last name."), NAME]
MiddleName = Annotated[str | None, Doc("Middle name."), NAME]
LastName = Annotated[str | None, Doc("Last name."), NAME]
BirthName = Annotated[str | None, Doc("Last name at birth."), NAME]
PreferredName = Annotated[str | None, Doc("Preferred name or nickname."), NAME]
Suffix = Annotated[str | None, Doc("Suffix, such as Jr. or III."), NAME]
OfGender = Annotated[Gender, Doc("Gender. Determines kinship terms.")]
BirthDate = Annotated[HistoricDate | None, Doc("Date of birth.")]
BirthPlace = Annotated[str | None, Doc("Place of birth."), PLACE]
DeathDate = Annotated[HistoricDate | None, Doc("Date of death.")]
DeathPlace = Annotated[str | None, Doc("Place of death."), PLACE]
IsDeceased = Annotated[bool, Doc("True if the person is known to have died, even if the date is unknown.")]
Biography = Annotated[str | None, Doc("Biography."), BIOGRAPHY]
Photo = Annotated[str | None, Doc("URL of a photo."), PhotoUrl()]


class DeletedPerson(NamedTuple):
    deleted_person_id: Person
    tree: Tree | None


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.OWNER, AccessRelation.TREE_EDITOR))
async def add_person(
    context: Context,
    *,
    tree_id: Annotated[Key[Tree], Doc("ID of the tree.")],
    first_name: FirstName = None,
    middle_name: MiddleName = None,
    last_name: LastName = None,
    birth_name: BirthName = None,
    preferred_name: PreferredName = None,
    suffix: Suffix = None,
    gender: OfGender = Gender.UNKNOWN,
    birth_date: BirthDate = None,
    birth_place: BirthPlace = None,
    death_date: DeathDate = None,
    death_place: DeathPlace = None,
    is_deceased: IsDeceased = False,
    biography: Biography = None,
    photo_url: Photo = None,
) -> Person:
    """Adds a person to a tree."""
    details = given(
        first_name=first_name,
        middle_name=middle_name,
        last_name=last_name,
        birth_name=birth_name,
        preferred_name=preferred_name,
        suffix=suffix,
        gender=gender,
        birth_date=birth_date,
        birth_place=birth_place,
        death_date=death_date,
        death_place=death_place,
        is_deceased=is_deceased,
        biography=biography,
        photo_url=photo_url,
    )
    _require_plausible(details)
    tree = await tree_for(context, tree_id, Standing.EDITOR)
    person = Person(user_id=tree.user_id, tree_id=tree.tree_id, person_id=new_id(), **details)
    await _write_new(context, tree, person)
    return person


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.OWNER, AccessRelation.TREE_EDITOR))
async def add_child(
    context: Context,
    *,
    parent_id: Annotated[Key[Person], Doc("ID of a parent.")],
    other_parent_id: Annotated[Key[Person] | None, Doc("ID of the other parent, in the same tree.")] = None,
    kind: Annotated[ParentageKind, Doc("Kind of relationship to the parents.")] = ParentageKind.BIOLOGICAL,
    first_name: FirstName = None,
    last_name: LastName = None,
    gender: OfGender = Gender.UNKNOWN,
    birth_date: BirthDate = None,
    birth_place: BirthPlace = None,
    ignore_warnings: Annotated[bool, Doc("True to add the child even if the dates look wrong.")] = False,
) -> Person:
    """Adds a child of one or two people to their tree, with the links. Use `updatePerson` for further details."""
    details = given(
        first_name=first_name, last_name=last_name, gender=gender, birth_date=birth_date, birth_place=birth_place
    )
    _require_plausible(details)
    if other_parent_id == parent_id:
        raise refused(ProblemCode.INVALID, "both parents are the same person", at="other_parent_id")
    people, tree = await people_for(context, parent_id, *([other_parent_id] if other_parent_id else []))
    child = Person(user_id=tree.user_id, tree_id=tree.tree_id, person_id=new_id(), **details)
    links = [parentage(tree, parent, child, kind=kind) for parent in people]
    if not ignore_warnings:
        for parent in people:
            warn_of_births(parent, child)
    for link in links:
        child = with_parent(child, link)
    there = [Check(parent.own_key, when=in_tree(tree)) for parent in people]
    await _write_new(context, tree, child, *(Put(link, when=absent()) for link in links), *there, links_changed=1)
    return child


async def _write_new(context: Context, tree: Tree, person: Person, *others: Write, **counts: int) -> None:
    """Writes a new person and increments the count of the tree."""
    counted = Update(tree.own_key, add={"person_count": 1, **counts}, when=is_open())
    allowed = still_editing(context, tree)
    outdated_read = refused(ProblemCode.CONFLICT, "the tree or a person changed in the meantime; read it again")
    refusals: dict[Write, Refused] = {allowed[0]: no_account(), counted: not_found(tree.own_key)}
    refusals |= dict.fromkeys((*allowed[1:], *others), outdated_read)
    await write_or_refuse(context.load, *allowed, counted, Put(person, when=absent()), *others, refusals=refusals)


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.OWNER, AccessRelation.TREE_EDITOR))
@retries_on_conflict
async def update_person(
    context: Context,
    *,
    person_id: PersonId,
    expected_version: Annotated[int, Doc("The `version` you read. A different current version is a conflict.")],
    first_name: FirstName = UNSET,
    middle_name: MiddleName = UNSET,
    last_name: LastName = UNSET,
    birth_name: BirthName = UNSET,
    preferred_name: PreferredName = UNSET,
    suffix: Suffix = UNSET,
    gender: OfGender = UNSET,
    birth_date: BirthDate = UNSET,
    birth_place: BirthPlace = UNSET,
    death_date: DeathDate = UNSET,
    death_place: DeathPlace = UNSET,
    is_deceased: IsDeceased = UNSET,
    biography: Biography = UNSET,
    photo_url: Photo = UNSET,
) -> Person:
    """Edits a person. Omitted fields keep their values; null removes a value, except for gender and `isDeceased`."""
    changes = given(
        first_name=first_name,
        middle_name=middle_name,
        last_name=last_name,
        birth_name=birth_name,
        preferred_name=preferred_name,
        suffix=suffix,
        gender=gender,
        birth_date=birth_date,
        birth_place=birth_place,
        death_date=death_date,
        death_place=death_place,
        is_deceased=is_deceased,
        biography=biography,
        photo_url=photo_url,
    )
    (person,), tree = await people_for(context, person_id)
    if person.version != expected_version:
        raise outdated(person.version)
    changed = person.changed(**changes, version=person.version + 1)
    _require_plausible(vars(changed), named=bool(changes.keys() & {"first_name", "last_name"}))
    change = Update.of(person, changed, when=in_tree(tree) & equals("version", person.version))
    allowed = still_editing(context, tree)
    await write_or_refuse(context.load, *allowed, change, refusals={allowed[0]: no_account()})
    return changed


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.OWNER, AccessRelation.TREE_EDITOR))
@retries_on_conflict
async def delete_person(context: Context, *, person_id: PersonId) -> DeletedPerson:
    """Deletes a person with all links immediately. A job purges the records."""
    (person,), tree = await people_for(context, person_id)
    deleted = Update(person.own_key, set={"deleted_at": now()}, when=in_tree(tree))
    counted = Update(
        tree.own_key,
        add={"person_count": -1, "links_changed": 1},
        remove=["root_person_id"] if tree.root_person_id == person.person_id else [],
        when=is_open() & same("root_person_id", tree.root_person_id),
    )
    allowed = still_editing(context, tree)
    refusals: dict[Write, Refused] = {allowed[0]: no_account()}
    await write_or_refuse(context.load, *allowed, deleted, counted, purging(person), refusals=refusals)
    return DeletedPerson(person, await context.load.one(tree.own_key))


def _require_plausible(details: dict[str, Any], *, named: bool = True) -> None:
    """Requires a name and dates in order.

    An imported person without a name can be edited as long as the names are not changed.
    """
    checks = Checks()
    if named and not details.get("first_name") and not details.get("last_name"):
        checks.problem("first_name", "a person needs a first or a last name; write ? if it is unknown")
    born = earliest(details["birth_date"]) if details.get("birth_date") else None
    died = latest(details["death_date"]) if details.get("death_date") else None
    if born is not None and died is not None and died < born:
        checks.problem("death_date", "the date of death is before the date of birth")
    checks.done()
