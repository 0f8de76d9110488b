"""Reads and writes of one request: everything is read once, in as few calls as possible."""

from collections.abc import AsyncIterator, Sequence
from typing import TypeVar, cast

from datastore.client.table import Page, Position, RangeRead, Table
from datastore.client.writes import Write
from datastore.model.entity import Entity
from datastore.model.keys import Key, Range
from loaders.needs import Items, Latest, Pages, Step, needed
from loaders.scheduler import Scheduler
from loaders.viewer import Viewer
from loaders.visibility import seen_at

E = TypeVar("E", bound=Entity)
T = TypeVar("T")


class Loaders:
    """Reads for one viewer, through one scheduler."""

    def __init__(self, table: Table, viewer: Viewer, *, consistent: bool = False) -> None:
        self.table = table
        self.viewer = viewer
        self.scheduler = Scheduler(table, consistent=consistent)

    async def one(self, key: Key[E]) -> E | None:
        """Returns the record if it exists and the viewer may see it."""
        (record,) = await self.run(seen_at([key], self.viewer))
        return cast(E | None, record)

    async def stored(self, key: Key[E]) -> E | None:
        """Returns the record regardless of visibility: commands base decisions on it."""
        (record,) = await self.run(needed(Items([key])))
        return cast(E | None, record)

    async def fresh(self, *keys: Key[E]) -> list[E | None]:
        """Strongly consistent read; refreshes what the request has kept."""
        return cast(list[E | None], await self.run(needed(Latest(keys))))

    async def page(
        self, within: Range[E], limit: int, after: Position | None = None, *, backward: bool = False
    ) -> Page[E]:
        """Returns one page as it is stored; `loaders.pages` leaves out what the viewer may not see."""
        (page,) = await self.run(needed(Pages([RangeRead(within, limit, after, backward)])))
        return cast(Page[E], page)

    async def pages(self, within: Range[E], size: int) -> AsyncIterator[Sequence[E]]:
        """Yields a whole range as it is stored, page by page."""
        page = await self.page(within, size)
        yield page.records
        while page.more:
            page = await self.page(within, size, page.more)
            yield page.records

    async def run(self, step: Step[T]) -> T:
        """Runs a step. Steps that run at the same time are read for together."""
        return await self.scheduler.run(step)

    async def write(self, *writes: Write) -> None:
        """Writes all or nothing. From then on this request reads its own writes."""
        applied = False
        try:
            await self.table.write(*writes)
            applied = True
        finally:
            self.scheduler.wrote(writes, applied=applied)
