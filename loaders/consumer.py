"""Consumers wait for the results of steps."""

import asyncio
from collections.abc import Callable


class Consumer:
    """A plan waits for all of its steps, a command or a resolver for one.

    A step that fails does not stop the others. A cancelled consumer takes no read away from others.
    """

    def __init__(self, fail: Callable[[Exception], None] | None = None) -> None:
        self.errors: list[Exception] = []
        self.fail = fail or self.errors.append
        self.is_gone = False
        self._waiting = 0
        self._finished: asyncio.Future[None] | None = None

    def waits(self) -> None:
        """Counts a step that waits for a read."""
        self._waiting += 1

    def resumed(self) -> None:
        """Counts a step that has taken what it waited for."""
        self._waiting -= 1
        if not self._waiting and self._finished and not self._finished.done():
            self._finished.set_result(None)

    async def finish(self) -> None:
        """Returns when no step is waiting. `errors` has the errors of the steps that failed."""
        if self._waiting:
            self._finished = asyncio.get_running_loop().create_future()
            try:
                await self._finished
            finally:
                self.is_gone = self._waiting > 0
