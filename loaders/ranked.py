"""Lists in a computed order: all keys are known, and a page is selected by rank."""

from collections.abc import Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from datastore.client.positions import Position
from datastore.client.table import KeysRead, Page
from datastore.model.entity import Entity
from datastore.model.keys import Key
from loaders.needs import Pages, Step
from loaders.pages import REFILL, Found, HonestPage, Keeps, Target, nodes_of
from loaders.viewer import Viewer

E = TypeVar("E", bound=Entity)


class Ranked(NamedTuple, Generic[E]):
    """Records by descending rank: ranks are compared as text, and equal ranks by key.

    `at_hand` has records that are read already, and `identity` binds cursors to the list. If the records are links,
    `to` returns the target of each.
    """

    ranks: Mapping[Key[E], str]
    at_hand: Mapping[Key[E], E]
    identity: str
    to: Target | None = None

    def position_of(self, record: Entity) -> Position:
        return self._position(record.own_key)

    def _position(self, key: Key[Any]) -> Position:
        return self.ranks[key], key.pk, key.sk

    def behind(self, after: Position | None, *, backward: bool) -> list[Key[E]]:
        """Returns the keys after a position, in the direction of reading, even if its record is gone."""
        ordered = sorted(self.ranks, key=self._position, reverse=not backward)
        if after is None:
            return ordered
        return [key for key in ordered if (self._position(key) > after) is backward and self._position(key) != after]


def read_ranked(
    listed: Ranked[Any],
    size: int,
    viewer: Viewer,
    after: Position | None = None,
    *,
    backward: bool = False,
    keeps: Keeps | None = None,
) -> Step[HonestPage]:
    """Returns `size` visible records after a position, in the order of the list."""
    keys = listed.behind(after, backward=backward)
    found, limit = Found(), size + 1
    while keys and len(found.records) <= size:
        some, keys, limit = keys[:limit], keys[limit:], REFILL
        records = yield from _records_at(some, listed.at_hand)
        found.add(*(yield from nodes_of(records, viewer, listed.to, keeps)))
    return HonestPage.of(found, size, None, backward=backward)


def _records_at(keys: Sequence[Key[Any]], at_hand: Mapping[Key[Any], Any]) -> Step[list[Any]]:
    missing = tuple(key for key in keys if key not in at_hand)
    read: Mapping[Key[Any], Any] = {}
    if missing:
        pages: list[Page[Any]] = yield Pages([KeysRead(missing)])
        read = {record.own_key: record for record in pages[0].records}
    found = [at_hand.get(key) or read.get(key) for key in keys]
    return [record for record in found if record is not None]
