"""The results of an operation with deferred parts, as a stream."""

import asyncio
import time
from typing import Any

import orjson

from resolvers.core.error_codes import ErrorCode
from schema.declare.context import RequestContext
from schema.execution.incremental.delivery import Result
from schema.execution.incremental.results import Results
from schema.execution.limits import OverLimit
from schema.http import answer_writer
from schema.http.refusals import error_of_the_end
from schema.http.request_log import usage_of

# Operations whose parts run at the same time. A part that was announced is not refused; it waits.
RUN_AT_ONCE = 16
# The part of the time that is left to write a result when reads have to end.
FOR_THE_ANSWER = 0.05


class LimitsOfParts:
    """The limits of all results of an operation together: their bytes, and the seconds that its parts run."""

    def __init__(self, max_bytes: int, seconds: float) -> None:
        self.max_bytes = max_bytes
        self.seconds = seconds
        self.slots = asyncio.Semaphore(RUN_AT_ONCE)


class DeferredParts:
    """A Stream. Parts run only while a reader waits for them."""

    def __init__(self, results: Results, context: RequestContext, limits: LimitsOfParts) -> None:
        self._results = results
        self._context = context
        self._limits = limits
        self._bytes_left = limits.max_bytes
        self._seconds_left = limits.seconds
        self._first: bytes | None = None
        self._is_open = True

    async def begin(self) -> "DeferredParts":
        """Writes the first result. Raises OverLimit."""
        result = await self._results.next()
        assert result is not None
        self._first = await self._written(result)
        return self

    async def next(self) -> bytes | None:
        if self._first is not None:
            first, self._first = self._first, None
            return first
        if not self._is_open:
            return None
        result: Result | None = None
        try:
            async with self._limits.slots:
                result = await self._run()
            return None if result is None else await self._written(result)
        except OverLimit as error:
            return self._end(str(error), ErrorCode.OVER_LIMIT, result)
        except TimeoutError:
            message = f"the parts of the answer took over {self._limits.seconds:g} seconds; ask for less"
            return self._end(message, ErrorCode.TIMEOUT, result)

    @property
    def figures(self) -> dict[str, Any]:
        """Cost so far, for the log line."""
        return usage_of(self._context)

    def close(self) -> None:
        self._is_open = False
        self._results.close()

    async def _run(self) -> Result | None:
        started = time.monotonic()
        # Reads end a little earlier, so that fields that could not be read fail on their own.
        self._context.load.table.usage.deadline = started + self._seconds_left * (1 - FOR_THE_ANSWER)
        try:
            async with asyncio.timeout(self._seconds_left):
                return await self._results.next()
        finally:
            self._seconds_left -= time.monotonic() - started

    async def _written(self, result: Result) -> bytes:
        written = await answer_writer.write(result, self._context.cost, self._bytes_left)
        self._bytes_left -= len(written)
        return written

    def _end(self, message: str, code: ErrorCode, lost: Result | None) -> bytes:
        """Ends all parts that are left, with `lost`, which was not sent. Their errors are small, and always come."""
        self._is_open = False
        return orjson.dumps(self._results.ended(error_of_the_end(message, code, self._context), lost or {}))
