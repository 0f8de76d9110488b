"""Lists of records that are numbered without gaps: the keys of a page are computed, no index is read."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from datastore.client.positions import Position
from datastore.client.table import KeysRead, Page
from datastore.model.entity import Entity
from datastore.model.keys import Key
from loaders.needs import Pages, Step
from loaders.pages import READS_A_PAGE, REFILL, Found, HonestPage, Keeps, nodes_of
from loaders.viewer import Viewer

E = TypeVar("E", bound=Entity)


class Numbered(NamedTuple, Generic[E]):
    """Records from the highest number down to 1: `newest` has the highest, the others are at `key(number)`.

    `identity` binds cursors to the list, and `number` is the name of the field with the number.
    """

    newest: E
    key: Callable[[int], Key[E]]
    number: str
    identity: str

    def position_of(self, record: Entity) -> Position:
        return (str(getattr(record, self.number)),)


def read_numbered(
    listed: Numbered[Any],
    size: int,
    viewer: Viewer,
    after: Position | None = None,
    *,
    backward: bool = False,
    keeps: Keeps | None = None,
) -> Step[HonestPage]:
    """Returns `size` records after a position, in the order of the list, read by their keys."""
    highest = getattr(listed.newest, listed.number)
    if backward:
        numbers = range(int(after[0]) + 1 if after else 1, highest + 1)
    else:
        numbers = range(min(int(after[0]) - 1, highest) if after else highest, 0, -1)
    found, limit, last = Found(), size, 0
    for _ in range(READS_A_PAGE):
        some, numbers = numbers[:limit], numbers[limit:]
        last, limit = some[-1] if some else last, REFILL
        found.add(*(yield from nodes_of((yield from _numbered(listed, some)), viewer, None, keeps)))
        if not numbers or len(found.records) >= size:
            break
    resume = (str(last),) if numbers else None
    page = HonestPage.of(found, size, resume, backward=backward)
    # The numbers say if there is more, so nothing is read beyond a full page.
    return page._replace(resume=None) if len(page.records) == size else page


def _numbered(listed: Numbered[E], numbers: Sequence[int]) -> Step[list[E]]:
    """Returns the records with these numbers, in order. A missing one is left out."""
    highest = getattr(listed.newest, listed.number)
    keys = {listed.key(number): number for number in numbers if number != highest}
    found = {highest: listed.newest}
    if keys:
        pages: list[Page[E]] = yield Pages([KeysRead(tuple(keys))])
        found |= {getattr(record, listed.number): record for record in pages[0].records}
    return [found[number] for number in numbers if number in found]
