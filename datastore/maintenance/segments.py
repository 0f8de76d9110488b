"""Reads the whole table in parallel segments: rate-limited, resumable, with one page per segment in memory.

Only maintenance may do this. No request can: nothing but datastore.maintenance imports this module.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson
from msgspec import Raw

from datastore.client.budget import Usage
from datastore.client.table import Table
from datastore.maintenance.read_rate import ReadRate
from datastore.model.codec import Item
from datastore.model.responses import Listed

SEGMENTS = 4
MOST_SEGMENTS = 1_000
# Maintenance waits for a table that is busy, where a request would fail.
TIME_FOR_A_PAGE = 300.0
# About a megabyte, which is the most that DynamoDB sends. Without a limit, the local engine would read the whole rest
# of the table for each page.
PAGE_ITEMS = 1_000
# Of an item, until a page says more.
UNITS_EXPECTED = 0.5
# Pages are this short in seconds of the allowed rate, so that requests never wait for a burst.
SECONDS_OF_A_PAGE = 1.0


class ScannedPage(NamedTuple):
    """Some items of a segment, as DynamoDB sent them: `orjson.loads(item)` makes an Item of one."""

    segment: int
    items: list[Raw]
    read_units: float


@dataclass
class Positions:
    """The position of each segment. To resume a scan, store them: `as_json` and `from_json`."""

    segments: int = SEGMENTS
    after: dict[int, dict[str, Any]] = field(default_factory=dict)
    """Last key that was handled, by segments that are under way."""
    ended: set[int] = field(default_factory=set)
    items: int = 0
    read_units: float = 0.0

    @property
    def is_at_the_end(self) -> bool:
        return len(self.ended) == self.segments

    def as_json(self) -> dict[str, Any]:
        return {
            "segments": self.segments,
            "after": {str(segment): key for segment, key in self.after.items()},
            "ended": sorted(self.ended),
            "items": self.items,
            "readUnits": self.read_units,
        }

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Positions":
        after = {int(segment): key for segment, key in stored["after"].items()}
        return cls(stored["segments"], after, set(stored["ended"]), stored["items"], stored["readUnits"])


class MaintenanceScan:
    """Reads every item once, from `positions` on. An item that is written meanwhile may be read as before or after.

    await MaintenanceScan(table, Positions(segments=8), ReadRate(100)).run(handle)

    `handle` is awaited for each page, for one page of each segment at a time. When it returns, the page is done: the
    positions are moved behind it. If it raises, the scan ends with that error, and a new one can go on.
    """

    def __init__(
        self,
        table: Table,
        positions: Positions | None = None,
        rate: ReadRate | None = None,
        *,
        consistent: bool = False,
        page_items: int = PAGE_ITEMS,
    ) -> None:
        self.positions = positions or Positions()
        if not 1 <= self.positions.segments <= MOST_SEGMENTS:
            raise ValueError(f"the number of segments must be 1 to {MOST_SEGMENTS}")
        self._table = table
        self._rate = rate or ReadRate(None)
        self._consistent = consistent
        self._page_items = page_items
        self._units_of_an_item = UNITS_EXPECTED * (2 if consistent else 1)

    async def run(
        self, handle: Callable[[ScannedPage], Awaitable[None]], moved: Callable[[int], None] = lambda _: None
    ) -> Positions:
        """Reads to the end. Returns the positions, which count the items and the read units.

        `moved` is called with the number of a segment as soon as its position has moved behind a handled page.
        """
        left = [segment for segment in range(self.positions.segments) if segment not in self.positions.ended]
        tasks = [asyncio.create_task(self._read(segment, handle, moved)) for segment in left]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return self.positions

    async def _read(
        self, segment: int, handle: Callable[[ScannedPage], Awaitable[None]], moved: Callable[[int], None]
    ) -> None:
        positions = self.positions
        while segment not in positions.ended:
            page, last = await self._page(segment, positions.after.get(segment))
            await handle(page)
            # Without a pause in between: positions never say that half of a page is done.
            positions.items += len(page.items)
            positions.read_units += page.read_units
            if last is None:
                positions.ended.add(segment)
                positions.after.pop(segment, None)
            else:
                positions.after[segment] = last
            moved(segment)

    async def _page(self, segment: int, after: dict[str, Any] | None) -> tuple[ScannedPage, dict[str, Any] | None]:
        limit = self._limit()
        expected = self._units_of_an_item * limit
        await self._rate.take(expected)
        usage = Usage.lasting(TIME_FOR_A_PAGE, is_patient=True)
        request: dict[str, Any] = {
            "TableName": self._table.name,
            "ConsistentRead": self._consistent,
            "ReturnConsumedCapacity": "TOTAL",
            "Limit": limit,
        }
        # The local engine takes longer for one segment than for the same without segments.
        if self.positions.segments > 1:
            request |= {"Segment": segment, "TotalSegments": self.positions.segments}
        if after:
            request["ExclusiveStartKey"] = after
        answer: Listed = await self._table.transport.call("Scan", request, usage)
        self._table.usage.calls.update(usage.calls)
        self._table.usage.read_units += usage.read_units
        self._rate.correct(usage.read_units - expected)
        if answer.Items:
            self._units_of_an_item = max(usage.read_units / len(answer.Items), 0.01)
        return ScannedPage(segment, answer.Items, usage.read_units), answer.LastEvaluatedKey

    def _limit(self) -> int:
        """Returns the number of items of a page."""
        if self._rate.per_second is None:
            return self._page_items
        return max(1, min(self._page_items, int(self._rate.per_second * SECONDS_OF_A_PAGE / self._units_of_an_item)))


async def every_item(table: Table) -> AsyncIterator[Item]:
    """Yields every item, in memory all at once: for tests and benchmarks of small tables."""
    found: list[Item] = []

    async def take(page: ScannedPage) -> None:
        found.extend(orjson.loads(memoryview(item)) for item in page.items)

    await MaintenanceScan(table, Positions(segments=1), consistent=True).run(take)
    for item in found:
        yield item
