"""Keeps the reads of a live query up to date: changes are applied to them, and the plan runs over them again.

A page is a window of a range: everything between its bounds. A change inside the window is applied to the page, without
reading the range again: its index may lag behind the change. A page that has lost records is continued by the plan
after its last position, as any page that is shorter than its limit.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

from datastore.changes.change import Change
from datastore.client.errors import CorruptItem
from datastore.client.positions import Position, position_of
from datastore.client.table import KeysRead, Page, RangeRead
from datastore.model.entity import Entity
from datastore.model.keys import LAST_CHARACTER, Key, Range
from datastore.model.mixed import Mixed
from loaders.cache import Cache
from loaders.needs import Items, PageRead, Pages

Place = tuple[str, str]
"""PK and SK of an item."""

Partition = tuple[str | None, str]
"""An index, None for the table itself, and a partition key in it."""


class Moved(NamedTuple):
    """The last known keys of a changed item in the indexes: None if they are as they were."""

    index_keys: Mapping[str, tuple[str, str]] | None

    def then(self, change: Change) -> "Moved":
        """Returns the same after one more change."""
        return Moved(self.index_keys if change.after is None else change.after)


UNMOVED = Moved(None)


class Window(NamedTuple):
    """The part of a partition that a page shows: its first and its last sort key."""

    partition: Partition
    low: str
    high: str

    def has(self, sk: str) -> bool:
        return self.low <= sk <= self.high


def window_of(read: RangeRead, page: Page[Any]) -> Window:
    within = read.within
    low, high = within.bounds or (within.prefix, within.prefix + LAST_CHARACTER)
    first, last = (read.after, page.more) if _ascends(read) else (page.more, read.after)
    if first:
        low = max(low, _sort_key(within, first))
    if last:
        high = min(high, _sort_key(within, last))
    return Window((within.index_name, within.pk), low, high)


class ReadSet(NamedTuple):
    """The items and windows that an answer depends on."""

    places: frozenset[Place]
    windows: frozenset[Window]


NOTHING = ReadSet(frozenset(), frozenset())


class Kept(Cache):
    """The cache of a live query. It keeps what the last run has used."""

    def __init__(self) -> None:
        super().__init__()
        self._begin()
        self._windows: dict[RangeRead, Window] = {}
        # What was kept when the run began, which is watched.
        self._before: tuple[dict[Key[Any], Any], dict[PageRead, Page[Any]]] | None = None
        # True if the answer depends on records whose changes are not in the log, such as rankings.
        self.reads_unlogged = False

    def items(self, need: Items) -> list[Any] | None:
        self._used_keys.update(need.keys, need.judged)
        return super().items(need)

    def pages(self, need: Pages) -> list[Page[Any]] | None:
        self._used_pages.update(need.reads)
        return super().pages(need)

    def clear(self) -> None:
        """Forgets everything: what is kept lacks fields that are needed."""
        super().__init__()
        self._begin()

    def begin(self) -> None:
        """Begins another run over what is kept."""
        self._before = {**self._items}, {**self._pages}
        self._begin()
        self.once.clear()
        self._listed, self._lean = {}, {}
        for read, page in self._pages.items():
            if isinstance(read, RangeRead):
                self._keep_records(read.within, page.records)

    def undo(self) -> None:
        """Ends a run that has failed: forgets what it has read, because no one has watched it."""
        if self._before is not None:
            (self._items, self._pages), self._before = self._before, None

    def _begin(self) -> None:
        self._used_keys: set[Key[Any] | None] = set()
        self._used_pages: set[PageRead] = set()

    def finish(self) -> ReadSet:
        """Ends a run: forgets what it has not used, and returns what its answer depends on."""
        self._before = None
        self._used_keys.discard(None)
        used_keys, used_pages = self._used_keys, self._used_pages
        self._items = {key: record for key, record in self._items.items() if key in used_keys}
        self._pages = {read: page for read, page in self._pages.items() if read in used_pages}
        self._listed, self._lean = {}, {}
        self.reads_unlogged = not all(map(_is_logged, (*self._items, *self._pages)))
        self._windows = {
            read: window_of(read, page) for read, page in self._pages.items() if isinstance(read, RangeRead)
        }
        places = {key[1:] for key in used_keys if key is not None}
        self._begin()
        for read, page in self._pages.items():
            if isinstance(read, KeysRead):
                places.update(key[1:] for key in read.keys)
            places.update(record.own_key[1:] for record in page.records)
            places.update((damage.pk, damage.sk) for damage in page.damaged)
        return ReadSet(frozenset(places), frozenset(self._windows.values()))

    def forget_unlogged(self) -> None:
        """Forgets what may have changed without a change in the log."""
        self._items = {key: record for key, record in self._items.items() if _is_logged(key)}
        self._pages = {read: page for read, page in self._pages.items() if _is_logged(read)}

    def records(self) -> Iterator[Entity]:
        """Yields all records that the answer was made of."""
        for record in self._items.values():
            if isinstance(record, Entity):
                yield record
        for page in self._pages.values():
            yield from page.records

    def known(self, changes: Mapping[Key[Any], Moved]) -> list[Key[Any]]:
        """Returns the changed keys that are kept, or that a window would show now: they have to be read again."""
        kept = {record.own_key for page in self._pages.values() for record in page.records} | self._items.keys()
        return [key for key, moved in changes.items() if key in kept or self._may_show(key, moved)]

    def _may_show(self, key: Key[Any], moved: Moved) -> bool:
        return any(
            may_hold(read.within, key) and (sk := _sort_key_of(read.within, key, moved)) is not None and window.has(sk)
            for read, window in self._windows.items()
        )

    def catch_up(self, changes: Mapping[Key[Any], Moved], latest: Mapping[Key[Any], Any]) -> None:
        """Applies changes to what is kept. `latest` has the records of the known keys, None for those that are gone."""
        self.keep_items({key: record for key, record in latest.items() if key in self._items})
        places = {key[1:] for key in changes}
        for read, page in [*self._pages.items()]:
            if isinstance(read, KeysRead):
                is_stale = not changes.keys().isdisjoint(read.keys)
            else:
                is_stale = any((damage.pk, damage.sk) in places for damage in page.damaged)
            if is_stale:
                del self._pages[read]
            elif isinstance(read, RangeRead):
                for key, record in latest.items():
                    if may_hold(read.within, key):
                        page = applied(read, self._windows[read], page, key, changes[key], record)
                self._pages[read] = page


def applied(read: RangeRead, window: Window, page: Page[Any], key: Key[Any], moved: Moved, record: Any) -> Page[Any]:
    """Returns a page after the change of one item."""
    within = read.within
    at = next((at for at, each in enumerate(page.records) if each.own_key == key), None)
    was = None if at is None else page.records[at]
    sk = _sort_key_of(within, key, moved)
    if sk is None and moved.index_keys is None and was is not None:
        sk = position_of(within, was)[-1]
    stays = record is not None and sk is not None and window.has(sk)
    if was is None and (not stays or _is_beyond(read, page, sk)):
        return page
    records = [*page.records]
    if at is not None:
        del records[at]
    damaged = page.damaged
    if stays and isinstance(record, CorruptItem):
        damaged = (*damaged, record)
    elif stays:
        records.insert(_place_of(read, records, str(sk)), record)
    more = page.more
    if len(records) > read.limit:
        records = records[: read.limit]
        more = position_of(within, records[-1])
    return Page(records, more, damaged)


def _place_of(read: RangeRead, records: Sequence[Any], sk: str) -> int:
    ascends = _ascends(read)
    for place, record in enumerate(records):
        other = position_of(read.within, record)[-1]
        if (sk < other) if ascends else (sk > other):
            return place
    return len(records)


def _is_beyond(read: RangeRead, page: Page[Any], sk: str | None) -> bool:
    """True for a record at the very end of the window, or at its very beginning, which belongs to another page."""
    ends: Iterable[Position] = [position for position in (read.after, page.more) if position]
    return any(_sort_key(read.within, position) == sk for position in ends)


def may_hold(within: Range[Any], key: Key[Any]) -> bool:
    entity: Any = within.entity
    return key.entity in entity.entities if isinstance(entity, Mixed) else key.entity is entity


def _is_logged(read: Key[Any] | PageRead) -> bool:
    entities: AbstractSet[type[Entity]]
    match read:
        case Key():
            entities = {read.entity}
        case KeysRead():
            entities = {key.entity for key in read.keys}
        case RangeRead():
            entity: Any = read.within.entity
            entities = entity.entities if isinstance(entity, Mixed) else {entity}
    return all(each.logged for each in entities)


def _sort_key_of(within: Range[Any], key: Key[Any], moved: Moved) -> str | None:
    """Returns the sort key of an item in the partition of a range, None if it is not there or not known."""
    if within.index_name is None:
        return key.sk if key.pk == within.pk else None
    pk, sk = (moved.index_keys or {}).get(within.index_name, (None, None))
    return sk if pk == within.pk else None


def _sort_key(within: Range[Any], position: Position) -> str:
    return position[2] if within.index_name else position[1]


def _ascends(read: RangeRead) -> bool:
    return read.within.descending == read.backward


def partitions_of(change: Change) -> Iterator[tuple[Partition, str]]:
    """Yields the partitions that an item was in or is in, with its sort key there, as far as the change tells."""
    yield (None, change.key.pk), change.key.sk
    for keys in (change.before, change.after):
        if keys:
            for name, (pk, sk) in keys.items():
                yield (name, pk), sk
