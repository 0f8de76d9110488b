"""Lists of records that are numbered without gaps: the keys of a page are computed, no index is read."""

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

from datastore.client.table import KeysRead, Position
from datastore.model.entity import Entity
from datastore.model.keys import Key
from loaders.needs import Pages, Step
from loaders.pages import HonestPage
from loaders.viewer import Viewer
from loaders.visibility import seen

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
    listed: Numbered[Any], size: int, viewer: Viewer, after: Position | None = None, *, backward: bool = False
) -> Step[HonestPage]:
    """Returns `size` records after a position, in the order of the list, read by their keys."""
    highest = getattr(listed.newest, listed.number)
    if backward:
        numbers = range(int(after[0]) + 1 if after else 1, highest + 1)
    else:
        numbers = range(min(int(after[0]) - 1, highest) if after else highest, 0, -1)
    wanted = sorted(numbers[:size], reverse=True)
    keys = tuple(listed.key(number) for number in wanted if number != highest)
    records = [listed.newest] if highest in wanted else []
    if keys:
        (page,) = yield Pages([KeysRead(keys)])
        records += page.records
    visible = yield from seen(records, viewer)
    shown = [record for record in visible if record is not None]
    return HonestPage(shown, shown, len(numbers) > size)
