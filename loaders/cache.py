"""Keeps what one request has read, so that nothing is read twice."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from datastore.client.errors import CorruptItem
from datastore.client.table import Page, RangeRead
from datastore.client.writes import Delete, Put, Write
from datastore.model.entity import Entity
from datastore.model.keys import Key, Range
from loaders.needs import Items, PageRead, Pages


class Cache:
    """Records by key, pages by read, and the results of steps that run once."""

    def __init__(self) -> None:
        self._items: dict[Key[Any], Any] = {}
        # Records of lists, by entity, until one of that entity is needed by its key; most never are.
        self._listed: dict[type[Entity], list[Entity]] = {}
        # Records of lists that lack their heavy fields.
        self._lean: dict[Key[Any], Entity] = {}
        self._pages: dict[PageRead, Page[Any]] = {}
        self._has_damage = False
        self.once: dict[Hashable, Any] = {}

    def items(self, need: Items) -> list[Any] | None:
        """Returns the records, or None unless all of them are known and can be used."""
        if self._has_damage and self.damage_of(need):
            return None
        if not need.judged:
            return self._records(need.keys)
        if not self._lean:
            return self._records([*need.keys, *need.judged])
        lean = [self._lean.get(key) if key else None for key in need.judged]
        known = [None if judged else key for key, judged in zip(need.judged, lean, strict=True)]
        found = self._records([*need.keys, *known])
        if found is None:
            return None
        own = len(need.keys)
        return found[:own] + [judged or record for judged, record in zip(lean, found[own:], strict=True)]

    def unknown_keys(self, need: Items) -> list[Key[Any]]:
        """Returns the keys whose records have to be read."""
        keys = need.keys
        if need.judged:
            keys = [*keys, *(key for key in need.judged if key not in self._lean)]
        self._take_listed(keys)
        items = self._items
        return [key for key in keys if key is not None and key not in items]

    def pages(self, need: Pages) -> list[Page[Any]] | None:
        """Returns the pages, or None unless all of them are known."""
        pages = self._pages
        try:
            return [pages[read] for read in need.reads]
        except KeyError:
            return None

    def unknown_pages(self, need: Pages) -> list[PageRead]:
        """Returns the pages that have to be read."""
        return [read for read in need.reads if read not in self._pages]

    def damage_of(self, need: Items) -> CorruptItem | None:
        """Returns the error of a known damaged record, if that fails the need."""
        if need.or_damage:
            return None
        known = (self._items.get(key) for key in (*need.keys, *need.judged) if key is not None)
        return next((record for record in known if record.__class__ is CorruptItem), None)

    def keep_items(self, found: Mapping[Key[Any], Any]) -> None:
        """Keeps records, and the errors of damaged ones: reading them again would not help."""
        self._items.update(found)
        self._has_damage = self._has_damage or CorruptItem in set(map(type, found.values()))

    def keep_page(self, read: PageRead, page: Page[Any], *, after_write: bool) -> None:
        """Keeps a page. Its records are kept too, except `after_write` from an index: that may lag behind the write."""
        self._pages[read] = page
        if isinstance(read, RangeRead) and not (after_write and read.within.index_name):
            self._keep_records(read.within, page.records)

    def forget(self, keys: Sequence[Key[Any]]) -> None:
        """Forgets these records, and all pages and results, which may depend on them."""
        self._pages.clear()
        self._lean.clear()
        self.once.clear()
        self._take_listed(keys)
        for key in keys:
            self._items.pop(key, None)

    def apply(self, writes: Sequence[Write]) -> None:
        """Keeps the records that were put or deleted."""
        for write in writes:
            if isinstance(write, Put):
                self._items[write.key] = write.record
            elif isinstance(write, Delete):
                self._items[write.key] = None

    def _records(self, keys: Sequence[Key[Any] | None]) -> list[Any] | None:
        items = self._items
        try:
            return [None if key is None else items[key] for key in keys]
        except KeyError:
            return self._records(keys) if self._take_listed(keys) else None

    def _take_listed(self, keys: Sequence[Key[Any] | None]) -> bool:
        """Makes listed records known by their keys. Returns False if there are none of these entities."""
        entities = self._listed.keys() & {key.entity for key in keys if key is not None} if self._listed else ()
        for entity in entities:
            for record in self._listed.pop(entity):
                self._items.setdefault(record.own_key, record)
        return bool(entities)

    def _keep_records(self, within: Range[Any], records: Sequence[Any]) -> None:
        if within.entity.has_heavy_fields:
            self._lean.update((record.own_key, record) for record in records)
        else:
            self._listed.setdefault(within.entity, []).extend(records)
