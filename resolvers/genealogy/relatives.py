"""Kinship over a whole tree, which is read once per request in as few pages as its size requires."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Annotated, Any, NamedTuple, TypeVar, cast

from typing_extensions import Doc

from datastore.client.positions import Position
from datastore.client.table import Page, RangeRead
from datastore.genealogy import (
    WHOLE_TREE,
    Marriage,
    MarriageStatus,
    Parentage,
    ParentageKind,
    Person,
    Tree,
    may_be_living,
)
from datastore.model.keys import Key
from loaders.needs import Once, Pages, Step, computed
from loaders.threads import KINSHIP, check_time
from loaders.viewer import Viewer
from loaders.visibility import seen, seen_at
from resolvers.core.problems import ProblemCode, refused
from resolvers.genealogy.edges import as_member
from resolvers.genealogy.kinship.family import Family, Relative
from resolvers.genealogy.kinship.family import Marriage as MarriageLink
from resolvers.genealogy.kinship.family import Parentage as ParentageLink
from resolvers.genealogy.kinship.paths import KinshipLink
from resolvers.genealogy.kinship.relationship import relationship
from resolvers.genealogy.standing import Standing, standing
from resolvers.genealogy.visibility import link_as_seen

L = TypeVar("L", Parentage, Marriage)
T = TypeVar("T")

MOST_GENERATIONS = 100
MOST_PEOPLE = 1_000
MOST_SIBLINGS = 100
# DynamoDB limits a page to 1 MB.
A_PAGE = 1_000_000


class WholeTree(NamedTuple):
    """All people and links of a tree as stored, and the family as the viewer sees it."""

    people: Mapping[str, Person]
    parentages: Mapping[tuple[str, str], Parentage]
    marriages: Mapping[tuple[str, str], Marriage]
    family: Family


class Kin(NamedTuple):
    """A relative and their distance in generations."""

    person: Person
    generation: int


class SharedAncestor(NamedTuple):
    """A common ancestor of two people, with the distance of each."""

    person: Person
    generations: int
    other_generations: int


class KinStep(NamedTuple):
    """A person on the path and their relationship to the previous one."""

    person: Person
    link: KinshipLink | None
    kind: ParentageKind | None
    status: MarriageStatus | None


class Kinship(NamedTuple):
    """The relationship between two people."""

    name: str
    generations_up: int
    generations_down: int
    marriages: int
    cousin_degree: int | None
    removal: int | None
    half: bool
    path: list[KinStep]


class NearFamily(NamedTuple):
    """People and the links between them, for drawing."""

    people: list[Kin]
    parentages: list[Parentage]
    marriages: list[Marriage]
    left_out: int


def whole_tree(record: Tree | Person, viewer: Viewer) -> Step[WholeTree]:
    found: WholeTree = yield Once(("whole tree", record.tree_id), partial(_whole_tree, record, viewer))
    return found


def _whole_tree(record: Tree | Person, viewer: Viewer) -> Step[WholeTree]:
    own = yield from standing(record, viewer)
    within = WHOLE_TREE.partition_of(Person.of_tree(tree_id=record.tree_id))
    records: list[Any] = []
    after: Position | None = None
    while own > Standing.NOBODY:
        pages: list[Page[Any]] = yield Pages([RangeRead(within, A_PAGE, after)])
        records += pages[0].records
        after = pages[0].more
        if after is None:
            break
    together = partial(as_whole, records, is_stranger=own is Standing.STRANGER)
    return (yield from computed(KINSHIP, len(records), together))


def as_whole(records: Iterable[Any], *, is_stranger: bool = False) -> WholeTree:
    people: dict[str, Person] = {}
    parentages: dict[tuple[str, str], Parentage] = {}
    marriages: dict[tuple[str, str], Marriage] = {}
    for record in records:
        check_time()
        if isinstance(record, Person):
            if record.deleted_at is None:
                people[record.person_id] = record
        elif isinstance(record, Parentage):
            parentages[record.parent_id, record.child_id] = record
        else:
            marriages[record.person1_id, record.person2_id] = record
    own = Standing.STRANGER if is_stranger else Standing.READER
    parentages = _as_seen(parentages, people, own)
    marriages = _as_seen(marriages, people, own)
    # Hidden details default to the most common kind.
    family = Family(
        [as_member(person, hidden=is_stranger and may_be_living(person)) for person in people.values()],
        [ParentageLink(*ends, link.kind or ParentageKind.BIOLOGICAL) for ends, link in parentages.items()],
        [MarriageLink(*ends, link.status or MarriageStatus.MARRIED) for ends, link in marriages.items()],
    )
    return WholeTree(people, parentages, marriages, family)


def _as_seen(links: dict[tuple[str, str], L], people: Mapping[str, Person], own: Standing) -> dict[tuple[str, str], L]:
    """Applies the visibility rule of links using the people already read."""
    shown: dict[tuple[str, str], L] = {}
    for pair, link in links.items():
        check_time()
        verdict = link_as_seen(link, [people.get(person_id) for person_id in pair], own)
        if verdict:
            shown[pair] = link if verdict is True else cast(L, verdict)
    return shown


def ancestors(
    person: Person,
    viewer: Viewer,
    *,
    generations: Annotated[int, Doc("Number of generations, starting with the parents. Defaults to 4.")] = 4,
    first: Annotated[int, Doc("Maximum number of people, 1–1,000. Defaults to 100.")] = 100,
) -> Step[list[Kin]]:
    """Biological and adoptive ancestors, nearest first, each once in the nearest generation."""
    tree = yield from whole_tree(person, viewer)
    find = partial(tree.family.ancestors, person.person_id, _checked(generations))
    found = yield from _computed(tree, find)
    return (yield from _kin(tree, found[: _counted(first)], viewer))


def descendants(
    person: Person,
    viewer: Viewer,
    *,
    generations: Annotated[int, Doc("Number of generations, starting with the children. Defaults to 4.")] = 4,
    first: Annotated[int, Doc("Maximum number of people, 1–1,000. Defaults to 100.")] = 100,
) -> Step[list[Kin]]:
    """Biological and adoptive descendants, nearest first, each once in the nearest generation."""
    tree = yield from whole_tree(person, viewer)
    find = partial(tree.family.descendants, person.person_id, _checked(generations))
    found = yield from _computed(tree, find)
    return (yield from _kin(tree, found[: _counted(first)], viewer))


def common_ancestors(
    person: Person,
    viewer: Viewer,
    *,
    with_person_id: Annotated[Key[Person], Doc("ID of another person in the same tree.")],
    first: Annotated[int, Doc("Maximum number of people, 1–1,000. Defaults to 100.")] = 100,
) -> Step[list[SharedAncestor]]:
    """Common ancestors, nearest first. Empty if the other person is not in the tree."""
    tree = yield from whole_tree(person, viewer)
    find = partial(tree.family.common_ancestors, person.person_id, with_person_id.values["person_id"])
    found = (yield from _computed(tree, find))[: _counted(first)]
    shown = yield from _seen(tree, [each.person_id for each in found], viewer)
    return [
        SharedAncestor(shown[each.person_id], each.generations, each.other_generations)
        for each in found
        if each.person_id in shown
    ]


def kinship(
    person: Person,
    viewer: Viewer,
    *,
    to_person_id: Annotated[Key[Person], Doc("ID of another person in the same tree.")],
) -> Step[Kinship | None]:
    """Relationship of the other person to this one, in English. Null if the other person is not in the tree."""
    tree = yield from whole_tree(person, viewer)
    other: list[Person | None] = yield from seen_at([to_person_id], viewer)
    if other[0] is None or other[0].person_id not in tree.people:
        return None
    found = yield from _computed(tree, partial(relationship, tree.family, person.person_id, other[0].person_id))
    shown = yield from _seen(tree, [step.person_id for step in found.path], viewer)
    path = [
        KinStep(shown[step.person_id], step.link, *_nature(tree, before, step.person_id))
        for before, step in zip([None, *(each.person_id for each in found.path)], found.path, strict=False)
    ]
    degree = found.degree
    return Kinship(
        found.name,
        degree.generations_up,
        degree.generations_down,
        degree.marriages,
        degree.cousin_degree,
        degree.removal,
        degree.half,
        path,
    )


def family_graph(
    tree: Tree,
    viewer: Viewer,
    *,
    around_person_id: Annotated[Key[Person], Doc("ID of the person in the center.")],
    generations: Annotated[int, Doc("Number of parent-child steps to follow. Defaults to 2.")] = 2,
) -> Step[NearFamily]:
    """People around a person, with their spouses and all links between them. At most 1,000 people."""
    whole = yield from whole_tree(tree, viewer)
    find = partial(whole.family.around, around_person_id.values["person_id"], _checked(generations), MOST_PEOPLE)
    found = yield from _computed(whole, find)
    people = yield from _kin(whole, found.people, viewer)
    parentages = [whole.parentages[link.parent_id, link.child_id] for link in found.parentages]
    marriages = [
        whole.marriages.get((link.person1_id, link.person2_id)) or whole.marriages[link.person2_id, link.person1_id]
        for link in found.marriages
    ]
    return NearFamily(people, parentages, marriages, found.left_out)


def _nature(tree: WholeTree, one_id: str | None, other_id: str) -> tuple[ParentageKind | None, MarriageStatus | None]:
    """Returns the details of the link between two people that the viewer may see."""
    pairs = [(one_id or "", other_id), (other_id, one_id or "")]
    kinds = [tree.parentages[pair].kind for pair in pairs if pair in tree.parentages]
    if kinds:
        return kinds[0], None
    statuses = [tree.marriages[pair].status for pair in pairs if pair in tree.marriages]
    return None, statuses[0] if statuses else None


def siblings(person: Person, viewer: Viewer) -> Step[list[Person]]:
    """Siblings with the same parents, biological or adoptive, eldest first. At most 100."""
    tree = yield from whole_tree(person, viewer)
    found = yield from _computed(tree, partial(tree.family.siblings, person.person_id))
    return (yield from _people(tree, found, viewer))


def half_siblings(person: Person, viewer: Viewer) -> Step[list[Person]]:
    """Half-siblings, who share one parent, biological or adoptive, eldest first. At most 100."""
    tree = yield from whole_tree(person, viewer)
    found = yield from _computed(tree, partial(tree.family.half_siblings, person.person_id))
    return (yield from _people(tree, found, viewer))


def _computed(tree: WholeTree, find: Callable[[], T]) -> Step[T]:
    return (yield from computed(KINSHIP, len(tree.people), find))


def _people(tree: WholeTree, person_ids: list[str], viewer: Viewer) -> Step[list[Person]]:
    shown = yield from _seen(tree, person_ids[:MOST_SIBLINGS], viewer)
    return [*shown.values()]


def _kin(tree: WholeTree, found: list[Relative], viewer: Viewer) -> Step[list[Kin]]:
    shown = yield from _seen(tree, [relative.person_id for relative in found], viewer)
    return [Kin(shown[each.person_id], each.generation) for each in found if each.person_id in shown]


def _seen(tree: WholeTree, person_ids: list[str], viewer: Viewer) -> Step[dict[str, Person]]:
    people: list[Person | None] = yield from seen([tree.people[person_id] for person_id in person_ids], viewer)
    return {person.person_id: person for person in people if person is not None}


def _checked(generations: int) -> int:
    if not 1 <= generations <= MOST_GENERATIONS:
        message = f"`generations` is {generations}; it goes from 1 to {MOST_GENERATIONS}"
        raise refused(ProblemCode.INVALID, message, at="generations")
    return generations


def _counted(first: int) -> int:
    if not 1 <= first <= MOST_PEOPLE:
        raise refused(ProblemCode.INVALID, f"`first` is {first}; it goes from 1 to {MOST_PEOPLE:,}", at="first")
    return first
