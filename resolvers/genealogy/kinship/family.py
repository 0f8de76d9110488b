"""A family in memory: parents, children, spouses, siblings, ancestors and descendants."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from datastore.genealogy import Gender, MarriageStatus, ParentageKind

# Precedence: of two links between the same people, the first in this order wins.
KINDS = (ParentageKind.BIOLOGICAL, ParentageKind.ADOPTIVE, ParentageKind.STEP, ParentageKind.FOSTER)
STATUSES = (
    MarriageStatus.MARRIED,
    MarriageStatus.PARTNERS,
    MarriageStatus.SEPARATED,
    MarriageStatus.WIDOWED,
    MarriageStatus.DIVORCED,
)
# Kinds of parentage that form a line of descent.
LINE = (ParentageKind.BIOLOGICAL, ParentageKind.ADOPTIVE)
GENDERS = (Gender.MALE, Gender.FEMALE, Gender.OTHER, Gender.UNKNOWN)
MOST = 1_000
# Sorts after every date.
LAST = "~"
NOBODY: Mapping[str, ParentageKind] = MappingProxyType({})
UNMARRIED: Mapping[str, MarriageStatus] = MappingProxyType({})

Household = frozenset[str]
C = TypeVar("C", ParentageKind, MarriageStatus)


class Member(NamedTuple):
    """A person. `born` is text that sorts chronologically."""

    person_id: str
    gender: Gender = Gender.UNKNOWN
    born: str | None = None
    deceased: bool = False


class Parentage(NamedTuple):
    """A parent-child link."""

    parent_id: str
    child_id: str
    kind: ParentageKind = ParentageKind.BIOLOGICAL


class Marriage(NamedTuple):
    """A link between spouses, present or former."""

    person1_id: str
    person2_id: str
    status: MarriageStatus = MarriageStatus.MARRIED


class Relative(NamedTuple):
    """A relative and their distance in generations."""

    person_id: str
    generation: int


class CommonAncestor(NamedTuple):
    """A common ancestor of two people, with the distance of each."""

    person_id: str
    generations: int
    other_generations: int


class FamilyGraph(NamedTuple):
    """People and the links between them. Generations are negative for ancestors, positive for descendants."""

    people: list[Relative]
    parentages: list[Parentage]
    marriages: list[Marriage]
    left_out: int


class Family:
    """Relatives of people. Fathers come before mothers, children in birth order, the rest in the given order.

    Every query visits a person once: user input may contain cycles, where a person is their own ancestor.
    """

    def __init__(
        self, people: Iterable[Member], parentages: Iterable[Parentage], marriages: Iterable[Marriage]
    ) -> None:
        self.people = {person.person_id: person for person in people}
        self._place = {person_id: place for place, person_id in enumerate(self.people)}
        self._parents: dict[str, dict[str, ParentageKind]] = {}
        self._children: dict[str, dict[str, ParentageKind]] = {}
        self._spouses: dict[str, dict[str, MarriageStatus]] = {}
        for (parent_id, child_id), kind in self._best(parentages, KINDS).items():
            self._parents.setdefault(child_id, {})[parent_id] = kind
            self._children.setdefault(parent_id, {})[child_id] = kind
        either_way = ((min(one_id, other_id), max(one_id, other_id), status) for one_id, other_id, status in marriages)
        for (one_id, other_id), status in self._best(either_way, STATUSES).items():
            self._spouses.setdefault(one_id, {})[other_id] = status
            self._spouses.setdefault(other_id, {})[one_id] = status
        self._parents = {child_id: self._fathers_first(found) for child_id, found in self._parents.items()}
        self._children = {
            parent_id: {child_id: found[child_id] for child_id in self._by_birth(found)}
            for parent_id, found in self._children.items()
        }

    def parents(self, person_id: str) -> Mapping[str, ParentageKind]:
        return self._parents.get(person_id, NOBODY)

    def children(self, person_id: str) -> Mapping[str, ParentageKind]:
        return self._children.get(person_id, NOBODY)

    def spouses(self, person_id: str) -> Mapping[str, MarriageStatus]:
        return self._spouses.get(person_id, UNMARRIED)

    def siblings(self, person_id: str) -> list[str]:
        """Returns the people with the same parents, biological or adoptive."""
        found = {child for household in self.households(person_id) for child in self._raised[household]}
        return self._by_birth(found - {person_id})

    def half_siblings(self, person_id: str) -> list[str]:
        """Returns the people who share one parent, biological or adoptive, but not both."""
        line = [parent for parent, kind in self.parents(person_id).items() if kind in LINE]
        found = {child for parent in line for child, kind in self.children(parent).items() if kind in LINE}
        return self._by_birth(found.difference(self.siblings(person_id), {person_id}))

    def are_siblings(self, one_id: str, other_id: str) -> bool:
        return not self.households(one_id).keys().isdisjoint(self.households(other_id))

    def households(self, person_id: str) -> Mapping[Household, ParentageKind]:
        """Returns the biological and the adoptive families: their known parents as sets."""
        return self._households.get(person_id, {})

    def head(self, household: Household) -> str:
        """Returns the father if known, otherwise another parent."""
        return min(household, key=lambda each: (GENDERS.index(self.people[each].gender), self._place[each]))

    def raised(self, household: Household) -> Mapping[str, ParentageKind]:
        return self._raised[household]

    def ancestors(
        self, person_id: str, generations: int | None = None, kinds: Collection[ParentageKind] = LINE
    ) -> list[Relative]:
        """Returns each ancestor once, nearest first, in the nearest generation."""
        return list(_walk(self._parents, person_id, generations, kinds))

    def descendants(
        self, person_id: str, generations: int | None = None, kinds: Collection[ParentageKind] = LINE
    ) -> list[Relative]:
        """Returns each descendant once, nearest first, in the nearest generation."""
        return list(_walk(self._children, person_id, generations, kinds))

    def common_ancestors(self, one_id: str, other_id: str) -> list[CommonAncestor]:
        """Returns the ancestors of both people, nearest first."""
        others = dict(self.ancestors(other_id))
        found = [
            CommonAncestor(person_id, generation, others[person_id])
            for person_id, generation in self.ancestors(one_id)
            if person_id in others
        ]
        return sorted(found, key=lambda ancestor: ancestor.generations + ancestor.other_generations)

    def around(self, person_id: str, generations: int, most: int = MOST) -> FamilyGraph:
        """Returns everyone within the given number of parent-child steps, with spouses. Siblings are two steps away."""
        if person_id not in self.people:
            return FamilyGraph([], [], [], 0)
        reached = self._reached(person_id, generations)
        for near_id in list(reached):
            for spouse_id in self.spouses(near_id):
                reached.setdefault(spouse_id, reached[near_id])
        people = [Relative(near_id, generation) for near_id, generation in reached.items()][:most]
        shown = {person.person_id for person in people}
        return FamilyGraph(people, self._parentages(shown), self._marriages(shown), len(reached) - len(people))

    def _reached(self, person_id: str, steps: int) -> dict[str, int]:
        reached, edge = {person_id: 0}, [person_id]
        for _ in range(steps):
            beyond = []
            for near_id in edge:
                older, younger = reached[near_id] - 1, reached[near_id] + 1
                for relatives, generation in ((self.parents(near_id), older), (self.children(near_id), younger)):
                    new = [relative_id for relative_id in relatives if relative_id not in reached]
                    reached.update(dict.fromkeys(new, generation))
                    beyond += new
            edge = beyond
        return reached

    def _parentages(self, people: set[str]) -> list[Parentage]:
        ordered = sorted(people, key=self._place.__getitem__)
        return [
            Parentage(parent_id, child_id, kind)
            for child_id in ordered
            for parent_id, kind in self.parents(child_id).items()
            if parent_id in people
        ]

    def _marriages(self, people: set[str]) -> list[Marriage]:
        ordered = sorted(people, key=self._place.__getitem__)
        return [
            Marriage(one_id, other_id, status)
            for one_id in ordered
            for other_id, status in self.spouses(one_id).items()
            if other_id in people and self._place[one_id] < self._place[other_id]
        ]

    @cached_property
    def _households(self) -> dict[str, dict[Household, ParentageKind]]:
        return {child_id: _households(parents) for child_id, parents in self._parents.items()}

    @cached_property
    def _raised(self) -> dict[Household, dict[str, ParentageKind]]:
        raised: dict[Household, dict[str, ParentageKind]] = {}
        for child_id, households in self._households.items():
            for household, kind in households.items():
                raised.setdefault(household, {})[child_id] = kind
        return raised

    def _best(self, links: Iterable[tuple[str, str, C]], order: tuple[C, ...]) -> dict[tuple[str, str], C]:
        """Removes duplicate links, links to missing people and links of a person to themselves."""
        best: dict[tuple[str, str], C] = {}
        for one_id, other_id, nature in links:
            if one_id != other_id and one_id in self.people and other_id in self.people:
                known = best.setdefault((one_id, other_id), nature)
                if order.index(nature) < order.index(known):
                    best[one_id, other_id] = nature
        return best

    def _fathers_first(self, parents: dict[str, ParentageKind]) -> dict[str, ParentageKind]:
        ranks = {
            parent_id: (KINDS.index(kind), GENDERS.index(self.people[parent_id].gender))
            for parent_id, kind in parents.items()
        }
        return {parent_id: parents[parent_id] for parent_id in sorted(parents, key=ranks.__getitem__)}

    def _by_birth(self, people: Iterable[str]) -> list[str]:
        return sorted(people, key=lambda each: (self.people[each].born or LAST, self._place[each]))


def _walk(
    links: Mapping[str, Mapping[str, ParentageKind]],
    person_id: str,
    generations: int | None,
    kinds: Collection[ParentageKind],
) -> Iterator[Relative]:
    met, generation, edge = {person_id}, 0, [person_id]
    while edge and generation != generations:
        generation += 1
        beyond = []
        for near_id in edge:
            for relative_id, kind in links.get(near_id, NOBODY).items():
                if kind in kinds and relative_id not in met:
                    met.add(relative_id)
                    beyond.append(relative_id)
                    yield Relative(relative_id, generation)
        edge = beyond


def _households(parents: Mapping[str, ParentageKind]) -> dict[Household, ParentageKind]:
    found = {kind: frozenset(parent for parent, each in parents.items() if each is kind) for kind in reversed(LINE)}
    return {household: kind for kind, household in found.items() if household}
