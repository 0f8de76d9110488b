"""Runs long computations in threads, so that the event loop serves other requests meanwhile.

Threads share one interpreter lock: a computation takes as long as it would on the event loop, and as many at a time
make each one slower. A lane therefore has few threads and a bounded queue, and long work has a lane of its own, so that
nothing short waits behind it.
"""

import asyncio
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from datastore.client.errors import Unavailable

T = TypeVar("T")

# The event loop waits this long for the interpreter lock each time it has handed it over, several times per request.
# Python's default is 5 ms.
SWITCH_SECONDS = 0.0005


class Busy(Unavailable):
    """The server itself has too much to do. The message is for the client."""


class Abandoned(Exception):
    """The request of this computation is over."""


class _Work:
    """One computation. It ends at its next `check_time` once it is abandoned."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self._function = function
        self.is_abandoned = False

    def __call__(self) -> Any:
        _running.work = self
        try:
            check_time()
            return self._function()
        finally:
            _running.work = None


class _Running(threading.local):
    work: _Work | None = None


_running = _Running()


def check_time() -> None:
    """Ends a computation whose request is over. Long ones call it every few milliseconds; elsewhere it does nothing."""
    work = _running.work
    if work is not None and work.is_abandoned:
        raise Abandoned


class Lane:
    """A few threads and a bounded queue of computations of one kind, one lane per process.

    `what` names them in the messages for clients, such as "exports".
    """

    def __init__(self, what: str, *, threads: int, waiting: int) -> None:
        self._what = what
        self._threads = threads
        self.places = threads + waiting
        self._pool: ThreadPoolExecutor | None = None
        self._taken: set[_Work] = set()

    async def run(self, function: Callable[[], T], *, seconds: float) -> T:
        """Returns the result. Raises Busy if the queue is full, or if there is no result after these seconds."""
        if len(self._taken) >= self.places:
            raise Busy(f"The server is busy with other {self._what}. Try again in a moment.")
        work = _Work(function)
        self._taken.add(work)
        future: Future[T] = self._open().submit(work)
        # It keeps its place until its thread is free again, even if its request is over.
        future.add_done_callback(lambda _: self._taken.discard(work))
        return await self._result(work, future, seconds)

    async def _result(self, work: _Work, future: Future[T], seconds: float) -> T:
        waiting = asyncio.wrap_future(future)
        try:
            done, _ = await asyncio.wait([waiting], timeout=max(0.0, seconds))
        finally:
            work.is_abandoned = not waiting.done()
            # Takes it out of the queue unless it runs.
            waiting.cancel()
        if not done:
            raise Busy(f"There was not enough time for this beside other {self._what}. Try again later.")
        return waiting.result()

    def _open(self) -> ThreadPoolExecutor:
        if self._pool is None:
            sys.setswitchinterval(SWITCH_SECONDS)
            self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix=self._what)
        return self._pool

    def close(self) -> None:
        """Ends all computations, for a server that stops. The lane opens again when it is used."""
        for work in [*self._taken]:
            work.is_abandoned = True
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None


# Tenths of a second for trees of thousands: relatives and charts.
KINSHIP = Lane("computations of this kind", threads=1, waiting=64)
# Seconds: reading and writing whole files.
FILES = Lane("imports and exports", threads=1, waiting=16)
