"""The route /graphql: reads a request, runs it, answers and logs it."""

import asyncio
import time
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from resolvers.core.allowance import REFUSED_COST
from resolvers.core.error_codes import ErrorCode
from schema.declare.context import RequestContext
from schema.execution.limits import Limits, OverLimit
from schema.http import answer_writer, error_pages, graphiql, protocol
from schema.http.etags import etag_of, is_known
from schema.http.refusals import REFUSALS, refusal
from schema.http.request_body import Bodies
from schema.http.services import Services

# The part of REQUEST_TIMEOUT that is left to write the answer when reads have to end.
FOR_THE_ANSWER = 0.05


async def graphql(request: Request) -> Response:
    """Handles a request to /graphql. The protocol and the executor do everything that is not HTTP."""
    accept = request.headers.get("accept")
    if request.method != "POST" and protocol.wants_page(accept) and (page := _page(request)):
        return page
    written: bytes | None = None
    media_type = protocol.JSON
    headers: dict[str, str] = {}
    try:
        media_type = protocol.media_type(accept)
        # A client that sends slowly holds no place among the requests that run.
        body = await _body(request)
        answer, written = await _run(request, body)
    except REFUSALS as error:
        answer = refusal(error)
    status = answer.status_as(media_type)
    context = _context(request)
    if context is not None:
        if answer.request_error and status != ErrorCode.RATE_LIMITED.status:
            context.allowance.owe(REFUSED_COST)
        headers |= context.allowance.headers()
    headers |= answer.headers
    if status == ErrorCode.METHOD_NOT_ALLOWED.status:
        headers["allow"] = "POST"
    request.state.log.update(_log_fields(context, answer))
    content_type = {"content-type": f"{media_type}; charset=utf-8"}
    if written is not None and _is_public(request, answer):
        return await _cacheable(request, written, content_type)
    content = orjson.dumps(answer.body) if written is None else written
    return Response(content, status, headers | content_type)


def _page(request: Request) -> Response | None:
    """Returns GraphiQL, which shows the query of a link without running it. Without GraphiQL, a query is answered."""
    services: Services = request.app.state.services
    if services.settings.graphiql:
        return HTMLResponse(graphiql.page(), headers=graphiql.headers())
    if "query" not in request.query_params:
        raise error_pages.not_found()
    return None


def _is_public(request: Request, answer: protocol.Answer) -> bool:
    """Returns True if everyone who sends the same GET request gets this answer."""
    return request.method != "POST" and "authorization" not in request.headers and "errors" not in answer.body


async def _cacheable(request: Request, content: bytes, content_type: dict[str, str]) -> Response:
    """Returns the answer, or 304 to a client that has it. The rate limits of one client would mislead the next."""
    services: Services = request.app.state.services
    seconds = services.settings.public_max_age
    etag = await etag_of(content_type["content-type"].encode(), content)
    headers = {"cache-control": f"public, max-age={seconds}" if seconds else "public, no-cache", "etag": etag}
    if is_known(etag, request.headers.get("if-none-match")):
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers | content_type)


async def _run(request: Request, body: bytes) -> tuple[protocol.Answer, bytes | None]:
    """Returns the answer and its JSON. One deadline covers waiting, parsing, execution and writing."""
    services: Services = request.app.state.services
    settings = services.settings
    deadline = time.monotonic() + settings.request_timeout
    try:
        async with asyncio.timeout(settings.request_timeout) as timeout, request.app.state.admission:
            parsed = _parsed(request, body, services.executor.limits)
            context = request.state.context = await services.context(request)
            # Reads end a little earlier, so that fields that could not be read fail on their own.
            context.load.table.usage.deadline = deadline - settings.request_timeout * FOR_THE_ANSWER
            context.allowance.check()
            answer = await services.executor.run(parsed, context, may_mutate=request.method == "POST")
            context.executed = True
            return answer, await answer_writer.write(answer.body, context.cost, settings.max_answer_bytes)
    except OverLimit as error:
        return _ended(str(error), ErrorCode.OVER_LIMIT, context), None
    except TimeoutError:
        if not timeout.expired():
            raise
        message = f"the request took over {settings.request_timeout:g} seconds and was ended; ask for less"
        return _ended(message, ErrorCode.TIMEOUT, _context(request)), None


def _context(request: Request) -> RequestContext | None:
    return getattr(request.state, "context", None)


def _ended(message: str, code: ErrorCode, context: RequestContext | None) -> protocol.Answer:
    """Returns the answer of a request that was ended, with the outcome of its mutations."""
    extensions: dict[str, Any] = {"code": code}
    if context is not None and context.command:
        outcome = context.outcome
        message += f". {outcome.advice(keyed=context.idempotency_key is not None)}"
        extensions["outcome"] = outcome.name
    return protocol.Answer({"errors": [{"message": message, "extensions": extensions}], "data": None})


async def _body(request: Request) -> bytes:
    bodies: Bodies = request.app.state.bodies
    return await bodies.receive(request) if request.method == "POST" else b""


def _parsed(request: Request, body: bytes, limits: Limits) -> protocol.GraphQLRequest:
    if request.method != "POST":
        return protocol.from_query(request.query_params, limits)
    return protocol.from_body(request.headers.get("content-type"), body, limits)


def _log_fields(context: RequestContext | None, answer: protocol.Answer) -> dict[str, Any]:
    """Returns what the log line of this request says besides what every line says."""
    usage = context.load.table.usage if context else None
    return {
        "event": "graphql",
        "operation": context.operation if context else None,
        "viewer": context.viewer.user_id if context else None,
        "compiled": context.compiled if context else False,
        "plan_failure": context.plan_failure if context else None,
        "errors": len(answer.body.get("errors", ())),
        "calls": dict(usage.calls) if usage else {},
        "saved": {name: round(count, 3) for name, count in usage.saved.items()} if usage else {},
        "read_units": usage.read_units if usage else 0,
        "write_units": usage.write_units if usage else 0,
        "retries": usage.retries if usage else 0,
    }
