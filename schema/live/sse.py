"""Results over server-sent events, as in the distinct connections mode of the GraphQL over SSE protocol."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from loaders.viewer import Viewer
from resolvers.core.allowance import REFUSED_COST
from resolvers.core.error_codes import ErrorCode
from schema.declare.context import RequestContext
from schema.execution.incremental.directives import is_incremental
from schema.http import protocol, request_log
from schema.http.client_address import client_address, subject
from schema.http.protocol import Answer
from schema.http.refusals import REFUSALS, refusal
from schema.http.request_body import parsed_request
from schema.http.services import Services
from schema.live.deferred_parts import DeferredParts
from schema.live.event_stream import COMMENT, COMPLETE, HEADERS, KEEP_ALIVE, MEDIA_TYPE, EventStream, event_of
from schema.live.follower import Follower
from schema.live.open_streams import OpenStreams
from schema.live.starting import Starting
from schema.live.streams import Stream
from schema.live.token_expiry import TokenExpiry

ANSWERS = (protocol.JSON, protocol.GRAPHQL_RESPONSE, "*/*")
# Words of operations with several results.
STREAMED = (b"@live", b"subscription")


def is_wanted(accept: str | None, body: bytes) -> bool:
    """Returns True if the client prefers events to a single answer, or accepts them and may get several results.

    Clients such as urql accept both for all of their requests.
    """
    names = [name for name in protocol.by_preference(accept or "") if name in (MEDIA_TYPE, *ANSWERS)]
    is_streamed = any(word in body for word in STREAMED) or is_incremental(body)
    return MEDIA_TYPE in names[:1] or (MEDIA_TYPE in names and is_streamed)


async def respond(request: Request, body: bytes) -> Response:
    """Starts an operation. The first result is there before the response begins, or the reason why there is none."""
    services: Services = request.app.state.services
    streams: OpenStreams = request.app.state.streams
    starting = Starting(request.app.state, partial(services.context, request))
    parsed = partial(parsed_request, request, body, services.executor.limits)
    held = ExitStack()
    try:
        counted = held.enter_context(streams.one_of(subject(client_address(request)), "sse"))
        started = await starting.start(parsed, counted, may_mutate=request.method == "POST")
    except BaseException as error:
        held.close()
        if isinstance(error, REFUSALS):
            return _refused(request, refusal(error), starting.context)
        raise
    if isinstance(started, Answer):
        held.close()
        return _refused(request, started, starting.context)
    request.state.log.update(request_log.of_operation(starting.context, 0) | {"event": "stream", "transport": "sse"})
    viewer = starting.forget()
    if isinstance(started, Follower):
        held.callback(TokenExpiry(viewer, started.fail).cancel)
        return EventStream(started, streams, request.state.log, held.close)
    events = _events(started, streams, viewer, request.state.log, held.close)
    return StreamingResponse(events, media_type=MEDIA_TYPE, headers=HEADERS)


async def _events(
    stream: Stream, streams: OpenStreams, viewer: Viewer, fields: dict[str, Any], closed: Callable[[], object]
) -> AsyncIterator[bytes]:
    """Yields the results. The next one is taken when the client has got the one before."""
    stopping: asyncio.Future[Any] = asyncio.ensure_future(streams.stopping.wait())
    expiring: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    expiry = TokenExpiry(viewer, expiring.set_exception)
    coming: asyncio.Future[Any] | None = None
    fields["results"] = 0
    try:
        # The first part sends the headers: the client knows that the operation has begun.
        yield COMMENT
        while not streams.stopping.is_set():
            coming = coming or asyncio.ensure_future(stream.next())
            waiting = [coming, stopping, expiring]
            await asyncio.wait(waiting, timeout=KEEP_ALIVE, return_when=asyncio.FIRST_COMPLETED)
            if not coming.done() and not expiring.done():
                yield COMMENT
                continue
            try:
                if expiring.done():
                    expiring.result()
                result, coming = coming.result(), None
            except REFUSALS as error:
                yield event_of(orjson.dumps(refusal(error).body))
                result = None
            if result is None:
                yield COMPLETE
                return
            fields["results"] += 1
            yield event_of(result)
    finally:
        expiry.cancel()
        for task in (stopping, expiring, coming):
            if task is not None:
                task.cancel()
        if isinstance(stream, DeferredParts):
            fields |= stream.figures
        stream.close()
        closed()


def _refused(request: Request, answer: Answer, context: RequestContext | None) -> Response:
    """Answers an operation that cannot be executed. Clients of this protocol read the reason from the events."""
    headers = dict(answer.headers)
    if context is not None:
        context.allowance.owe(REFUSED_COST)
        headers |= context.allowance.headers()
    request.state.log.update({"event": "stream", "errors": len(answer.body["errors"])})
    if answer.status == ErrorCode.METHOD_NOT_ALLOWED.status:
        headers["allow"] = "POST"
    if answer.status is not None:
        headers["content-type"] = "application/json; charset=utf-8"
        return Response(orjson.dumps(answer.body), answer.status, headers)
    return Response(event_of(orjson.dumps(answer.body)) + COMPLETE, 200, headers | HEADERS, MEDIA_TYPE)
