"""Hot data: records and pages that are kept in memory, until a change concerns them or the memory is needed.

A record that has changed is dropped. A page keeps the keys that have changed in it: its next reader reads only these,
with strong consistency, and corrects the page. Its index may lag behind for seconds, the items do not.
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from datastore.changes.change import Change
from datastore.client.table import KeysRead, Page, RangeRead
from datastore.model.keys import Key
from datastore.model.mixed import Mixed
from datastore.model.projections import Projected, Projection, Wanted
from loaders.kept import Moved, Place, ReadSet, Window, applied, may_hold, window_of
from loaders.needs import PageRead
from loaders.sizes import size_of
from loaders.watching import Watching

# Seconds. Bounds the age of what a change has not removed because no log has told of it.
OLDEST = 60.0
# A page with more changes is read again.
MOST_CHANGED = 20
# Of the memory, for one entry.
LARGEST_SHARE = 20
# Bytes that an entry takes besides its records: its place in the dictionaries, and what it watches.
ITEM_BYTES = 1_000
PAGE_BYTES = 2_000
PLACE_BYTES = 450
NO_WINDOWS: frozenset[Window] = frozenset()
NO_PLACES: frozenset[Place] = frozenset()


class PageName(NamedTuple):
    """A page, and the fields that its records have."""

    read: PageRead
    fields: tuple[Projection, ...]

    @property
    def wanted(self) -> Wanted:
        """The same fields, for reads of single records."""
        wanted = Wanted()
        wanted.update({each.entity: Projected(each, each) for each in self.fields})
        return wanted


def name_of(read: PageRead, wanted: Wanted) -> PageName | None:
    """Returns the name of a page, or None if the log does not tell of all of its changes."""
    entity: Any = read.keys[0].entity if isinstance(read, KeysRead) else read.within.entity
    if not isinstance(entity, Mixed):
        return PageName(read, (wanted[entity].lists,)) if entity.logged else None
    if not all(each.logged for each in entity.entities):
        return None
    return PageName(read, tuple(wanted[each].lists for each in entity.entities))


class Entry:
    """A record, None for an absent one, or a page. `fields` are those of a record."""

    __slots__ = ("answer", "bytes", "changed", "fields", "name", "read_at", "was_used", "window")

    def __init__(self, name: Key[Any] | PageName, answer: Any, read_at: float, fields: Projection | None) -> None:
        self.name: Any = name
        self.answer = answer
        self.fields = fields
        self.read_at = read_at
        self.was_used = False
        # Of a page: the keys that have changed in it, and when.
        self.changed: dict[Key[Any], float] = {}
        self.window: Window | None = None
        self.bytes = 0

    def has(self, fields: Projection) -> bool:
        return self.fields is not None and self.fields.has(fields)

    def read_set(self) -> ReadSet:
        """Returns what the entry depends on."""
        if self.fields is not None:
            return ReadSet(frozenset({self.name[1:]}), NO_WINDOWS)
        read, page = self.name.read, self.answer
        places, windows = NO_PLACES, NO_WINDOWS
        if isinstance(read, KeysRead):
            places = frozenset(key[1:] for key in read.keys)
        else:
            self.window = window_of(read, page)
            windows = frozenset({self.window})
            # In the table itself, the window has them all.
            if read.within.index_name is not None:
                places = frozenset(record.own_key[1:] for record in page.records)
        return ReadSet(places, windows)

    def measure(self, read_set: ReadSet) -> int:
        """Returns the bytes that it takes."""
        if self.fields is not None:
            # A key that was made up to be absent can be longer than most records.
            self.bytes = ITEM_BYTES + len(self.name.pk) + len(self.name.sk) + size_of([self.answer])
        else:
            self.bytes = PAGE_BYTES + PLACE_BYTES * len(read_set.places) + size_of(self.answer.records)
        return self.bytes

    def correct(self, latest: dict[Key[Any], Any], sent: float) -> None:
        """Applies the latest records to a page. A change that came after they were asked for stays open."""
        read = self.name.read
        assert self.window is not None
        for key, record in latest.items():
            # Another request may have applied it already, or a later one.
            if key in self.changed:
                moved = Moved(_index_keys(read, record))
                self.answer = applied(read, self.window, self.answer, key, moved, record)
                if self.changed[key] <= sent:
                    del self.changed[key]


class HotData:
    """Entries within a limit of bytes. Those that were not used since the last round go first (CLOCK)."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self.bytes = 0
        self.hits = self.misses = self.evictions = self.invalidations = self.corrections = 0
        self._entries: OrderedDict[Any, Entry] = OrderedDict()
        self._watching: Watching[Entry] = Watching()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, name: Any, now: float) -> Entry | None:
        entry = self._entries.get(name)
        if entry is None:
            return None
        if entry.read_at < now - OLDEST:
            self.drop(entry)
            return None
        entry.was_used = True
        return entry

    def fields_of(self, key: Key[Any]) -> Projection | None:
        """Returns the fields that are kept of a record."""
        entry = self._entries.get(key)
        return entry.fields if entry else None

    def keep_record(self, key: Key[Any], record: Any, fields: Projection, read_at: float) -> None:
        """Keeps a record, or that there is none, unless one with more fields is kept."""
        before = self._entries.get(key)
        if before is None or before.fields is None or fields.has(before.fields):
            self._keep(Entry(key, record, read_at, fields))

    def keep_page(self, name: PageName, page: Page[Any], read_at: float, changed: Iterable[Key[Any]] = ()) -> None:
        entry = Entry(name, page, read_at, None)
        entry.changed = dict.fromkeys(changed, read_at)
        if len(entry.changed) <= MOST_CHANGED:
            self._keep(entry)

    def corrected(self, entry: Entry, before: Sequence[Any]) -> None:
        """Keeps a page that was corrected: it has other records than `before`, and perhaps another window."""
        self.corrections += 1
        if self._entries.get(entry.name) is entry:
            self._watching.watch(entry, entry.read_set())
            # Only what is new is measured: most records are as they were.
            added = _others(entry.answer.records, before)
            removed = _others(before, entry.answer.records)
            grown = size_of(added) - size_of(removed)
            if entry.name.read.within.index_name is not None:
                grown += PLACE_BYTES * (len(added) - len(removed))
            entry.bytes += grown
            self.bytes += grown
            self._make_room()

    def drop(self, entry: Entry) -> None:
        if self._entries.get(entry.name) is entry:
            del self._entries[entry.name]
            self._watching.unwatch(entry)
            self.bytes -= entry.bytes

    def clear(self) -> None:
        self._entries.clear()
        self._watching = Watching()
        self.bytes = 0

    def change(self, change: Change, at: float) -> None:
        """Drops or marks everything that a change concerns."""
        for entry in self._watching.concerned(change):
            self.invalidations += 1
            read = None if entry.fields is not None else entry.name.read
            if not isinstance(read, RangeRead):
                self.drop(entry)
            elif may_hold(read.within, change.key):
                entry.changed[change.key] = at
                if len(entry.changed) > MOST_CHANGED:
                    self.drop(entry)

    def _keep(self, entry: Entry) -> None:
        before = self._entries.get(entry.name)
        if before is not None:
            self.drop(before)
        read_set = entry.read_set()
        if entry.measure(read_set) > self.most_bytes // LARGEST_SHARE:
            return
        self._watching.watch(entry, read_set)
        self._entries[entry.name] = entry
        self.bytes += entry.bytes
        self._make_room()

    def _make_room(self) -> None:
        while self.bytes > self.most_bytes:
            self._evict_one()

    def _evict_one(self) -> None:
        name, entry = next(iter(self._entries.items()))
        if entry.was_used:
            entry.was_used = False
            self._entries.move_to_end(name)
        else:
            self.evictions += 1
            self.drop(entry)


def _others(records: Sequence[Any], known: Sequence[Any]) -> list[Any]:
    """Returns the records that are not among the known ones. They are never changed, so identity tells."""
    ids = {id(record) for record in known}
    return [record for record in records if id(record) not in ids]


def _index_keys(read: RangeRead, record: Any) -> dict[str, tuple[str, str]]:
    """Returns the keys of a record in the index of a range: those of the latest record, not of its changes."""
    name = read.within.index_name
    if name is None or record is None:
        return {}
    index = record.indexes.get(name)
    if index is None or any(record.__dict__[hole] is None for hole in index.holes):
        return {}
    return {name: (index.pk.fill(record.__dict__), index.sk.fill(record.__dict__))}
