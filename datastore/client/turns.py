"""Shares the event loop: long work gives way after a slice of time, and goes on when its turn comes.

Everything that waits for a turn stands in one line per event loop, and one of them runs per iteration of the loop. So
the loop is never occupied for much longer than a slice, no matter how many large requests there are.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

SLICE_SECONDS = 0.005

# As many as a process sends at once by default.
READS_AT_ONCE = 64

A = TypeVar("A")
T = TypeVar("T")
Callback = Callable[[], None]


class _Line:
    """The line of one event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: deque[Callback] = deque()

    def join(self, callback: Callback) -> None:
        self._waiting.append(callback)
        if len(self._waiting) == 1:
            self._loop.call_soon(self._next)

    def _next(self) -> None:
        try:
            self._waiting[0]()
        finally:
            self._waiting.popleft()
            if self._waiting:
                self._loop.call_soon(self._next)


_lines: WeakKeyDictionary[asyncio.AbstractEventLoop, _Line] = WeakKeyDictionary()


def later(callback: Callback) -> None:
    """Calls it when its turn comes, after everything that is ready to run now."""
    loop = asyncio.get_running_loop()
    if loop not in _lines:
        _lines[loop] = _Line(loop)
    _lines[loop].join(callback)


async def turn() -> None:
    """Returns when the caller's turn comes."""
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    later(lambda: None if future.done() else future.set_result(None))
    await future


class Slice:
    """The time that work may occupy the event loop at once."""

    def __init__(self) -> None:
        self._ends = time.perf_counter() + SLICE_SECONDS

    @property
    def is_over(self) -> bool:
        return time.perf_counter() >= self._ends

    async def next(self) -> None:
        """Gives way to others, and begins another slice."""
        await turn()
        self._ends = time.perf_counter() + SLICE_SECONDS


async def in_parallel(read: Callable[[A], Awaitable[T]], arguments: Sequence[A]) -> list[T]:
    """Returns the answers in order. Reads in parallel, but does not begin thousands of reads in one iteration."""
    answers: list[Any] = [None] * len(arguments)
    waiting = iter(enumerate(arguments))

    async def read_on() -> None:
        for place, argument in waiting:
            answers[place] = await read(argument)

    await asyncio.gather(*(read_on() for _ in range(min(len(arguments), READS_AT_ONCE))))
    return answers
