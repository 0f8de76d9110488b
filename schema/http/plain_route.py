"""Routes that answer with a file instead of GraphQL: their context, their limits, and errors as plain text."""

import asyncio
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from datastore.client.errors import Unavailable
from schema.declare.context import RequestContext
from schema.http.protocol import Answer
from schema.http.refusals import REFUSALS, refusal
from schema.http.services import Services

CACHED = {"cache-control": "private, no-cache"}
"""Headers of a file that clients may keep, if they ask each time whether it changed and they still may see it."""


async def answered(request: Request, work: Callable[[RequestContext], Awaitable[Response]]) -> Response:
    """Returns what `work` returns, or its error as text. It runs admitted, and within REQUEST_TIMEOUT."""
    services: Services = request.app.state.services
    try:
        async with asyncio.timeout(services.settings.request_timeout), request.app.state.admission:
            return await work(await services.context(request))
    except REFUSALS as error:
        return as_text(refusal(error))
    except TimeoutError:
        return as_text(refusal(Unavailable(f"a request took over {services.settings.request_timeout:g} seconds")))


def as_text(answer: Answer) -> Response:
    """Returns the message of the only error of an answer, and its ID if it has one."""
    (error,) = answer.body["errors"]
    extensions = error["extensions"]
    text = f"{error['message']} ({extensions['id']})" if "id" in extensions else error["message"]
    return PlainTextResponse(text, answer.status or 200, answer.headers)
