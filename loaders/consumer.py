"""Consumers wait for the results of steps."""

import asyncio
from collections.abc import Callable
from typing import Any

Fail = Callable[[Exception], None]


class Consumer:
    """A plan waits for all of its steps, a command or a resolver for one.

    A step that fails does not stop the others. A cancelled consumer takes no read away from others.

    With `failed_reads`, the errors of reads are kept there, and what has failed is not read again.
    """

    def __init__(self, fail: Fail | None = None, failed_reads: dict[Any, Exception] | None = None) -> None:
        self.errors: list[Exception] = []
        self.fail = fail or self.errors.append
        self.failed_reads = failed_reads
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


class Part:
    """One step of a consumer: `fail` takes its first error, and the consumer waits for it as for all others."""

    def __init__(self, whole: "Consumer | Part", fail: Fail) -> None:
        self.failed_reads: dict[Any, Exception] | None = whole.failed_reads
        self.waits: Callable[[], None] = whole.waits
        self.resumed: Callable[[], None] = whole.resumed
        self._consumer: Consumer = whole._consumer if isinstance(whole, Part) else whole
        self._fail: Fail | None = fail

    @property
    def is_gone(self) -> bool:
        return self._consumer.is_gone

    def fail(self, error: Exception) -> None:
        """Takes the first error only: steps that run together for this one can fail one after another."""
        fail, self._fail = self._fail, None
        if fail:
            fail(error)


AnyConsumer = Consumer | Part
