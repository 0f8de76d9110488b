"""The shortest path from one person to another through a family."""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from datastore.genealogy import MarriageStatus, ParentageKind
from datastore.model.enums import Choice
from resolvers.genealogy.kinship.family import Family, Household

# A path goes up to an ancestor and down from there. Continuing from a spouse, or from a child to its other parent,
# costs as much as two generations: a brother's wife who is a first cousin is the cousin, a man's own wife the wife.
TURN = 2
# Penalties that break ties between paths of equal length.
HALF_DOUBT = 1
DOUBTS = {
    ParentageKind.BIOLOGICAL: 0,
    ParentageKind.ADOPTIVE: 2,
    ParentageKind.FOSTER: 3,
    ParentageKind.STEP: 4,
    MarriageStatus.MARRIED: 5,
    MarriageStatus.PARTNERS: 5,
    MarriageStatus.SEPARATED: 5,
    MarriageStatus.WIDOWED: 5,
    MarriageStatus.DIVORCED: 6,
}
UNMARRIED_DOUBT = 10


class KinshipLink(Choice):
    """The relationship of a person to the previous one on the path."""

    PARENT = "PARENT", "Their parent."
    CHILD = "CHILD", "Their child."
    SPOUSE = "SPOUSE", "Their spouse."


TURNED = {
    KinshipLink.PARENT: KinshipLink.CHILD,
    KinshipLink.CHILD: KinshipLink.PARENT,
    KinshipLink.SPOUSE: KinshipLink.SPOUSE,
}


class Step(NamedTuple):
    """A person on the path and the link that leads to them. The first has none."""

    person_id: str
    link: KinshipLink | None = None
    nature: ParentageKind | MarriageStatus | None = None


# Search states: a person reached in an earlier state need not be visited in a later one. A household stands between
# a child and its full siblings, so that they are found before half-siblings.
START, ABOVE, HOUSEHOLD, BELOW, NOWHERE = range(5)
LINKS = {START: KinshipLink.SPOUSE, ABOVE: KinshipLink.PARENT, HOUSEHOLD: KinshipLink.PARENT, BELOW: KinshipLink.CHILD}

_Place = str | Household
_State = tuple[int, _Place]


class _Reach(NamedTuple):
    """The predecessor of a state. The first has none."""

    distance: int
    doubt: int
    before: _State | None


def way(family: Family, one_id: str, other_id: str) -> list[Step]:
    """Returns the path including both ends, or an empty one if no links connect them."""
    if one_id not in family.people or other_id not in family.people:
        return []
    # Always searches in the same direction, so that both people see the same of several equal paths.
    if one_id > other_id:
        return _turned(_way(family, other_id, one_id))
    return _way(family, one_id, other_id)


def _way(family: Family, first_id: str, last_id: str) -> list[Step]:
    """Searches outward from both ends, ring by ring, until nothing shorter can remain."""
    if first_id == last_id:
        return [Step(first_id)]
    first, last = _Search(family, first_id), _Search(family, last_id)
    best, found = (0, 0), list[Step]()
    while first.rings and last.rings and not (found and best[0] <= first.settled + last.settled + 1):
        side, other = (first, last) if first.effort <= last.effort else (last, first)
        for state, reach in side.advance():
            for there, met in other.at(state[1]):
                length, doubt = _joint(state[0], there[0])
                total = reach.distance + met.distance + length, reach.doubt + met.doubt + doubt
                if not found or total < best:
                    ends = side.steps(state, reach), other.steps(there, met)
                    best, found = total, _joined(*(ends if side is first else ends[::-1]))
    return found


def _joint(at: int, other_at: int) -> tuple[int, int]:
    """Returns the cost of joining two paths: both lead down to a child, or up to a common parent."""
    if at == other_at == BELOW:
        return TURN, UNMARRIED_DOUBT
    return 0, HALF_DOUBT if at == other_at == ABOVE else 0


def _joined(steps: list[Step], other_steps: list[Step]) -> list[Step]:
    return steps + _turned(other_steps)[1:]


