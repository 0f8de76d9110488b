"""What is written down after the answer was sent, so that no request waits for it: in memory first, then in batches."""

import asyncio
import contextlib
import logging
from collections.abc import Iterable

log = logging.getLogger("heartwood.waiting")

LONGEST_PAUSE = 30.0
# Less than the 10 seconds that whoever stops a server usually leaves it.
TIME_TO_DRAIN = 7.0


class Waiting:
    """One per server and kind. What cannot be written is tried again; a server that stops writes what is left."""

    what: str
    pause: float

    def __init__(self) -> None:
        self._full = asyncio.Event()

    @property
    def count(self) -> int:
        """How many there are that wait."""
        raise NotImplementedError

    async def flush(self) -> None:
        """Write all that waits. What cannot be written now stays."""
        raise NotImplementedError

    def left(self) -> Iterable[object]:
        """All that waits, for the log."""
        raise NotImplementedError

    def is_full(self) -> None:
        """There is enough for a batch: it is written at once."""
        self._full.set()

    async def run(self) -> None:
        """For as long as the server runs."""
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

    async def drain(self) -> None:
        """At the end: what is left is written, or logged where that fails or takes too long."""
        try:
            async with asyncio.timeout(TIME_TO_DRAIN):
                await self.flush()
        except Exception as error:
            log.error("%d %s are lost: %r", self.count, self.what, error)
            for each in self.left():
                log.error("lost: %s", each)
