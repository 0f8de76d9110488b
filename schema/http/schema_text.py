"""The schema over HTTP as text, for code generators of viewers who may introspect."""

import asyncio
import threading
from functools import cache

from starlette.requests import Request
from starlette.responses import Response

from schema.build import sdl
from schema.declare.context import RequestContext
from schema.execution.introspection import Forbidden, check_allowed
from schema.http.plain_route import CACHED, answered, as_text
from schema.http.protocol import Answer
from schema.http.responses import Document
from schema.http.services import Services

_printing = threading.Lock()

COST = 1_000
UNCHANGED_COST = 1


async def schema_text(request: Request) -> Response:
    """`/schema.graphql`"""
    services: Services = request.app.state.services

    async def text(context: RequestContext) -> Response:
        # Printing takes tens of milliseconds the first time.
        document = await asyncio.to_thread(printed)
        context.allowance.pay(UNCHANGED_COST if await document.is_known(request) else COST)
        try:
            check_allowed(services.settings.introspection, signed_in=context.viewer.user_id is not None)
        except Forbidden as error:
            return as_text(Answer.refused(str(error), error.code))
        return await document.response(request, CACHED)

    return await answered(request, text)


def printed() -> Document:
    """Returns the document. The first request prints it, and those that come meanwhile wait for it."""
    with _printing:
        return _document()


@cache
def _document() -> Document:
    return Document(sdl().encode(), "text/plain")
