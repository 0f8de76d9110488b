"""Lists in an order that another service knows, such as a search index. Records are read, and hidden ones left out."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from datastore.client.positions import Position
from datastore.model.keys import Key
from loaders.needs import Items, Step
from loaders.pages import READS_A_PAGE, REFILL, Found, HonestPage, Keeps, OfTargets
from loaders.viewer import Viewer
from loaders.visibility import seen, without_damage

T = TypeVar("T")


class FoundRecord(NamedTuple):
    """A member of the list: its position, the key of its record, and what the service tells about it.

    Without a key, `node` is shown as it is.
    """

    position: Position
    key: Key[Any] | None
    about: Any
    node: Any = None


class Some(NamedTuple):
    """Some members, in the direction of reading. `more` is true if there are further ones."""

    members: Sequence[FoundRecord]
    more: bool


Fetch = Callable[[int, Position | None, bool], Step[Some]]
"""Returns a number of members after a position, forward or backward."""


class Searched(NamedTuple, Generic[T]):
    """`fetch` asks the service, `identity` binds cursors to the list, and `about` tells the rest about it."""

    fetch: Fetch
    identity: str
    about: Any = None
    keeps: Callable[[Any], bool] | None = None

    def position_of(self, member: Any) -> Position:
        position: Position = member.position
        return position


def read_searched(
    listed: Searched[Any],
    size: int,
    viewer: Viewer,
    after: Position | None = None,
    *,
    backward: bool = False,
    keeps: Keeps | None = None,
) -> Step[HonestPage]:
    """Returns `size` visible members after a position. Reads one more, to know if there is a next page."""
    assert not isinstance(keeps, OfTargets)
    found, limit = Found(), size + 1
    for _ in range(READS_A_PAGE):
        members, more = yield from listed.fetch(limit, after, backward)
        nodes = yield from nodes_of_found(members, viewer)
        shown = [node if node is not None and _keeps(listed, keeps, node) else None for node in nodes]
        found.add(members, shown)
        after, limit = (members[-1].position if members else after), REFILL
        if not more or len(found.records) > size:
            break
    return HonestPage.of(found, size, after if more else None, backward=backward)


def _keeps(listed: Searched[Any], keeps: Any, node: Any) -> bool:
    return (listed.keeps is None or listed.keeps(node)) and (keeps is None or keeps(node))


def nodes_of_found(members: Sequence[FoundRecord], viewer: Viewer) -> Step[list[Any]]:
    """Returns what to show of each member: None if it is hidden, or if the viewer sees it without its details.

    A list that finds a record by a detail tells that detail.
    """
    stored = without_damage((yield Items([member.key for member in members], or_damage=True)))
    visible = yield from seen(stored, viewer)
    shown = [record if record is whole else None for record, whole in zip(visible, stored, strict=True)]
    return [member.node if member.key is None else record for member, record in zip(members, shown, strict=True)]
