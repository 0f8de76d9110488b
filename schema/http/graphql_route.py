"""The route /graphql: reads a request, runs it, answers and logs it."""

import asyncio
import logging
import time
from uuid import uuid4

import structlog
from graphql import GraphQLError
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from datastore.client.errors import DatastoreError
from resolvers.accounts.tokens import BadToken, KeysUnavailable
from schema.declare.context import RequestContext
from schema.declare.errors import masked
from schema.http import graphiql, protocol
from schema.http.responses import Json
from schema.http.services import Services
from schema.http.settings import Settings

log = logging.getLogger("heartwood.server")
request_log = structlog.get_logger()


async def graphql(request: Request) -> Response:
    """Handles a request to /graphql. The protocol and the executor do everything that is not HTTP."""
    services: Services = request.app.state.services
    accept = request.headers.get("accept")
    if request.method != "POST" and "query" not in request.query_params and protocol.wants_page(accept):
        shown = services.settings.graphiql
        return HTMLResponse(graphiql.page(), headers=graphiql.headers()) if shown else Response(status_code=404)
    request_id = uuid4().hex
    # Every line that is logged on behalf of this request has it.
    structlog.contextvars.bind_contextvars(request_id=request_id)
    media_type = protocol.JSON
    started = time.perf_counter()
    context: RequestContext | None = None
    headers = {"x-request-id": request_id}
    try:
        media_type = protocol.media_type(accept)
        parsed = await _read(request, services.settings)
        context = await services.context(request)
        answer = await services.executor.run(parsed, context, may_mutate=request.method == "POST")
    except protocol.BadRequest as error:
        answer = protocol.Answer.refused(str(error), error.status)
    except BadToken as error:
        answer = protocol.Answer.refused(str(error), 401)
        headers["www-authenticate"] = "Bearer"
    except KeysUnavailable as error:
        answer = protocol.Answer.refused(str(error), 503)
    except DatastoreError as error:
        answer = protocol.Answer({"data": None, "errors": [masked(GraphQLError("", original_error=error))]})
    status = answer.status_as(media_type)
    if status == 405:
        headers["allow"] = "POST"
    _log_request(context, status, answer, time.perf_counter() - started)
    return Json(answer.body, status, headers | {"content-type": f"{media_type}; charset=utf-8"})


async def _read(request: Request, settings: Settings) -> protocol.GraphQLRequest:
    if request.method != "POST":
        return protocol.from_query(request.query_params, settings.max_json_depth)
    try:
        async with asyncio.timeout(settings.request_timeout):
            body = await _body(request, settings.max_body_bytes)
    except TimeoutError:
        raise protocol.BadRequest("the body took too long to arrive", 408) from None
    return protocol.from_body(request.headers.get("content-type"), body, settings.max_json_depth)


async def _body(request: Request, limit: int) -> bytes:
    too_large = protocol.BadRequest(f"the body is over {limit} bytes", 413)
    announced = request.headers.get("content-length", "0")
    if announced.isdecimal() and int(announced[:20]) > limit:
        raise too_large
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            raise too_large
    return bytes(body)


def _log_request(
    context: RequestContext | None,
    status: int,
    answer: protocol.Answer,
    seconds: float,
) -> None:
    usage = context.load.table.usage if context else None
    request_log.info(
        "graphql",
        logger=log.name,
        operation=context.operation if context else None,
        viewer=context.viewer.user_id if context else None,
        status=status,
        compiled=context.compiled if context else False,
        plan_failure=context.plan_failure if context else None,
        errors=len(answer.body.get("errors", ())),
        ms=round(seconds * 1000, 1),
        calls=dict(usage.calls) if usage else {},
        read_units=usage.read_units if usage else 0,
        write_units=usage.write_units if usage else 0,
        retries=usage.retries if usage else 0,
    )
