"""A query's steps, all at once: whatever they need at one time is read together."""

import asyncio
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from typing import Any

from datastore.model.keys import Key
from loaders.needs import Items, Once, Pages, Step
from loaders.request import Loaders, PageRead

Then = Callable[[Any], None]


class Walk:
    """Steps that were started, and who waits for their results.

    Ranges are read before items: what a range brings leads to items of its own, and these can go together with those
    that wait already. One BatchGetItem where there would be two, and no more round trips one after the other.
    """

    def __init__(self, load: Loaders) -> None:
        self._load = load
        self._for_items: list[tuple[Step[Any], Then, Items]] = []
        self._for_pages: list[tuple[Step[Any], Then, Pages]] = []
        self._taking: dict[Hashable, list[Then]] = {}

    def start(self, step: Step[Any], then: Then) -> None:
        """Run a step as far as it gets; `then` takes its result, and may start others."""
        self._advance(step, then, None)

    async def finish(self) -> None:
        """Read what is needed until nothing is needed any more. The first failure ends it."""
        while True:
            if self._for_pages:
                for_pages, self._for_pages = self._for_pages, []
                await self._read_pages([read for _, _, pages in for_pages for read in pages.reads])
                for step, then, pages in for_pages:
                    self._advance(step, then, self._load.kept_pages(pages.reads))
            elif self._for_items:
                for_items, self._for_items = self._for_items, []
                await self._load.read_items(self._keys(for_items))
                for step, then, items in for_items:
                    self._advance(step, then, self._load.kept(items))
            else:
                return

    async def _read_pages(self, reads: Sequence[PageRead]) -> None:
        """Items wait, but for no more than half of the time there is: if a range cannot be read, they still can."""
        if not self._for_items:
            await self._load.read_pages(reads)
            return
        reading = asyncio.ensure_future(self._load.read_pages(reads))
        try:
            await asyncio.wait([reading], timeout=self._load.table.usage.seconds_left / 2)
            if not reading.done():
                await self._load.read_items(self._keys(self._for_items))
            await reading
        finally:
            reading.cancel()

    def _advance(self, step: Step[Any], then: Then, answer: Any) -> None:
        while True:
            try:
                need = step.send(answer)
            except StopIteration as stop:
                result = stop.value
                break
            if isinstance(need, Items):
                answer = self._load.kept(need)
                if answer is None:
                    self._for_items.append((step, then, need))
                    return
            elif isinstance(need, Pages):
                answer = self._load.kept_pages(need.reads)
                if answer is None:
                    self._for_pages.append((step, then, need))
                    return
            elif isinstance(need, Once):
                if need.name not in self._load.taken:
                    self._take_once(need, partial(self._advance, step, then))
                    return
                answer = self._load.taken[need.name]
            else:
                self._fan_out(need.steps, partial(self._advance, step, then))
                return
        then(result)

    def _take_once(self, need: Once, then: Then) -> None:
        waiting = self._taking.setdefault(need.name, [])
        waiting.append(then)
        if len(waiting) == 1:
            self._advance(need.step(), partial(self._taken, need), None)

    def _taken(self, need: Once, result: Any) -> None:
        self._load.taken[need.name] = result
        for then in self._taking.pop(need.name):
            then(result)

    def _fan_out(self, steps: Sequence[Step[Any]], then: Then) -> None:
        results: list[Any] = [None] * len(steps)
        left = len(steps)
        if not left:
            then(results)

        def take(place: int, result: Any) -> None:
            nonlocal left
            results[place] = result
            left -= 1
            if not left:
                then(results)

        for place, step in enumerate(steps):
            self._advance(step, partial(take, place), None)

    def _keys(self, waiting: Iterable[tuple[Step[Any], Then, Items]]) -> list[Key[Any] | None]:
        return [key for _, _, items in waiting for key in self._load.unread(items)]
