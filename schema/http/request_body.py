"""Receiving of request bodies, within limits on size, time and the memory of all bodies together."""

import asyncio

from starlette.requests import Request

from resolvers.core.error_codes import ErrorCode
from schema.execution.limits import Limits
from schema.http import protocol
from schema.http.admission import Overloaded

SMALL = 64 * 1024
"""A body up to this size is received even if the memory for bodies is used up."""
TOGETHER = 32
"""Memory for bodies that are being received, as a multiple of the largest body."""


class Bodies:
    """The bodies that a process is receiving."""

    def __init__(self, largest: int, within: float) -> None:
        self._largest = largest
        self._within = within
        self.held = 0

    async def receive(self, request: Request) -> bytes:
        """Returns the body; raises BadRequest if it is too large or too slow, and Overloaded if there are too many."""
        try:
            async with asyncio.timeout(self._within):
                return await self._receive(request)
        except TimeoutError:
            message = "the body took too long to arrive; send it faster, or send less"
            raise protocol.BadRequest(message, ErrorCode.TIMEOUT) from None

    async def _receive(self, request: Request) -> bytes:
        announced = request.headers.get("content-length", "0")
        self._check(int(announced[:20]) if announced.isdecimal() else 0)
        body = bytearray()
        try:
            async for chunk in request.stream():
                body += chunk
                self.held += len(chunk)
                self._check(len(body))
                if len(body) > SMALL and self.held > TOGETHER * self._largest:
                    raise Overloaded
            return bytes(body)
        finally:
            self.held -= len(body)

    def _check(self, size: int) -> None:
        if size > self._largest:
            raise protocol.BadRequest(f"the body is over {self._largest} bytes; send less", ErrorCode.TOO_LARGE)


def parsed_request(request: Request, body: bytes, limits: Limits) -> protocol.GraphQLRequest:
    """Returns the operation that a request asks for; raises BadRequest."""
    if request.method != "POST":
        return protocol.from_query(request.query_params, limits)
    return protocol.from_body(request.headers.get("content-type"), body, limits)
