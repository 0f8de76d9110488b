"""Honest pages: what the viewer may not see is made up for, and `more` never promises an empty rest."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from datastore.entity import Entity
from datastore.keys import Key, Range
from datastore.table import Page, Position
from loaders.steps import RangeRead, Step
from loaders.viewer import Viewer
from loaders.visibility import seen, seen_at

READS_A_PAGE = 10
REFILL = 100
WHOLE_PAGE = 1_000
FEW = 5

Target = Callable[[Any], Key[Any]]


class Row(NamedTuple):
    """A record of a list and what it stands for: itself, or what a link leads to."""

    record: Entity
    node: Entity


@dataclass(frozen=True)
class HonestPage:
    """In the list's own order. `more` tells of visible rows beyond, in the direction of reading.

    `resume` is set when so much was hidden that the budget of reads ran out: reading goes on from there.
    """

    rows: Sequence[Row]
    more: bool
    resume: Position | None = None

    @classmethod
    def of(cls, found: list[Row], size: int, resume: Position | None, *, backward: bool) -> "HonestPage":
        """The first `size` of what was found; `resume` is where reading stopped, None at the end of the list."""
        rows = found[:size]
        full = len(found) > size
        return cls(rows[::-1] if backward else rows, full or resume is not None, None if full else resume)


def rows_of(records: Sequence[Any], viewer: Viewer, to: Target | None) -> Step[list[Row]]:
    """What the viewer may see of these records; of links, those that lead to something the viewer may see."""
    visible = yield from seen(records, viewer)
    if to is None:
        return [Row(record, record) for record in visible if record is not None]
    links = [record for record in visible if record is not None]
    nodes = yield from seen_at([to(link) for link in links], viewer)
    return [Row(link, node) for link, node in zip(links, nodes, strict=True) if node is not None]


def read_page(
    within: Range[Any],
    size: int,
    viewer: Viewer,
    after: Position | None = None,
    *,
    backward: bool = False,
    to: Target | None = None,
) -> Step[HonestPage]:
    """`size` rows after a position. One more is read, so that `more` is knowledge and not a guess."""
    found: list[Row] = []
    for attempt in range(READS_A_PAGE):
        page: Page[Any] = yield RangeRead(within, size + 1 if attempt == 0 else REFILL, after, backward)
        found += yield from rows_of(page.records, viewer, to)
        after = page.more
        if len(found) > size or after is None:
            break
    return HonestPage.of(found, size, after, backward=backward)


def first_of(within: Range[Any], viewer: Viewer) -> Step[Any]:
    """The first visible record of a short range: an index that leads to one record, or to an expired one too."""
    page: Page[Any] = yield RangeRead(within, FEW)
    visible = yield from seen(page.records, viewer)
    return next((record for record in visible if record is not None), None)


def whole(within: Range[Any]) -> Step[list[Any]]:
    """Everything in a range, as it is stored: for ranges that are known to be small."""
    page: Page[Any] = yield RangeRead(within, WHOLE_PAGE)
    records = [*page.records]
    while page.more:
        page = yield RangeRead(within, WHOLE_PAGE, page.more)
        records += page.records
    return records
