"""One request's reading: everything is read once, in as few calls as can be."""

import asyncio
from collections.abc import AsyncIterator, Hashable, Iterable, Sequence
from functools import cached_property
from operator import attrgetter
from typing import Any, TypeVar, cast

from aiodataloader import DataLoader

from datastore.client.errors import DatastoreError
from datastore.client.table import KeysRead, Page, Position, RangeRead, Table
from datastore.client.writes import Check, Delete, Put, Write
from datastore.model.entity import Entity
from datastore.model.keys import Key, Range
from loaders.levels import Level
from loaders.needs import Items, Once, Pages, Step, Together
from loaders.viewer import Viewer
from loaders.visibility import seen_at

E = TypeVar("E", bound=Entity)
T = TypeVar("T")

PageRead = RangeRead | KeysRead

_entity = attrgetter("entity")


class Loaders:
    """Two dataloaders, items and ranges, serve every entity; what was read is kept for the request.

    Made per request. The dataloaders take the event loop as they are built, and a request that only walks through its
    query's plan needs none.
    """

    def __init__(self, table: Table, viewer: Viewer, *, consistent: bool = False) -> None:
        self.table = table
        self.viewer = viewer
        self._items: dict[Key[Any], Any] = {}
        # What lists brought, by entity, until somebody asks for one of these by its key; and what they brought without
        # its heavy fields.
        self._listed: dict[type[Entity], list[Entity]] = {}
        self._lean: dict[Key[Any], Entity] = {}
        self._pages: dict[PageRead, Page[Any]] = {}
        # What steps that are taken once came to, and the tasks that take them.
        self.taken: dict[Hashable, Any] = {}
        self._taking: dict[Hashable, asyncio.Future[Any]] = {}
        # After a write of our own, only a consistent read is sure to show it.
        self._consistent = consistent

    @cached_property
    def _item_loader(self) -> DataLoader[Key[Any], Entity | None]:
        return DataLoader(self._load_items)

    @cached_property
    def _page_loader(self) -> DataLoader[PageRead, Page[Any]]:
        return DataLoader(self._load_pages)

    @cached_property
    def _level(self) -> Level:
        return Level(self._answers_at)

    async def one(self, key: Key[E]) -> E | None:
        """The record, if it is there and the viewer may see it."""
        (record,) = await self.alone(seen_at([key], self.viewer))
        return cast(E | None, record)

    async def stored(self, key: Key[E]) -> E | None:
        """The record whoever asks: for commands, which decide on it."""
        kept = self.kept_items([key])
        # Shielded, here and below: whoever is cancelled must not take a read away from the others who wait for it.
        return cast(E | None, kept[0] if kept else await asyncio.shield(self._item_loader.load(key)))

    async def fresh(self, *keys: Key[E]) -> list[E | None]:
        """The latest records, straight from the table, for decisions; what is kept learns of them."""
        found = self._kept(await self.table.get_many(keys, consistent=True))
        _raise_first(found.values())
        return [cast(E | None, found[key]) for key in keys]

    async def page(
        self, within: Range[E], limit: int, after: Position | None = None, *, backward: bool = False
    ) -> Page[E]:
        """One page as it is stored; `loaders.pages` makes honest pages of it."""
        return await self._page(RangeRead(within, limit, after, backward))

    async def _page(self, read: PageRead) -> Page[Any]:
        if read in self._pages:
            return self._pages[read]
        with self._level.range_being_read():
            return await asyncio.shield(self._page_loader.load(read))

    async def pages(self, within: Range[E], size: int) -> AsyncIterator[Sequence[E]]:
        """A range as it is stored, a page at a time."""
        page = await self.page(within, size)
        yield page.records
        while page.more:
            page = await self.page(within, size, page.more)
            yield page.records

    async def alone(self, step: Step[T]) -> T:
        """Run one step; the dataloaders bring its needs together with those of tasks that run at the same time."""
        answer: Any = None
        while True:
            try:
                need = step.send(answer)
            except StopIteration as stop:
                return cast(T, stop.value)
            match need:
                case Items(keys, judged):
                    kept = [self._lean.get(key) if key and key not in self._items else None for key in judged]
                    wanted = [*keys, *(None if lean else key for key, lean in zip(judged, kept, strict=True))]
                    found = iter(await asyncio.gather(*(self.stored(key) for key in wanted if key is not None)))
                    answer = [None if key is None else next(found) for key in wanted]
                    for place, lean in enumerate(kept, len(keys)):
                        answer[place] = lean or answer[place]
                case Pages(reads):
                    answer = await asyncio.gather(*map(self._page, reads))
                case Together(steps):
                    answer = await asyncio.gather(*map(self.alone, steps))
                case Once():
                    answer = await self._taken(need)

    async def _taken(self, need: Once) -> Any:
        if need.name not in self.taken:
            if need.name not in self._taking:
                self._taking[need.name] = asyncio.ensure_future(self.alone(need.step()))
            try:
                self.taken[need.name] = await asyncio.shield(self._taking[need.name])
            finally:
                self._taking.pop(need.name, None)
        return self.taken[need.name]

    def kept(self, need: Items) -> list[Any] | None:
        """The records that are needed, if all of them have been read."""
        found = self.kept_items(need.keys)
        if found is None or not need.judged:
            return found
        leanly = [self._lean.get(key) if key else None for key in need.judged]
        rest = self.kept_items([None if lean else key for key, lean in zip(need.judged, leanly, strict=True)])
        return None if rest is None else found + [lean or record for lean, record in zip(leanly, rest, strict=True)]

    def unread(self, need: Items) -> list[Key[Any] | None]:
        """The keys of what is needed, but for what need not be read to be judged."""
        return [*need.keys, *(key for key in need.judged if key not in self._lean)]

    def kept_items(self, keys: Sequence[Key[Any] | None]) -> list[Any] | None:
        """The records at these keys, if all of them have been read."""
        items = self._items
        try:
            return [None if key is None else items[key] for key in keys]
        except KeyError:
            asked = [key for key in keys if key is not None]
            return self.kept_items(keys) if self._take_listed(asked) else None

    def _take_listed(self, keys: Iterable[Key[Any]]) -> bool:
        """Make what lists brought known by its keys; False if there is nothing of the kind that is asked for."""
        entities = self._listed.keys() & set(map(_entity, keys)) if self._listed else ()
        for entity in entities:
            for record in self._listed.pop(entity):
                self._items.setdefault(record.own_key, record)
        return bool(entities)

    def kept_pages(self, reads: Iterable[PageRead]) -> list[Page[Any]] | None:
        """These pages, if all of them have been read."""
        pages = self._pages
        try:
            return [pages[read] for read in reads]
        except KeyError:
            return None

    async def read_items(self, keys: Sequence[Key[Any] | None]) -> None:
        """Read and keep what was not read yet. All that can be read is kept, even if something cannot."""
        asked = [key for key in keys if key is not None]
        self._take_listed(asked)
        missing = [key for key in asked if key not in self._items]
        _raise_first((await self._answers_at(missing)).values())

    async def read_pages(self, reads: Iterable[PageRead]) -> None:
        """The same for pages."""
        missing = [read for read in reads if read not in self._pages]
        _raise_first((await self._pages_at(missing)).values())

    async def write(self, *writes: Write) -> None:
        """All or nothing, after which this request reads its own writes."""
        stale: Sequence[Write] = writes
        try:
            await self.table.write(*writes)
            # What was only checked is as it was read.
            stale = [write for write in writes if not isinstance(write, Check)]
        finally:
            self._consistent = True
            self._pages.clear()
            self._lean.clear()
            self.taken.clear()
            self._take_listed([write.key for write in stale])
            self._page_loader.clear_all()
            for write in stale:
                self._items.pop(write.key, None)
                self._item_loader.clear(write.key)
        for write in writes:
            if isinstance(write, Put):
                self._items[write.key] = write.record
            elif isinstance(write, Delete):
                self._items[write.key] = None

    async def _load_items(self, keys: list[Key[Any]]) -> list[Any]:
        """In the order of the keys; an error in the place of each key whose batch failed, and only of those."""
        answers = await self._level.items(keys)
        for key in keys:
            self._item_loader.clear(key)
        return [answers[key] for key in keys]

    async def _load_pages(self, reads: list[PageRead]) -> list[Any]:
        answers = await self._pages_at(reads)
        for read in reads:
            self._page_loader.clear(read)
        return [answers[read] for read in reads]

    async def _answers_at(self, keys: list[Key[Any]]) -> dict[Key[Any], Any]:
        return self._kept(await self.table.get_many(keys, consistent=self._consistent))

    def _kept(self, found: dict[Key[Any], Any]) -> dict[Key[Any], Any]:
        for key, record in found.items():
            if not isinstance(record, DatastoreError):
                self._items[key] = record
        return found

    async def _pages_at(self, reads: Sequence[PageRead]) -> dict[PageRead, Any]:
        by_keys = [read for read in reads if isinstance(read, KeysRead)]
        ranges = [read for read in reads if isinstance(read, RangeRead)]
        queried = await self.table.query_many(ranges, consistent=self._consistent) if ranges else {}
        found: dict[Any, Any] = {**queried, **(await self._pages_by_keys(by_keys) if by_keys else {})}
        for read, page in found.items():
            if not isinstance(page, DatastoreError):
                self._pages[read] = page
                if isinstance(read, RangeRead):
                    self._remember(read.within, page)
        return found

    async def _pages_by_keys(self, reads: Sequence[KeysRead]) -> dict[KeysRead, Any]:
        """The keys of all these pages together."""
        keys = [key for read in reads for key in read.keys]
        answers = await self.table.get_many(keys, consistent=self._consistent, lean=True)
        # These are known to be there: what is not has not arrived where it was looked for.
        late = [key for key, answer in answers.items() if answer is None]
        if late and not self._consistent:
            answers |= await self.table.get_many(late, consistent=True, lean=True)
        pages: dict[KeysRead, Any] = {}
        for read in reads:
            records = [answers[key] for key in read.keys if answers[key] is not None]
            failed = [record for record in records if isinstance(record, DatastoreError)]
            pages[read] = failed[0] if failed else Page(cast(list[Entity], records), None)
        return pages

    def _remember(self, within: Range[Any], page: Page[Any]) -> None:
        """What a list leaves out is asked for by key. An index lags behind; after a write of our own it must not bring
        the old state back."""
        if self._consistent and within.index_name:
            return
        if within.entity.has_heavy_fields:
            self._lean.update((record.own_key, record) for record in page.records)
        else:
            self._listed.setdefault(within.entity, []).extend(page.records)


def _raise_first(answers: Iterable[Any]) -> None:
    for answer in answers:
        if isinstance(answer, DatastoreError):
            raise answer
