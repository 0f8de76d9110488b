"""Results of operations that may have several: what transports send to a client, one after another."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from schema.declare.context import RequestContext

Contexts = Callable[[], Awaitable[RequestContext]]
"""Makes a context for each run of an operation. It checks the viewer's token again, and raises one of REFUSALS."""


class Result:
    """The JSON of one execution result, and as a chunk of HTTP/1.1: both are made once for all who get it."""

    __slots__ = ("body", "chunk")

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.chunk: bytes | None = None


class Stream(Protocol):
    """The results of one operation, each as the JSON of an execution result. One reader at a time."""

    async def next(self) -> bytes | None:
        """Waits for the next result; None at the end. Raises one of REFUSALS if the viewer may not go on."""

    def close(self) -> None:
        """Ends the operation. Idempotent."""


class Once:
    """The one result of a query or a mutation."""

    def __init__(self, result: bytes) -> None:
        self._result: bytes | None = result

    async def next(self) -> bytes | None:
        result, self._result = self._result, None
        return result

    def close(self) -> None:
        self._result = None
