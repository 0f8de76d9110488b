"""Keeping the item reads of one level of a query together.

Fields of one level ask for items (authors) and for ranges (comments). What a range brings asks for items again
(commenters). Read as they come, these are two batches; but the answer waits for the second one anyway. So items that
are asked for while ranges are being read wait for those, and go together with what the ranges' records ask for: one
BatchGetItem where there were two, and no more round trips one after the other than before.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from datastore.model.keys import Key

Answers = dict[Key[Any], Any]

# How often everybody else gets to run before a level counts as complete: between a range's answer and the keys that its
# records lead to lie a few steps of the executor and of the dataloader.
QUIET_TURNS = 12


class Level:
    """The keys asked for so far, and whether ranges are being read that may lead to more."""

    def __init__(self, read: Callable[[list[Key[Any]]], Awaitable[Answers]]) -> None:
        self._read = read
        self._keys: list[Key[Any]] = []
        self._answers: asyncio.Task[Answers] | None = None
        self._open_ranges = 0
        self._no_ranges = asyncio.Event()
        self._no_ranges.set()

    @contextmanager
    def range_being_read(self) -> Iterator[None]:
        self._open_ranges += 1
        self._no_ranges.clear()
        try:
            yield
        finally:
            self._open_ranges -= 1
            if not self._open_ranges:
                self._no_ranges.set()

    async def items(self, keys: list[Key[Any]]) -> Answers:
        self._keys += keys
        if self._answers is None:
            self._answers = asyncio.ensure_future(self._read_together())
        return await asyncio.shield(self._answers)

    async def _read_together(self) -> Answers:
        known = -1
        while known != len(self._keys) or self._open_ranges:
            known = len(self._keys)
            await self._no_ranges.wait()
            for _ in range(QUIET_TURNS):
                await asyncio.sleep(0)
        keys, self._keys, self._answers = self._keys, [], None
        return await self._read(keys)