def _turned(steps: list[Step]) -> list[Step]:
    """Reverses a path: each link becomes its inverse."""
    back = [Step(step.person_id) for step in steps[-1:]]
    for step, before in pairwise(reversed(steps)):
        back.append(Step(before.person_id, step.link and TURNED[step.link], step.nature))
    return back


class _Search:
    """The people around a person, by distance."""

    def __init__(self, family: Family, start_id: str) -> None:
        self.family = family
        self.settled = -1
        self.rings: dict[int, dict[_State, _Reach]] = {0: {(START, start_id): _Reach(0, 0, None)}}
        self._reached: dict[_State, _Reach] = {}
        self._met: dict[_Place, int] = {}

    @property
    def effort(self) -> int:
        """Returns the size of the next ring. The start is expanded first."""
        return len(self.rings.get(self.settled + 1, ())) if self.settled >= 0 else -1

    def at(self, place: _Place) -> list[tuple[_State, _Reach]]:
        """Returns the visited states."""
        if place not in self._met:
            return []
        states = [(at, place) for at in range(NOWHERE)]
        return [(state, self._reached[state]) for state in states if state in self._reached]

    def advance(self) -> Iterator[tuple[_State, _Reach]]:
        """Expands the next ring; yields each state it reaches, with its distance and predecessor."""
        self.settled += 1
        ring = {state: reach for state, reach in self.rings.pop(self.settled, {}).items() if self._is_new(*state)}
        self._reached.update(ring)
        for at, place in ring:
            self._met[place] = min(at, self._met.get(place, NOWHERE))
        for state, (distance, doubt, _) in ring.items():
            for further, length, more in self._moves(*state):
                beyond = self.rings.setdefault(distance + length, {})
                if further not in beyond or doubt + more < beyond[further].doubt:
                    beyond[further] = _Reach(distance + length, doubt + more, state)
                    yield further, beyond[further]

    def steps(self, state: _State, reach: _Reach) -> list[Step]:
        """Returns the path to a state as people. A household is represented by its head."""
        states = [state]
        while reach.before:
            states.append(reach.before)
            reach = self._reached[reach.before]
        people = [(at, self.family.head(place) if isinstance(place, frozenset) else place) for at, place in states]
        return [Step(people[-1][1])] + [
            Step(to_id, LINKS[at], self._nature(from_id, to_id, at))
            for (_, from_id), (at, to_id) in pairwise(reversed(people))
        ]

    def _nature(self, from_id: str, to_id: str, at: int) -> ParentageKind | MarriageStatus:
        if at == START:
            return self.family.spouses(from_id)[to_id]
        return (self.family.children(from_id) if at == BELOW else self.family.parents(from_id))[to_id]

    def _is_new(self, at: int, place: _Place) -> bool:
        return self._met.get(place, NOWHERE) > at

    def _moves(self, at: int, place: _Place) -> list[tuple[_State, int, int]]:
        """Returns unvisited successors with their distance and penalty."""
        met = self._met
        if isinstance(place, frozenset):
            raised = self.family.raised(place).items()
            return [((BELOW, each), 1, _doubt(kind)) for each, kind in raised if each not in met]
        turn, doubt = (TURN, UNMARRIED_DOUBT) if at == BELOW else (0, 0)
        half = HALF_DOUBT if at == ABOVE else 0
        parents, households = self.family.parents(place).items(), self.family.households(place).items()
        children, spouses = self.family.children(place).items(), self.family.spouses(place).items()
        return [
            *[((ABOVE, each), 1 + turn, _doubt(kind) + doubt) for each, kind in parents if self._is_new(ABOVE, each)],
            *[((HOUSEHOLD, each), 1 + turn, _doubt(kind) + doubt) for each, kind in households if each not in met],
            *[((BELOW, each), 1, _doubt(kind) + half) for each, kind in children if each not in met],
            *[((START, each), TURN, DOUBTS[status]) for each, status in spouses if self._is_new(START, each)],
        ]


def _doubt(kind: ParentageKind) -> int:
    # Most links are of this kind, and a lookup takes several times as long.
    return 0 if kind is ParentageKind.BIOLOGICAL else DOUBTS[kind]
