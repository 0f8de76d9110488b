"""The answer to a request that is not admitted, rendered in advance because it must cost next to nothing."""

from itertools import cycle
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Scope

from resolvers.core.error_codes import ErrorCode
from schema.http import protocol

WAITS = (1, 2, 3)
"""Seconds to wait, in turn: clients that were refused at once do not return at once."""


def _messages(seconds: int, media_type: str) -> tuple[Message, Message]:
    message = f"The server is overloaded and did not start this request. Try again in {seconds} s."
    answer = protocol.Answer.refused(message, ErrorCode.UNAVAILABLE, seconds)
    body = orjson.dumps(answer.body)
    headers = [
        (b"content-type", f"{media_type}; charset=utf-8".encode()),
        (b"content-length", str(len(body)).encode()),
        (b"retry-after", str(seconds).encode()),
    ]
    start: dict[str, Any] = {"type": "http.response.start", "status": ErrorCode.UNAVAILABLE.status, "headers": headers}
    return start, {"type": "http.response.body", "body": body}


_JSON = cycle([_messages(seconds, protocol.JSON) for seconds in WAITS])
_GRAPHQL_RESPONSE = cycle([_messages(seconds, protocol.GRAPHQL_RESPONSE) for seconds in WAITS])


def messages(scope: Scope) -> tuple[Message, Message]:
    """Returns the two ASGI messages of a refusal."""
    for name, value in scope["headers"]:
        if name == b"accept" and protocol.GRAPHQL_RESPONSE.encode() in value:
            return next(_GRAPHQL_RESPONSE)
    return next(_JSON)


async def refused(request: Request, error: Exception) -> Response:
    """Answers a request that was refused after it had waited."""
    request.state.shed = True
    start, body = messages(request.scope)
    response = Response(body["body"], start["status"])
    response.raw_headers = list(start["headers"])
    return response
