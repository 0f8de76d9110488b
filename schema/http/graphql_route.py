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
from schema.http.refusals import REFUSALS, refusal
from schema.http.request_body import Bodies
from schema.http.services import Services

# The part of REQUEST_TIMEOUT that is left to write the answer when reads have to end.
FOR_THE_ANSWER = 0.05


async def graphql(request: Request) -> Response:
    """Handles a request to /graphql. The protocol and the executor do everything that is not HTTP."""
    services: Services = request.app.state.services
    settings = services.settings
    written: bytes | None = None
    accept = request.headers.get("accept")
    if request.method != "POST" and "query" not in request.query_params and protocol.wants_page(accept):
        if not settings.graphiql:
            raise error_pages.not_found()
        return HTMLResponse(graphiql.page(), headers=graphiql.headers())
    media_type = protocol.JSON
    headers = {"vary": "accept, authorization, x-tenant-id"}
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
    content = orjson.dumps(answer.body) if written is None else written
    return Response(content, status, headers | {"content-type": f"{media_type}; charset=utf-8"})


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
        "read_units": usage.read_units if usage else 0,
        "write_units": usage.write_units if usage else 0,
        "retries": usage.retries if usage else 0,
    }
