"""Makes the documents of changed records equal to the records."""

import time
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any

from datastore.client.budget import Usage
from datastore.client.errors import CorruptItem
from datastore.client.table import Table
from datastore.model.keys import Key, Range
from resolvers.search.documents import SEARCHABLE, Document, Related, document_key
from resolvers.search.engine import Generation

AT_ONCE = 100
PAGE = 500
TIME_FOR_ONE = 30.0


async def refresh(table: Table, generation: Generation, keys: Iterable[Key[Any]], *, spread: bool) -> int:
    """Indexes the current state of records, and returns their number. Reads are strongly consistent.

    With `spread`, documents that depend on them are refreshed too. They come first: if that is interrupted, the
    documents that they depend on still tell that there is something to do.
    """
    wanted = [key for key in dict.fromkeys(keys) if key.entity in SEARCHABLE]
    for start in range(0, len(wanted), AT_ONCE):
        await _refresh(table, generation, wanted[start : start + AT_ONCE], spread=spread)
    return len(wanted)


async def _refresh(table: Table, generation: Generation, keys: Sequence[Key[Any]], *, spread: bool) -> None:
    version = time.time_ns() // 1_000
    records = await _read(table, keys)
    there = [record for record in records.values() if record is not None]
    about = [key for record in there for key in SEARCHABLE[type(record)].reads(record)]
    related = {key: record for key, record in (await _read(table, about)).items() if record is not None}
    made = {key: _document(record, related) for key, record in records.items()}
    if spread:
        await _spread(table, generation, records, made)
    documents = [document for document in made.values() if document is not None]
    derived = {each.key: each for key, one in made.items() if one for each in SEARCHABLE[key.entity].derived(one)}
    gone = [document_key(key) for key, document in made.items() if document is None]
    await generation.update([*documents, *derived.values()], gone, version=version)


def _document(record: Any, related: Related) -> Document | None:
    if record is None or (record.expires_at is not None and record.expires_at <= time.time()):
        return None
    return SEARCHABLE[type(record)].document(record, related)


async def _spread(
    table: Table, generation: Generation, records: Related, made: dict[Key[Any], Document | None]
) -> None:
    """Refreshes the documents that depend on those that have changed in what others take from them.

    What depends on a record that is gone is gone, too, and has changes of its own.
    """
    dependents = {
        key: ranges
        for key, record in records.items()
        if record is not None and (ranges := SEARCHABLE[key.entity].dependents(record))
    }
    before = await generation.depends([document_key(key) for key in dependents]) if dependents else {}
    for key, ranges in dependents.items():
        document = made[key]
        if before.get(document_key(key)) != (document.depends if document else None):
            for within in ranges:
                async for page in pages(table, within):
                    await refresh(table, generation, [record.own_key for record in page], spread=False)


async def _read(table: Table, keys: Sequence[Key[Any]]) -> dict[Key[Any], Any]:
    """Returns records by key: None for those that are gone or damaged."""
    found = await table.using(Usage.lasting(TIME_FOR_ONE)).get_many(keys, consistent=True)
    for answer in found.values():
        if isinstance(answer, Exception) and not isinstance(answer, CorruptItem):
            raise answer
    return {key: None if isinstance(record, CorruptItem) else record for key, record in found.items()}


async def pages(table: Table, within: Range[Any]) -> AsyncIterator[Sequence[Any]]:
    """Yields the records of a whole range, page by page. They may lack their heavy fields."""
    after = None
    while True:
        page = await table.using(Usage.lasting(TIME_FOR_ONE)).query(within, limit=PAGE, after=after)
        yield page.records
        after = page.more
        if after is None:
            return
