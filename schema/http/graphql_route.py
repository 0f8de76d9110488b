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
from schema.execution.limits import OverLimit
from schema.http import answer_writer, error_pages, graphiql, protocol, request_log, slow_operations
from schema.http.etags import etag_of, is_known
from schema.http.refusals import REFUSALS, ended, out_of_time, refusal
from schema.http.request_body import Bodies, parsed_request
from schema.http.services import Services
from schema.http.settings import Settings
from schema.live import multipart, sse, sse_single

# The part of REQUEST_TIMEOUT that is left to write the answer when reads have to end.
FOR_THE_ANSWER = 0.05
# Errors that are the server's, not the client's.
FAILURES = frozenset({ErrorCode.INTERNAL, ErrorCode.TIMEOUT, ErrorCode.UNAVAILABLE})


async def graphql(request: Request) -> Response:
    """Handles a request to /graphql. The protocol and the executor do everything that is not HTTP."""
    started = time.perf_counter()
    accept = request.headers.get("accept")
    if request.method in ("GET", "HEAD") and protocol.wants_page(accept) and (page := _page(request)):
        return page
    written: bytes | None = None
    media_type = protocol.JSON
    headers: dict[str, str] = {}
    try:
        # A client that sends slowly holds no place among the requests that run.
        body = await _body(request)
        if sse_single.is_meant(request):
            return await sse_single.respond(request, body)
        if sse.is_wanted(accept, body):
            return await sse.respond(request, body)
        if multipart.is_wanted(accept, body):
            return await multipart.respond(request, body)
        media_type = protocol.media_type(accept)
        answer, written = await _run(request, body)
    except REFUSALS as error:
        answer = refusal(error)
    status = answer.status_as(media_type)
    context = _context(request)
    if context is not None:
        if answer.request_error and status != ErrorCode.RATE_LIMITED.status:
            context.allowance.owe(REFUSED_COST)
        headers |= context.allowance.headers()
    headers |= _retry_after(answer) | answer.headers
    if status == ErrorCode.METHOD_NOT_ALLOWED.status:
        headers["allow"] = "POST"
    fields = request_log.of_operation(context, len(answer.body.get("errors", ())))
    codes = [*dict.fromkeys(map(_code, answer.body.get("errors", ())))]
    fields |= {"outcome": _outcome(answer, codes, status), "error_codes": codes}
    request.state.log.update(fields)
    slow_operations.note(context, time.perf_counter() - started, fields, _settings(request).slow_operation)
    content_type = {"content-type": f"{media_type}; charset=utf-8"}
    if written is not None and _is_public(request, answer):
        return await _cacheable(request, written, content_type)
    content = orjson.dumps(answer.body) if written is None else written
    return Response(content, status, headers | content_type)


def _retry_after(answer: protocol.Answer) -> dict[str, str]:
    """Returns the header for errors that say when to try again."""
    seconds = [error.get("extensions", {}).get("retryAfter", 0) for error in answer.body.get("errors", ())]
    return {"retry-after": str(max(seconds))} if any(seconds) else {}


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
            parsed = parsed_request(request, body, services.executor.limits)
            context = request.state.context = await services.context(request)
            context.load.table.usage.trace = request.state.trace
            # Reads end a little earlier, so that fields that could not be read fail on their own.
            context.load.table.usage.deadline = deadline - settings.request_timeout * FOR_THE_ANSWER
            context.allowance.check()
            answer = await services.executor.run(parsed, context, may_mutate=request.method == "POST")
            context.executed = True
            return answer, await answer_writer.write(answer.body, context.cost, settings.max_answer_bytes)
    except OverLimit as error:
        return ended(str(error), ErrorCode.OVER_LIMIT, context), None
    except TimeoutError:
        if not timeout.expired():
            raise
        return out_of_time(settings.request_timeout, _context(request)), None


def _settings(request: Request) -> Settings:
    settings: Settings = request.app.state.services.settings
    return settings


def _context(request: Request) -> RequestContext | None:
    return getattr(request.state, "context", None)


async def _body(request: Request) -> bytes:
    bodies: Bodies = request.app.state.bodies
    return await bodies.receive(request) if request.method == "POST" else b""


def _code(error: dict[str, Any]) -> str:
    code: str = error.get("extensions", {}).get("code", ErrorCode.INTERNAL)
    return code


def _outcome(answer: protocol.Answer, codes: list[str], status: int) -> str:
    """Returns the outcome of a request: ok, partial (with errors in some fields), refused or failed."""
    if not codes:
        return "ok"
    if answer.body.get("data") is not None:
        return "partial"
    return "failed" if status >= 500 or not FAILURES.isdisjoint(codes) else "refused"
