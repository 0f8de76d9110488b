"""One request's reading: everything is read once, in as few calls as can be."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any, TypeVar, cast

from aiodataloader import DataLoader

from datastore.entity import Entity
from datastore.errors import DatastoreError
from datastore.keys import Key, Range
from datastore.table import Page, Position, Table
from datastore.writes import Delete, Put, Write
from loaders.levels import Level
from loaders.steps import Items, RangeRead, Step, Together
from loaders.viewer import Viewer
from loaders.visibility import seen_at

E = TypeVar("E", bound=Entity)
T = TypeVar("T")


class Loaders:
    """Two dataloaders, items and ranges, serve every entity; what they have read is kept for the request.

    Made per request, on its event loop: the dataloaders take the loop as they are built.
    """

    def __init__(self, table: Table, viewer: Viewer, *, consistent: bool = False) -> None:
        self.table = table
        self.viewer = viewer
        self._items: dict[Key[Any], Any] = {}
        self._pages: dict[RangeRead, Page[Any]] = {}
        self._item_loader: DataLoader[Key[Any], Entity | None] = DataLoader(self._load_items)
        self._page_loader: DataLoader[RangeRead, Page[Any]] = DataLoader(self._load_pages)
        self._level = Level(self._answers_at)
        # After a write of our own, only a consistent read is sure to show it.
        self._consistent = consistent

    async def one(self, key: Key[E]) -> E | None:
        """The record, if it is there and the viewer may see it."""
        (record,) = await self.alone(seen_at([key], self.viewer))
        return cast(E | None, record)

    async def stored(self, key: Key[E]) -> E | None:
        """The record whoever asks: for commands, which decide on it."""
        return cast(E | None, self._items[key] if key in self._items else await self._item_loader.load(key))

    async def fresh(self, *keys: Key[E]) -> list[E | None]:
        """The latest records, straight from the table, for decisions; what is kept learns of them."""
        found = await self.table.get_many(keys, consistent=True)
        self._keep(found)
        return [cast(E | None, found[key]) for key in keys]

    async def page(
        self, within: Range[E], limit: int, after: Position | None = None, *, backward: bool = False
    ) -> Page[E]:
        """One page as it is stored; `loaders.pages` makes honest pages of it."""
        read = RangeRead(within, limit, after, backward)
        if read in self._pages:
            return self._pages[read]
        with self._level.range_being_read():
            return await self._page_loader.load(read)

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
                case Items(keys):
                    found = iter(await asyncio.gather(*(self.stored(key) for key in keys if key is not None)))
                    answer = [None if key is None else next(found) for key in keys]
                case RangeRead():
                    answer = await self.page(*need[:3], backward=need.backward)
                case Together(steps):
                    answer = await asyncio.gather(*map(self.alone, steps))

    def kept_items(self, keys: Iterable[Key[Any] | None]) -> list[Any] | None:
        """The records at these keys, if all of them have been read."""
        items = self._items
        try:
            return [None if key is None else items[key] for key in keys]
        except KeyError:
            return None

    def kept_page(self, read: RangeRead) -> Page[Any] | None:
        return self._pages.get(read)

    async def read_items(self, keys: Iterable[Key[Any] | None]) -> None:
        """Read and keep what was not read yet."""
        missing = [key for key in keys if key is not None and key not in self._items]
        self._keep(await self.table.get_many(missing, consistent=self._consistent))

    async def read_pages(self, reads: Iterable[RangeRead]) -> None:
        """Read and keep these pages, at the same time; all that can be read is kept, even if one cannot."""
        missing = [read for read in dict.fromkeys(reads) if read not in self._pages]
        if len(missing) == 1:
            await self._read_page(missing[0])
            return
        for failure in await asyncio.gather(*map(self._read_page, missing), return_exceptions=True):
            if isinstance(failure, BaseException):
                raise failure

    async def write(self, *writes: Write) -> None:
        """All or nothing, after which this request reads its own writes."""
        try:
            await self.table.write(*writes)
        finally:
            self._consistent = True
            self._pages.clear()
            self._page_loader.clear_all()
            for write in writes:
                self._items.pop(write.key, None)
                self._item_loader.clear(write.key)
        for write in writes:
            if isinstance(write, Put):
                self._items[write.key] = write.record
            elif isinstance(write, Delete):
                self._items[write.key] = None

    def _keep(self, found: dict[Key[Any], Any]) -> None:
        failure = None
        for key, record in found.items():
            if isinstance(record, DatastoreError):
                failure = record
            else:
                self._items[key] = record
        if failure is not None:
            raise failure

    async def _load_items(self, keys: list[Key[Any]]) -> list[Any]:
        """In the order of the keys; an error in the place of each key whose batch failed, and only of those."""
        answers = await self._level.items(keys)
        for key in keys:
            self._item_loader.clear(key)
        return [answers[key] for key in keys]

    async def _answers_at(self, keys: list[Key[Any]]) -> dict[Key[Any], Any]:
        found = await self.table.get_many(keys, consistent=self._consistent)
        for key, record in found.items():
            if not isinstance(record, DatastoreError):
                self._items[key] = record
        return found

    async def _load_pages(self, reads: list[RangeRead]) -> list[Any]:
        pages = await asyncio.gather(*map(self._read_page, reads), return_exceptions=True)
        for read in reads:
            self._page_loader.clear(read)
        return pages

    async def _read_page(self, read: RangeRead) -> Page[Any]:
        page = await self.table.query(
            read.within, limit=read.limit, after=read.after, backward=read.backward, consistent=self._consistent
        )
        self._pages[read] = page
        # What a list leaves out is asked for by key. An index lags behind; after a write of our own it must not bring
        # the old state back.
        if read.within.entity.projection is None and not (self._consistent and read.within.index_name):
            for record in page.records:
                self._items.setdefault(record.own_key, record)
        return page
