"""Write-behind buffers: entries wait in memory and are written in batches after the response."""

import asyncio
import contextlib
import logging
from collections.abc import Iterable

from datastore.client.errors import CircuitOpen

log = logging.getLogger("heartwood.waiting")

LONGEST_PAUSE = 30.0
# Less than the usual grace period of 10 seconds after SIGTERM.
TIME_TO_DRAIN = 7.0


class Waiting:
    """A buffer, one per server and kind. Retries failed writes, and flushes on shutdown."""

    what: str
    pause: float

    def __init__(self) -> None:
        self._full = asyncio.Event()

    @property
    def count(self) -> int:
        """Number of buffered entries."""
        raise NotImplementedError

    async def flush(self) -> None:
        """Writes all buffered entries. Entries that cannot be written stay in the buffer."""
        raise NotImplementedError

    def left(self) -> Iterable[object]:
        """Returns all buffered entries, for the log."""
        raise NotImplementedError

    def is_full(self) -> None:
        """Triggers a flush, because there are enough entries for a batch."""
        self._full.set()

    async def run(self) -> None:
        """Flushes periodically until it is canceled."""
        pause = self.pause
        while True:
            if pause == self.pause:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._full.wait(), pause)
            else:
                await asyncio.sleep(pause)
            self._full.clear()
            try:
                await self.flush()
                pause = self.pause
            except Exception as error:
                pause = max(self.pause, min(pause * 2, LONGEST_PAUSE))
                log.warning("%d %s have to wait: %r", self.count, self.what, error)

    async def _flush_when_possible(self) -> None:
        """Waits while the circuit breaker is open."""
        while True:
            try:
                return await self.flush()
            except CircuitOpen:
                await asyncio.sleep(self.pause / 10)

    async def drain(self) -> None:
        """Flushes on shutdown. Logs the entries that cannot be written in time."""
        try:
            async with asyncio.timeout(TIME_TO_DRAIN):
                await self._flush_when_possible()
        except Exception as error:
            log.error("%d %s are lost: %r", self.count, self.what, error)
            for each in self.left():
                log.error("lost: %s", each)
