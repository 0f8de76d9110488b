"""Limits how many read units maintenance uses in a second, so that requests keep theirs."""

import asyncio
import time
from collections.abc import Awaitable, Callable


class ReadRate:
    """Read units per second, shared by everything that reads with it. None is without a limit."""

    def __init__(
        self,
        per_second: float | None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        if per_second is not None and per_second <= 0:
            raise ValueError("the number of read units per second must be above 0")
        self.per_second = per_second
        self._clock = clock
        self._sleep = sleep
        self._free_at = 0.0

    async def take(self, units: float) -> None:
        """Waits until the expected units of a read are free, and takes them."""
        if self.per_second is None:
            return
        now = self._clock()
        begins = max(self._free_at, now)
        # Taken before the pause: readers that wait at the same time get one turn after the other.
        self._free_at = begins + units / self.per_second
        if begins > now:
            await self._sleep(begins - now)

    def correct(self, units: float) -> None:
        """Takes more units, or gives some back if negative, once it is known what a read has used."""
        if self.per_second is not None:
            self._free_at += units / self.per_second
