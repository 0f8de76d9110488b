"""Additions to a list: which changes bring a record into one of its ranges, and what the viewer sees of that record."""

from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from datastore.changes.change import Change, What
from datastore.client.errors import CorruptItem, InvalidKey
from datastore.client.positions import Position, position_of
from datastore.client.writes import IndexKeys
from datastore.model.entity import Entity
from datastore.model.keys import LAST_CHARACTER, Key, Range
from datastore.model.mixed import Mixed
from datastore.model.times import Time
from loaders.copied import Copied, read_copied
from loaders.filtered import Filtered
from loaders.kept import Window
from loaders.linked import Linked
from loaders.merge import Merge, read_merged
from loaders.needs import Items, Step
from loaders.pages import HonestPage, Keeps, Target, nodes_of, read_pages
from loaders.viewer import Viewer
from loaders.visibility import seen_at

# A put without a condition may replace an item. One that was created longer ago than this is no addition; nor is a link
# to a record that is older, such as the posts that a home feed gets from a user who is newly followed.
STILL_NEW = timedelta(hours=1)

Rank = tuple[str, str, str, str]
"""The place of a record in the order of additions: its time, or a sort key that begins with it, then its keys."""

LISTS = (Range, Merge, Copied, Filtered, Linked)
"""Lists of which additions are known."""


class Added(NamedTuple):
    """A record that was added, and its node: the record itself, or the target of a link."""

    record: Any
    node: Any


class Growing(NamedTuple):
    """A list whose additions are followed. `at` names the field with the time at which a record was added."""

    source: Range[Any] | Merge[Any] | Copied[Any]
    to: Target | None
    keeps: Keeps | None
    at: str

    @classmethod
    def of(cls, listed: Any, to: Target | None, at: str) -> "Growing":
        if isinstance(listed, Linked):
            listed, to = listed
        source: Any = listed
        keeps: Keeps | None = None
        if isinstance(listed, Filtered):
            source, keeps = listed
        return cls(source, to, keeps, at)

    @property
    def ranges(self) -> tuple[Range[Any], ...]:
        if isinstance(self.source, Range):
            return (self.source,)
        return (
            (self.source.links.within, *self.source.ranges) if isinstance(self.source, Copied) else self.source.ranges
        )

    @property
    def windows(self) -> frozenset[Window]:
        return frozenset(map(_window, self.ranges))

    @property
    def is_by_time(self) -> bool:
        """True if the list itself is in the order in which records are created."""
        return all(each.entity.indexes[each.index_name].sk.holes[:1] == ("created_at",) for each in self.ranges)

    def is_added_by(self, change: Change) -> bool:
        """Returns True if the change brings, or may bring, the item into the list."""
        if change.what is What.REMOVED or change.after is None:
            return False
        if change.what is not What.INSERTED and change.before is not None and self._has(change.key, change.before):
            return False
        return self._has(change.key, change.after)

    def _has(self, key: Key[Any], index_keys: IndexKeys) -> bool:
        return any(_is_in(within, key, index_keys) for within in self.ranges)

    def read(self, change: Change, viewer: Viewer) -> Step[Added | None]:
        """Returns the record as the viewer sees it, None if it is gone, moved away, hidden or rejected by a filter."""
        (found,) = yield Items([change.key], or_damage=True)
        if found is None or isinstance(found, CorruptItem) or self._is_old(found, change):
            return None
        # A home feed may be merged at one time, and copied at another: its posts are in it either way.
        if not isinstance(self.source, Copied) and not self._has(change.key, _index_keys(found)):
            return None
        if isinstance(self.source, Copied) and found.__class__ is self.source.links.within.entity:
            if not self.source.links.counts(found):
                return None
            (found,) = yield from seen_at([self.source.links.to(found)], viewer, leave_out_damaged=True)
        (record,), (node,) = yield from nodes_of([found], viewer, self.to, self.keeps)
        return None if node is None else Added(record, node)

    def _is_old(self, found: Entity, change: Change) -> bool:
        is_link = isinstance(self.source, Copied) and found.__class__ is self.source.links.within.entity
        return (is_link or change.before is None) and _age(getattr(found, self.at), change.at) > STILL_NEW

    def newer(self, size: int, viewer: Viewer, after: Position | None) -> Step[HonestPage]:
        """Returns visible records after a position, in the order in which they were created, of a list by time."""
        if not self.ranges:
            return HonestPage((), (), more=False)
        backward = self.ranges[0].descending
        page = yield from self._page(size, viewer, after, backward=backward)
        return page._replace(records=page.records[::-1], nodes=page.nodes[::-1]) if backward else page

    def page(self, size: int, viewer: Viewer, after: Position | None) -> Step[HonestPage]:
        """Returns visible records after a position, in the order of the list."""
        return (yield from self._page(size, viewer, after, backward=False))

    def _page(self, size: int, viewer: Viewer, after: Position | None, *, backward: bool) -> Step[HonestPage]:
        source, to, keeps = self.source, self.to, self.keeps
        if isinstance(source, Range):
            pages = yield from read_pages([source], size, viewer, after, backward=backward, to=to, keeps=keeps)
            return pages[0]
        if isinstance(source, Merge):
            return (yield from read_merged(source, size, viewer, after, backward=backward, to=to, keeps=keeps))
        return (yield from read_copied(source, size, viewer, after, backward=backward, keeps=keeps))

    def position_of(self, record: Entity) -> Position:
        """Returns the position of a record in the list."""
        source = self.source
        return position_of(source, record) if isinstance(source, Range) else source.position_of(record)

    def rank_of(self, record: Entity) -> Rank:
        """Returns the place of a record in the order of additions."""
        return self.rank_at(self.position_of(record), getattr(record, self.at))

    def rank_at(self, position: Position, at: str) -> Rank:
        """Returns the same of the record at a position."""
        if not isinstance(self.source, Range):
            sort_key, partition, pk, sk = position
        else:
            pk, sk = position[:2]
            sort_key, partition = position[-1], self.source.pk
        return (sort_key, partition, pk, sk) if self.is_by_time else (at, "", pk, sk)


def _window(within: Range[Any]) -> Window:
    low, high = within.bounds or (within.prefix, within.prefix + LAST_CHARACTER)
    return Window((within.index_name, within.pk), low, high)


def _is_in(within: Range[Any], key: Key[Any], index_keys: IndexKeys) -> bool:
    entity: Any = within.entity
    if key.entity is not entity and not (isinstance(entity, Mixed) and key.entity in entity.entities):
        return False
    pk, sk = key[1:] if within.index_name is None else index_keys.get(within.index_name, ("", ""))
    return pk == within.pk and _window(within).has(sk)


def _index_keys(record: Entity) -> IndexKeys:
    found = {}
    for name, index in record.indexes.items():
        if name is not None:
            # An index lacks records without a value for its keys.
            with suppress(InvalidKey):
                found[name] = index.pk.fill(record.__dict__), index.sk.fill(record.__dict__)
    return found


def _age(created_at: Time, at: Time) -> timedelta:
    return datetime.fromisoformat(at) - datetime.fromisoformat(created_at)
