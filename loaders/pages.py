"""Honest pages: what the viewer may not see is made up for, and `more` never promises an empty rest."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from datastore.entity import Entity
from datastore.keys import Key, Range
from datastore.table import Position
from loaders.loaders import Loaders

READS_A_PAGE = 10
REFILL = 100

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


async def rows_of(loaders: Loaders, records: Iterable[Any], to: Target | None) -> list[Row]:
    """What the viewer may see of these records; of links, those that lead to something the viewer may see."""
    seen = await loaders.only_visible(records)
    if to is None:
        return [Row(record, record) for record in seen]
    nodes = await loaders.many(map(to, seen))
    return [Row(link, node) for link, node in zip(seen, nodes, strict=True) if node is not None]


async def read_page(
    loaders: Loaders,
    within: Range[Any],
    size: int,
    after: Position | None = None,
    *,
    backward: bool = False,
    to: Target | None = None,
) -> HonestPage:
    """`size` rows after a position. One more is read, so that `more` is knowledge and not a guess."""
    found: list[Row] = []
    for attempt in range(READS_A_PAGE):
        page = await loaders.page(within, size + 1 if attempt == 0 else REFILL, after, backward=backward)
        found += await rows_of(loaders, page.records, to)
        after = page.more
        if len(found) > size or after is None:
            break
    return HonestPage.of(found, size, after, backward=backward)
