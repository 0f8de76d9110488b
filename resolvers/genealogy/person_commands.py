"""The commands of people in family trees."""

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

from typing_extensions import Doc

from datastore.client.writes import Check, Put, Update, Write, absent, equals, same
from datastore.genealogy import Gender, ParentageKind, Person, Tree
from datastore.model.codec import camel
from datastore.model.dates import HistoricDate, earliest, latest
from datastore.model.keys import Key
from datastore.model.times import new_id, now
from resolvers.accounts.guards import is_open, no_account
from resolvers.core.context import Context
from resolvers.core.problems import ProblemCode, Refused, outdated, refused
from resolvers.core.retry import settled, write_or_refuse
from resolvers.core.unset import UNSET
from resolvers.core.validation import Checks
from resolvers.genealogy.jobs import purging
from resolvers.genealogy.link_commands import people_for, warn_of_births
from resolvers.genealogy.link_records import parentage, with_parent
from resolvers.genealogy.standing import Standing
from resolvers.genealogy.tree_commands import in_tree, no_such_tree, still_editing, tree_for

MAX_NAME = 200
MAX_PLACE = 300
MAX_BIOGRAPHY = 50_000


class DeletedPerson(NamedTuple):
    deleted_person_id: Person
    tree: Tree | None


async def add_person(
    context: Context,
    *,
    tree_id: Annotated[Key[Tree], Doc("The `id` of the tree.")],
    first_name: Annotated[str | None, Doc("The first name; this or the last name is needed.")] = None,
    middle_name: Annotated[str | None, Doc("What comes between first and last name.")] = None,
    last_name: Annotated[str | None, Doc("The family name.")] = None,
    birth_name: Annotated[str | None, Doc("The family name at birth.")] = None,
    preferred_name: Annotated[str | None, Doc("What they are called by those who know them.")] = None,
    suffix: Annotated[str | None, Doc("What comes behind the name, such as Jr. or III.")] = None,
    gender: Annotated[Gender, Doc("Which words are used for them.")] = Gender.UNKNOWN,
    birth_date: Annotated[HistoricDate | None, Doc("When they were born.")] = None,
    birth_place: Annotated[str | None, Doc("Where they were born.")] = None,
    death_date: Annotated[HistoricDate | None, Doc("When they died.")] = None,
    death_place: Annotated[str | None, Doc("Where they died.")] = None,
    is_deceased: Annotated[bool, Doc("Whether they are known to have died, be it that nobody knows when.")] = False,
    biography: Annotated[str | None, Doc("Their life, up to 50,000 characters.")] = None,
    photo_url: Annotated[str | None, Doc("The https address of a picture.")] = None,
) -> Person:
    """Add somebody to a tree."""
    said = _said(
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
    _require_sense(said)
    tree = await tree_for(context, tree_id, Standing.EDITOR)
    person = Person(user_id=tree.user_id, tree_id=tree.tree_id, person_id=new_id(), **said)
    await _write_new(context, tree, person)
    return person


async def add_child(
    context: Context,
    *,
    parent_id: Annotated[Key[Person], Doc("The `id` of a parent.")],
    other_parent_id: Annotated[Key[Person] | None, Doc("The `id` of the other parent, in the same tree.")] = None,
    kind: Annotated[ParentageKind, Doc("How they are the child's parents.")] = ParentageKind.BIOLOGICAL,
    first_name: Annotated[str | None, Doc("The first name; this or the last name is needed.")] = None,
    last_name: Annotated[str | None, Doc("The family name.")] = None,
    gender: Annotated[Gender, Doc("Which words are used for the child.")] = Gender.UNKNOWN,
    birth_date: Annotated[HistoricDate | None, Doc("When the child was born.")] = None,
    birth_place: Annotated[str | None, Doc("Where the child was born.")] = None,
    ignore_warnings: Annotated[bool, Doc("Whether to do it although it looks wrong.")] = False,
) -> Person:
    """Add a child of somebody to a tree, with the link, at once; `updatePerson` says more about it."""
    said = _said(
        first_name=first_name, last_name=last_name, gender=gender, birth_date=birth_date, birth_place=birth_place
    )
    _require_sense(said)
    keys = {"parentId": parent_id, **({"otherParentId": other_parent_id} if other_parent_id else {})}
    if other_parent_id == parent_id:
        raise refused(ProblemCode.INVALID, "these are one and the same", "input", "otherParentId")
    people, tree = await people_for(context, **keys)
    child = Person(user_id=tree.user_id, tree_id=tree.tree_id, person_id=new_id(), **said)
    links = [parentage(tree, parent, child, kind=kind) for parent in people]
    if not ignore_warnings:
        for path, parent in zip(keys, people, strict=True):
            warn_of_births(parent, child, path)
    for link in links:
        child = with_parent(child, link)
    there = [Check(parent.own_key, when=in_tree(tree)) for parent in people]
    await _write_new(context, tree, child, *(Put(link, when=absent()) for link in links), *there, links_changed=1)
    return child


async def _write_new(context: Context, tree: Tree, person: Person, *others: Write, **counts: int) -> None:
    """Somebody new, counted in the tree."""
    counted = Update(tree.own_key, add={"person_count": 1, **counts}, when=is_open())
    allowed = still_editing(context, tree)
    refusals: dict[Write, Refused] = {allowed[0]: no_account(), counted: no_such_tree()}
    refusals |= {each: _gone_meanwhile() for each in (*allowed[1:], *others)}
    await write_or_refuse(context.load, *allowed, counted, Put(person, when=absent()), *others, refusals=refusals)


async def update_person(
    context: Context,
    *,
    person_id: Annotated[Key[Person], Doc("The `id` of the person.")],
    expected_version: Annotated[int, Doc("The `version` that was read; nothing is changed if it is another by now.")],
    first_name: Annotated[str | None, Doc("The first name; null removes it.")] = UNSET,
    middle_name: Annotated[str | None, Doc("What comes between first and last name; null removes it.")] = UNSET,
    last_name: Annotated[str | None, Doc("The family name; null removes it.")] = UNSET,
    birth_name: Annotated[str | None, Doc("The family name at birth; null removes it.")] = UNSET,
    preferred_name: Annotated[str | None, Doc("What they are called; null removes it.")] = UNSET,
    suffix: Annotated[str | None, Doc("What comes behind the name; null removes it.")] = UNSET,
    gender: Annotated[Gender | None, Doc("Which words are used for them.")] = UNSET,
    birth_date: Annotated[HistoricDate | None, Doc("When they were born; null removes it.")] = UNSET,
    birth_place: Annotated[str | None, Doc("Where they were born; null removes it.")] = UNSET,
    death_date: Annotated[HistoricDate | None, Doc("When they died; null removes it.")] = UNSET,
    death_place: Annotated[str | None, Doc("Where they died; null removes it.")] = UNSET,
    is_deceased: Annotated[bool | None, Doc("Whether they are known to have died.")] = UNSET,
    biography: Annotated[str | None, Doc("Their life; null removes it.")] = UNSET,
    photo_url: Annotated[str | None, Doc("The https address of a picture; null removes it.")] = UNSET,
) -> Person:
    """Change what is said of somebody. What is left out stays as it is."""
    said = _said(
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
    return await settled(lambda: _update(context, person_id, expected_version, said))


async def _update(context: Context, key: Key[Person], expected_version: int, said: dict[str, Any]) -> Person:
    (person,), tree = await people_for(context, personId=key)
    if person.version != expected_version:
        raise outdated(person.version)
    changed = person.changed(**said, version=person.version + 1)
    _require_sense(vars(changed), named=bool(said.keys() & {"first_name", "last_name"}))
    change = Update.of(person, changed, when=in_tree(tree) & equals("version", person.version))
    allowed = still_editing(context, tree)
    await write_or_refuse(context.load, *allowed, change, refusals={allowed[0]: no_account()})
    return changed


async def delete_person(
    context: Context, *, person_id: Annotated[Key[Person], Doc("The `id` of the person.")]
) -> DeletedPerson:
    """Remove somebody from a tree, with all links to them: gone at once, and cleared away in the background."""
    return await settled(lambda: _delete(context, person_id))


async def _delete(context: Context, key: Key[Person]) -> DeletedPerson:
    (person,), tree = await people_for(context, personId=key)
    gone = Update(person.own_key, set={"deleted_at": now()}, when=in_tree(tree))
    counted = Update(
        tree.own_key,
        add={"person_count": -1, "links_changed": 1},
        remove=["root_person_id"] if tree.root_person_id == person.person_id else [],
        when=is_open() & same("root_person_id", tree.root_person_id),
    )
    allowed = still_editing(context, tree)
    refusals: dict[Write, Refused] = {allowed[0]: no_account()}
    await write_or_refuse(context.load, *allowed, gone, counted, purging(person), refusals=refusals)
    return DeletedPerson(person, await context.load.one(tree.own_key))


def _said(**given: Any) -> dict[str, Any]:
    """What is said of somebody, of what was given, as it is stored; all that is wrong with it at once."""
    checks = Checks()
    said: dict[str, Any] = {}
    for name, value in given.items():
        if value is not UNSET:
            said[name] = SAID.get(name, _name)(checks, camel(name), value)
    checks.done()
    return said


def _name(checks: Checks, path: str, text: str | None) -> str | None:
    return checks.text(path, text, at_most=MAX_NAME)


def _place(checks: Checks, path: str, text: str | None) -> str | None:
    return checks.text(path, text, at_most=MAX_PLACE)


def _biography(checks: Checks, path: str, text: str | None) -> str | None:
    return checks.text(path, text, at_most=MAX_BIOGRAPHY)


def _photo(checks: Checks, path: str, url: str | None) -> str | None:
    return checks.https_url(path, url) if url else None


def _as_it_is(_: Checks, __: str, value: Any) -> Any:
    return value


def _given(checks: Checks, path: str, value: Any) -> Any:
    return checks.given(path, value)


SAID: dict[str, Callable[[Checks, str, Any], Any]] = {
    "gender": _given,
    "is_deceased": _given,
    "birth_date": _as_it_is,
    "death_date": _as_it_is,
    "birth_place": _place,
    "death_place": _place,
    "biography": _biography,
    "photo_url": _photo,
}
"""How what is not a name is checked, and what is stored of it."""


def _require_sense(said: dict[str, Any], *, named: bool = True) -> None:
    """Files have people without a name, and these can be changed in all else."""
    checks = Checks()
    if named and not said.get("first_name") and not said.get("last_name"):
        checks.problem("firstName", "a person needs a first or a last name; write ? if nobody knows it")
    born = earliest(said["birth_date"]) if said.get("birth_date") else None
    died = latest(said["death_date"]) if said.get("death_date") else None
    if born is not None and died is not None and died < born:
        checks.problem("deathDate", "they would have died before they were born")
    checks.done()


def _gone_meanwhile() -> Refused:
    return refused(ProblemCode.CONFLICT, "something this is about changed in the meantime; read it again")
