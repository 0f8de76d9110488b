"""Results with deferred parts as one multipart response, as in the Incremental Delivery over HTTP proposal."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack
from functools import partial
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from resolvers.core.allowance import REFUSED_COST
from resolvers.core.error_codes import ErrorCode
from schema.declare.context import RequestContext
from schema.execution.incremental.directives import is_incremental
from schema.http import protocol, request_log
from schema.http.client_address import client_address, subject
from schema.http.protocol import Answer, BadRequest
from schema.http.refusals import REFUSALS, refusal
from schema.http.request_body import parsed_request
from schema.http.services import Services
from schema.live.deferred_parts import DeferredParts
from schema.live.open_streams import OpenStreams
from schema.live.starting import Starting
from schema.live.streams import Once, Stream

NAME = "multipart/mixed"
MEDIA_TYPE = 'multipart/mixed; boundary="-"; incrementalSpec=v0.2'
# The specification whose format these results have. Clients name others, with parameters of their own.
SPECIFICATION = "incrementalspec=v0.2"
OTHER_FORMATS = ("deferspec=", "incrementalspec=", "subscriptionspec=")
BEGIN = b"\r\n---"
PART = b"\r\ncontent-type: application/json; charset=utf-8\r\n\r\n"
END = b"--\r\n"
# Proxies must neither keep nor change the parts.
HEADERS = {"cache-control": "no-store, no-transform", "x-accel-buffering": "no"}


def is_wanted(accept: str | None, body: bytes) -> bool:
    """Returns True if the request may have deferred parts, and the client reads these results."""
    return bool(accept) and is_incremental(body) and any(map(_reads, str(accept).split(",")))


def _reads(entry: str) -> bool:
    name, weight = protocol.quality(entry)
    parameters = [part.strip().lower().replace('"', "") for part in entry.split(";")[1:]]
    return (
        name == NAME
        and weight > 0
        and all(part == SPECIFICATION or not part.startswith(OTHER_FORMATS) for part in parameters)
    )


async def respond(request: Request, body: bytes) -> Response:
    """Starts an operation. The first result is there before the response begins, or the reason why there is none."""
    services: Services = request.app.state.services
    streams: OpenStreams = request.app.state.streams
    starting = Starting(request.app.state, partial(services.context, request))
    parsed = partial(parsed_request, request, body, services.executor.limits)
    started: Answer | Stream
    with ExitStack() as held:
        try:
            counted = held.enter_context(streams.one_of(subject(client_address(request)), "multipart"))
            started = await starting.start(parsed, counted, may_be_followed=False)
        except REFUSALS as error:
            started = refusal(error)
        context = starting.context
        if isinstance(started, Answer):
            return _single(request, started, context)
        request.state.log.update(request_log.of_operation(context, 0) | {"event": "stream", "transport": "multipart"})
        if isinstance(started, Once) and (kind := _single_type(request)):
            headers = _rates(context) | {"content-type": f"{kind}; charset=utf-8"}
            return Response(await started.next(), headers=headers)
        return Multipart(started, streams, request.state.log, held.pop_all(), _rates(context))


class Multipart(StreamingResponse):
    """A response that ends its operation when the client has all of it, or is gone."""

    def __init__(
        self,
        stream: Stream,
        streams: OpenStreams,
        fields: dict[str, Any],
        held: ExitStack,
        headers: dict[str, str],
    ) -> None:
        super().__init__(_parts(stream, streams, fields), headers=headers | HEADERS | {"content-type": MEDIA_TYPE})
        self._stream = stream
        self._fields = fields
        self._held = held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            if isinstance(self._stream, DeferredParts):
                self._fields |= self._stream.figures
            self._stream.close()
            self._held.close()


async def _parts(stream: Stream, streams: OpenStreams, fields: dict[str, Any]) -> AsyncIterator[bytes]:
    """Yields the results, each with the boundary that ends it: clients read a part when it is complete."""
    stopping: asyncio.Future[Any] = asyncio.ensure_future(streams.stopping.wait())
    coming: asyncio.Future[bytes | None] | None = None
    fields["results"] = 0
    before = BEGIN
    try:
        while True:
            coming = asyncio.ensure_future(stream.next())
            await asyncio.wait([coming, stopping], return_when=asyncio.FIRST_COMPLETED)
            if not coming.done() or (result := coming.result()) is None:
                break
            fields["results"] += 1
            yield before + PART + result + BEGIN
            before = b""
        yield END
    finally:
        for task in (stopping, coming):
            if task is not None:
                task.cancel()


def _single(request: Request, answer: Answer, context: RequestContext | None) -> Response:
    """Answers an operation that is not executed with JSON, which every client reads."""
    kind = _single_type(request) or protocol.JSON
    status = answer.status_as(kind)
    if context is not None and answer.request_error and status != ErrorCode.RATE_LIMITED.status:
        context.allowance.owe(REFUSED_COST)
    errors = len(answer.body["errors"])
    request.state.log.update(request_log.of_operation(context, errors) | {"event": "stream", "transport": "multipart"})
    headers = _rates(context) | answer.headers | {"content-type": f"{kind}; charset=utf-8"}
    return Response(orjson.dumps(answer.body), status, headers)


def _single_type(request: Request) -> str | None:
    """Returns the media type of an answer without parts; None for a client that reads multipart responses only."""
    try:
        return protocol.media_type(request.headers.get("accept"))
    except BadRequest:
        return None


def _rates(context: RequestContext | None) -> dict[str, str]:
    return {} if context is None else dict(context.allowance.headers())
