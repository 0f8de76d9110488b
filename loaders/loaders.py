"""Two dataloaders, items and ranges, serve every entity."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar, cast

from aiodataloader import DataLoader

from datastore.entity import Entity
from datastore.errors import DatastoreError
from datastore.keys import Key, Range
from datastore.table import Page, Position, Table
from datastore.writes import Delete, Put, Write
from loaders.levels import Level
from loaders.viewer import Viewer
from loaders.visibility import verdict, visible

E = TypeVar("E", bound=Entity)

WHOLE_PAGE = 1_000
FEW = 5


class RangeRead(NamedTuple):
    """One page of a range: what the range loader takes as a key."""

    within: Range[Any]
    limit: int
    after: Position | None = None
    backward: bool = False


class Total(NamedTuple):
    """A count that several items share: a number, and what a field of other items adds to it."""

    base: int
    shares: tuple[Key[Any], ...]
    field: str


class Loaders:
    """Made per request, on its event loop: the dataloaders take the loop as they are built."""

    def __init__(self, table: Table, viewer: Viewer, *, consistent: bool = False) -> None:
        self.table = table
        self.viewer = viewer
        self._items: DataLoader[Key[Any], Entity | None] = DataLoader(self._read_items)
        self._ranges: DataLoader[RangeRead, Page[Any]] = DataLoader(self._read_ranges)
        self._level = Level(self._read_together)
        # After a write of our own, only a consistent read is sure to show it.
        self._consistent = consistent

    async def one(self, key: Key[E]) -> E | None:
        """The record, if it is there and the viewer may see it. What may not be seen looks like what is not there."""
        record = await self.stored(key)
        return record if record is not None and await visible(record, self.viewer, self) else None

    async def stored(self, key: Key[E]) -> E | None:
        """The record whoever asks: for rules and commands, which decide on it."""
        return cast(E | None, await self._items.load(key))

    async def many(self, keys: Iterable[Key[E]]) -> list[E | None]:
        """What `one` gives for each of the keys, in their order."""
        return await asyncio.gather(*map(self.one, keys))

    async def total(self, total: Total) -> int:
        shares = await asyncio.gather(*map(self.stored, total.shares))
        return total.base + sum(int(getattr(share, total.field)) for share in shares if share is not None)

    async def fresh(self, *keys: Key[E]) -> list[E | None]:
        """The latest records, straight from the table, for decisions; the cache learns of them."""
        found = await self.table.get_many(keys, consistent=True)
        for key, record in found.items():
            if isinstance(record, DatastoreError):
                raise record
            self._items.clear(key)
            self._items.prime(key, record)
        return [cast(E | None, found[key]) for key in keys]

    async def page(
        self, within: Range[E], limit: int, after: Position | None = None, *, backward: bool = False
    ) -> Page[E]:
        """One page as it is stored; `loaders.pages` makes honest pages of it."""
        with self._level.range_being_read():
            return await self._ranges.load(RangeRead(within, limit, after, backward))

    async def whole(self, within: Range[E]) -> list[E]:
        """Everything in a range, as it is stored: for ranges that are known to be small."""
        return [record async for records in self.pages(within, WHOLE_PAGE) for record in records]

    async def pages(self, within: Range[E], size: int) -> AsyncIterator[Sequence[E]]:
        """A range as it is stored, a page at a time."""
        page = await self.page(within, size)
        yield page.records
        while page.more:
            page = await self.page(within, size, page.more)
            yield page.records

    async def first(self, within: Range[E]) -> E | None:
        """The first visible record of a short range: an index that leads to one record, or to an expired one too."""
        found = await self.only_visible((await self.page(within, FEW)).records)
        return found[0] if found else None

    async def only_visible(self, records: Iterable[E]) -> list[E]:
        # Most rules answer at once: no task is made for those.
        verdicts = [(record, verdict(record, self.viewer, self)) for record in records]
        open_verdicts = [answer for _, answer in verdicts if not isinstance(answer, bool)]
        answers = iter(await asyncio.gather(*open_verdicts)) if open_verdicts else iter(())
        return [record for record, answer in verdicts if (answer if isinstance(answer, bool) else next(answers))]

    async def write(self, *writes: Write) -> None:
        """All or nothing, after which this request reads its own writes."""
        try:
            await self.table.write(*writes)
        finally:
            self._consistent = True
            self._ranges.clear_all()
            for write in writes:
                self._items.clear(write.key)
        for write in writes:
            if isinstance(write, Put):
                self._items.prime(write.key, write.record)
            elif isinstance(write, Delete):
                self._items.prime(write.key, None)

    async def _read_items(self, keys: list[Key[Any]]) -> list[Any]:
        """In the order of the keys; an error in the place of each key whose batch failed, and only of those."""
        answers = await self._level.items(keys)
        for key in keys:
            if isinstance(answers[key], DatastoreError):
                self._items.clear(key)
        return [answers[key] for key in keys]

    async def _read_together(self, keys: list[Key[Any]]) -> dict[Key[Any], Any]:
        return await self.table.get_many(keys, consistent=self._consistent)

    async def _read_ranges(self, reads: list[RangeRead]) -> list[Any]:
        pages = await asyncio.gather(*map(self._read_range, reads), return_exceptions=True)
        for read, page in zip(reads, pages, strict=True):
            if isinstance(page, BaseException):
                self._ranges.clear(read)
        return pages

    async def _read_range(self, read: RangeRead) -> Page[Any]:
        page = await self.table.query(
            read.within, limit=read.limit, after=read.after, backward=read.backward, consistent=self._consistent
        )
        # An index lags behind; after a write of our own it must not bring the old state back.
        if not (self._consistent and read.within.index_name):
            for record in page.records:
                if not record.is_lean:
                    self._items.prime(record.own_key, record)
        return page
