"""Honest pages: what the viewer may not see is made up for, and `more` never promises an empty rest."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from datastore.entity import Entity
from datastore.keys import Range
from datastore.table import Position
from loaders.loaders import Loaders

E = TypeVar("E", bound=Entity)

READS_A_PAGE = 10
REFILL = 100


@dataclass(frozen=True)
class HonestPage(Generic[E]):
    """In the range's own order. `more` tells of visible records beyond, in the direction of reading.

    `resume` is set when so much was hidden that the budget of reads ran out: reading goes on from there.
    """

    records: Sequence[E]
    more: bool
    resume: Position | None = None


async def read_page(
    loaders: Loaders, within: Range[E], size: int, after: Position | None = None, *, backward: bool = False
) -> HonestPage[E]:
    """`size` visible records after a position. One more is read, so that `more` is knowledge and not a guess."""
    found: list[E] = []
    for attempt in range(READS_A_PAGE):
        page = await loaders.page(within, size + 1 if attempt == 0 else REFILL, after, backward=backward)
        found += await loaders.only_visible(page.records)
        after = page.more
        if len(found) > size or after is None:
            break
    more, resume = len(found) > size, None
    if not more and after is not None:
        more, resume = True, after
    records = found[:size]
    return HonestPage(records[::-1] if backward else records, more, resume)
