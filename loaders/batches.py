"""Batches reads with two dataloaders, one for items and one for pages, that serve every entity."""

import asyncio
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from aiodataloader import DataLoader

from datastore.client.errors import CorruptItem, DatastoreError
from datastore.client.table import KeysRead, Page, RangeRead, Table
from datastore.model.keys import Key
from loaders.needs import PageRead

Found = dict[Any, Any]
"""The answer for each key or page read: None for a missing record, a DatastoreError for a failed read or damage."""


class Batches:
    """Reads everything that is loaded in one turn of the event loop together.

    A load is all that a scheduler needs at a time: one future for a level of a query instead of one for each key. What
    was read is kept by the request's cache, so the dataloaders do not cache.
    """

    def __init__(self, table: Table, *, consistent: bool) -> None:
        self._table = table
        self._consistent = consistent

    # A dataloader belongs to an event loop, so it is made by the first load.
    @cached_property
    def items(self) -> DataLoader[Sequence[Key[Any]], Found]:
        return DataLoader(self._read_items, cache=False, loop=asyncio.get_running_loop())

    @cached_property
    def pages(self) -> DataLoader[Sequence[PageRead], Found]:
        return DataLoader(self._read_pages, cache=False, loop=asyncio.get_running_loop())

    async def _read_items(self, loads: list[Sequence[Key[Any]]]) -> list[Found]:
        found = await self._table.get_many([key for keys in loads for key in keys], consistent=self._consistent)
        return [found] * len(loads)

    async def _read_pages(self, loads: list[Sequence[PageRead]]) -> list[Found]:
        ranges = [read for reads in loads for read in reads if isinstance(read, RangeRead)]
        by_keys = [read for reads in loads for read in reads if isinstance(read, KeysRead)]
        found: Found = {}
        if ranges:
            found.update(await self._table.query_many(ranges, consistent=self._consistent))
        if by_keys:
            found.update(await self._read_by_keys(by_keys))
        return [found] * len(loads)

    async def _read_by_keys(self, reads: Sequence[KeysRead]) -> Found:
        keys = [key for read in reads for key in read.keys]
        answers = await self._table.get_many(keys, consistent=self._consistent, lean=True)
        # These records exist, so a missing one has not been replicated yet.
        late = [key for key, answer in answers.items() if answer is None]
        if late and not self._consistent:
            answers |= await self._table.get_many(late, consistent=True, lean=True)
        return {read: _page([answers[key] for key in read.keys]) for read in reads}


def _page(answers: Sequence[Any]) -> Page[Any] | DatastoreError:
    failed = [answer for answer in answers if isinstance(answer, DatastoreError)]
    damaged = [error for error in failed if isinstance(error, CorruptItem)]
    if len(damaged) < len(failed):
        return next(error for error in failed if error not in damaged)
    return Page([record for record in answers if record is not None and record not in damaged], None, damaged)
