"""Builds an index from the table by Queries: ranges that are declared, and ranges under the records in them."""

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from datastore.client.table import Table
from datastore.model.entity import Entity
from datastore.model.keys import Key, Range
from resolvers.core.options import Options
from resolvers.search.documents import SEARCHABLE, Searchable
from resolvers.search.engine import Generation
from resolvers.search.refreshing import pages, refresh

# Ranges that are read at a time: most of those under a record are empty.
AT_ONCE = 8
COMMIT_EVERY = 5.0


@dataclass
class Rebuild:
    """The progress of a rebuild."""

    started_at: float = field(default_factory=time.time)
    by_type: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    """Records that have been looked at, by type."""


async def rebuild(table: Table, generation: Generation, options: Options, progress: Rebuild) -> None:
    """Fills a generation. Commits it now and then, so that it can be used before it is complete."""
    committed_at = time.monotonic()
    async for keys in every_record(table, options):
        await refresh(table, generation, keys, spread=False)
        for key in keys:
            progress.by_type[key.entity.__name__] += 1
        if time.monotonic() - committed_at > COMMIT_EVERY:
            await generation.commit(None)
            committed_at = time.monotonic()


async def every_record(table: Table, options: Options) -> AsyncIterator[list[Key[Any]]]:
    """Yields the keys of all records that may have a document."""
    under: dict[type[Entity], list[Searchable]] = defaultdict(list)
    for declared in SEARCHABLE.values():
        if declared.under:
            under[declared.under.entity].append(declared)
    waiting: list[Range[Any]] = [within for declared in SEARCHABLE.values() for within in declared.roots(options)]
    while waiting:
        some, waiting = waiting[:AT_ONCE], waiting[AT_ONCE:]
        reading = [pages(table, within) for within in some]
        firsts = await asyncio.gather(*map(anext, reading))
        # Further pages come one by one, so that they are not all in memory.
        for first, rest in zip(firsts, reading, strict=True):
            async for records in _with(first, rest):
                yield [record.own_key for record in records]
                waiting[:0] = _ranges_under(records, under)


async def _with(first: Sequence[Any], rest: AsyncIterator[Sequence[Any]]) -> AsyncIterator[Sequence[Any]]:
    if first:
        yield first
    async for records in rest:
        yield records


def _ranges_under(records: Sequence[Any], under: dict[type[Entity], list[Searchable]]) -> list[Range[Any]]:
    return [
        within
        for record in records
        for declared in under.get(type(record), ())
        if declared.under
        for within in declared.under.ranges(record)
    ]
