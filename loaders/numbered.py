"""Records that are numbered without a gap: a page of them is a list of keys that is computed, not looked for."""

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
    """From the highest number down to 1. The record with the highest is at hand; the others are at `key(number)`.

    `identity` says whose list it is, and `number` is the field that has the number.
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
    """`size` records after a position, in the order of the list: one page by keys, and nothing to look ahead for."""
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
