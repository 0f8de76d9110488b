"""The relationship between two people: path, distance and English term."""

from itertools import pairwise
from typing import NamedTuple

from datastore.genealogy import MarriageStatus, ParentageKind
from resolvers.genealogy.kinship.family import LINE, Family
from resolvers.genealogy.kinship.paths import DOUBTS, KinshipLink, Step, way
from resolvers.genealogy.kinship.terms import NOT_RELATED, Stretch, relationship_name


class Degree(NamedTuple):
    """The distance of a relative."""

    generations_up: int = 0
    generations_down: int = 0
    marriages: int = 0
    cousin_degree: int | None = None
    removal: int | None = None
    half: bool = False


class Relationship(NamedTuple):
    """The relationship of the last person on the path to the first. Without a path they are not related."""

    name: str
    degree: Degree
    path: list[Step]


def relationship(family: Family, one_id: str, other_id: str) -> Relationship:
    """Returns the relationship of the other person to the first."""
    path = way(family, one_id, other_id)
    if not path:
        return Relationship(NOT_RELATED, Degree(), [])
    stretches = _stretches(family, path)
    return Relationship(relationship_name(stretches), _degree(path, stretches), path)


def _stretches(family: Family, path: list[Step]) -> list[Stretch]:
    """Splits the path: a new part starts at a marriage, after one, and where the path turns up again."""
    parts: list[list[Step]] = []
    for before, step in pairwise(path):
        last = parts[-1][-1].link if parts else None
        goes_on = step.link is not KinshipLink.SPOUSE and last in (step.link, KinshipLink.PARENT)
        if not goes_on:
            parts.append([before])
        parts[-1].append(step)
    return [_stretch(family, part) for part in parts]


def _stretch(family: Family, part: list[Step]) -> Stretch:
    begin, end = family.people[part[0].person_id], family.people[part[-1].person_id]
    if isinstance(status := part[-1].nature, MarriageStatus):
        dead, survived = end.deceased, not begin.deceased
        return Stretch(gender=end.gender, status=status, dead=dead, survived=survived)
    kinds = [step.nature for step in part[1:] if isinstance(step.nature, ParentageKind)]
    kind = max(kinds, key=DOUBTS.__getitem__)
    up = sum(step.link is KinshipLink.PARENT for step in part[1:])
    turns = 0 < up < len(kinds) and kind in LINE
    half = turns and not family.are_siblings(part[up - 1].person_id, part[up + 1].person_id)
    return Stretch(gender=end.gender, up=up, down=len(kinds) - up, kind=kind, half=half)


def _degree(path: list[Step], stretches: list[Stretch]) -> Degree:
    links = [step.link for step in path]
    up, down = links.count(KinshipLink.PARENT), links.count(KinshipLink.CHILD)
    cousins = len(stretches) == 1 and min(up, down) > 1
    return Degree(
        generations_up=up,
        generations_down=down,
        marriages=links.count(KinshipLink.SPOUSE),
        cousin_degree=min(up, down) - 1 if cousins else None,
        removal=abs(up - down) if cousins else None,
        half=len(stretches) == 1 and stretches[0].half,
    )
