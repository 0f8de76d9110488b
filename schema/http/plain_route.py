"""Routes that answer with a file instead of GraphQL: their context, their limits, and errors as plain text."""

import asyncio
from collections.abc import Awaitable, Callable

from graphql import GraphQLError
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from datastore.client.errors import DatastoreError, Unavailable
from resolvers.accounts.tokens import BadToken, KeysUnavailable
from resolvers.core.allowance import OverRate
from schema.declare.context import RequestContext
from schema.declare.errors import masked
from schema.http import protocol
from schema.http.services import Services

STATUSES = {"UNAVAILABLE": 503, "BAD_INPUT": 400}
RETRY_AFTER = "5"
CACHED = {"cache-control": "private, no-cache"}
"""Headers of a file that clients may keep, if they ask each time whether it changed and they still may see it."""


async def answered(request: Request, work: Callable[[RequestContext], Awaitable[Response]]) -> Response:
    """Returns what `work` returns, or its error as text. It runs admitted, and within REQUEST_TIMEOUT."""
    services: Services = request.app.state.services
    try:
        async with asyncio.timeout(services.settings.request_timeout), request.app.state.admission:
            return await work(await services.context(request))
    except BadToken as error:
        return PlainTextResponse(str(error), 401, {"www-authenticate": "Bearer"})
    except OverRate as error:
        return PlainTextResponse(str(error), 429, {"retry-after": str(error.retry_after)})
    except KeysUnavailable as error:
        return PlainTextResponse(str(error), 503, {"retry-after": str(error.retry_after)})
    except protocol.BadRequest as error:
        return PlainTextResponse(str(error), error.status)
    except DatastoreError as error:
        return _failed(error)
    except TimeoutError:
        return _failed(Unavailable(f"a request took over {services.settings.request_timeout:g} seconds"))


def _failed(error: DatastoreError) -> Response:
    formatted = masked(GraphQLError("", original_error=error))
    extensions = formatted["extensions"]
    status = STATUSES.get(extensions["code"], 500)
    text = f"{formatted['message']} ({extensions['id']})" if "id" in extensions else formatted["message"]
    return PlainTextResponse(text, status, {"retry-after": RETRY_AFTER} if status == 503 else None)
