"""Chart layout: boxes never overlap, and subtrees are packed as closely as they fit."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import accumulate, zip_longest
from typing import NamedTuple

from datastore.genealogy import ParentageKind
from resolvers.genealogy.kinship.family import Family

WIDTH, HEIGHT = 180, 58
GAP, STACK_GAP, LEVEL_GAP = 28, 8, 48
# Children without children are stacked where a row of them would be too wide.
LEAVES_SIDE_BY_SIDE, STACKED = 8, 4


class Line(Enum):
    """Direction of a chart from its root person."""

    ANCESTORS = "ANCESTORS"
    DESCENDANTS = "DESCENDANTS"


@dataclass
class Box:
    """A person in the chart, or a reference to their first box. `before` is the box it connects to."""

    person_id: str
    before: int | None
    kind: ParentageKind
    level: int
    is_reference: bool = False
    is_stacked: bool = False
    hidden: int = 0
    further: list[int] = field(default_factory=list)
    x: float = 0
    y: float = 0


class _Outline(NamedTuple):
    """The extent of a subtree on both sides of its root, per level."""

    left: list[float]
    right: list[float]


def boxes_of(family: Family, person_id: str, line: Line, most: int, generations: int | None = None) -> list[Box]:
    """Returns the nearest people first, each once. Repeated people and cycles become references."""
    boxes = [Box(person_id, None, ParentageKind.BIOLOGICAL, 0)]
    drawn = {person_id}
    for number, box in enumerate(boxes):
        if box.is_reference:
            continue
        relatives = family.parents(box.person_id) if line is Line.ANCESTORS else family.children(box.person_id)
        for relative_id, kind in relatives.items():
            if len(boxes) >= most or box.level == generations:
                box.hidden += relative_id not in drawn
                continue
            box.further.append(len(boxes))
            boxes.append(Box(relative_id, number, kind, box.level + 1, is_reference=relative_id in drawn))
            drawn.add(relative_id)
    place = _left_to_right if line is Line.ANCESTORS else _top_to_bottom
    place(boxes)
    return boxes


def _left_to_right(boxes: list[Box]) -> None:
    for box, middle in zip(boxes, tidy([box.further for box in boxes], HEIGHT, STACK_GAP), strict=True):
        box.x, box.y = box.level * (WIDTH + LEVEL_GAP), middle - HEIGHT / 2


def _top_to_bottom(boxes: list[Box]) -> None:
    columns, further = _columns(boxes)
    heights: dict[int, int] = {}
    for column in columns:
        level = boxes[column[0]].level
        heights[level] = max(heights.get(level, 0), len(column) * (HEIGHT + STACK_GAP) - STACK_GAP)
    tops = list(accumulate((height + LEVEL_GAP for height in heights.values()), initial=0))
    for column, middle in zip(columns, tidy(further, WIDTH, GAP), strict=True):
        for place, number in enumerate(column):
            box = boxes[number]
            box.x, box.y = middle - WIDTH / 2, tops[box.level] + place * (HEIGHT + STACK_GAP)
            box.is_stacked = len(column) > 1


def _columns(boxes: list[Box]) -> tuple[list[list[int]], list[list[int]]]:
    """Returns the stacks of boxes and the columns that continue from each."""
    side_by_side = sum(not box.further for box in boxes) <= LEAVES_SIDE_BY_SIDE
    columns, further = [[0]], []
    for column in columns:
        stacks: list[list[int]] = []
        for number in boxes[column[0]].further:
            last = stacks[-1] if stacks else []
            fits = 0 < len(last) < STACKED and not boxes[last[-1]].further and not boxes[number].further
            if fits and not side_by_side:
                last.append(number)
            else:
                stacks.append([number])
        further.append(list(range(len(columns), len(columns) + len(stacks))))
        columns += stacks
    return columns, further


def tidy(further: Sequence[Sequence[int]], size: float, gap: float) -> list[float]:
    """Returns the center of each box along its level. The root is number 0; later boxes have higher numbers."""
    offsets = [0.0] * len(further)
    outlines: dict[int, _Outline] = {}
    for number in reversed(range(len(further))):
        subtrees = [outlines.pop(each) for each in further[number]]
        places = _side_by_side(subtrees, size + gap)
        middle = (places[0] + places[-1]) / 2 if places else 0.0
        for each, place in zip(further[number], places, strict=True):
            offsets[each] = place - middle
        outlines[number] = _joined(subtrees, [place - middle for place in places])
    middles = [size / 2 - min(outlines[0].left)] * len(further)
    for number, beyond in enumerate(further):
        for each in beyond:
            middles[each] = middles[number] + offsets[each]
    return middles


def _side_by_side(subtrees: list[_Outline], apart: float) -> list[float]:
    places: list[float] = []
    reach: list[float] = []
    for subtree in subtrees:
        place = max((right - left + apart for right, left in zip(reach, subtree.left, strict=False)), default=0.0)
        places.append(place)
        reach = [place + right for right in subtree.right] + reach[len(subtree.right) :]
    return places


def _joined(subtrees: list[_Outline], places: list[float]) -> _Outline:
    lefts = [[place + left for left in subtree.left] for subtree, place in zip(subtrees, places, strict=True)]
    rights = [[place + right for right in subtree.right] for subtree, place in zip(subtrees, places, strict=True)]
    return _Outline(
        [0.0, *(min(each for each in level if each is not None) for level in zip_longest(*lefts))],
        [0.0, *(max(each for each in level if each is not None) for level in zip_longest(*rights))],
    )
