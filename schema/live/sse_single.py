"""Results over server-sent events in the single connection mode of the GraphQL over SSE protocol.

PUT reserves a stream, GET opens it, POST starts an operation whose results come over it, and DELETE ends one.
"""

from contextlib import ExitStack
from functools import partial
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse

from resolvers.core.allowance import REFUSED_COST
from resolvers.core.error_codes import ErrorCode
from schema.http import protocol, request_log
from schema.http.client_address import client_address, subject
from schema.http.protocol import Answer, BadRequest
from schema.http.responses import Json
from schema.http.services import Services
from schema.live.event_stream import HEADERS, MEDIA_TYPE
from schema.live.sse_channel import Channel, Channels
from schema.live.starting import Starting

TOKEN = "x-graphql-event-stream-token"  # noqa: S105  the name of a header
CONFLICT = 409
ONE_PROCESS = (
    "this server has several processes, so it does not offer a single connection for server-sent events; "
    "use one for each operation, or WebSocket"
)
NO_STREAM = "there is no such event stream on this server; reserve one with PUT, and send it to the same server"


def is_meant(request: Request) -> bool:
    """Returns True if a request is part of this mode."""
    return request.method in ("PUT", "DELETE") or _token(request) is not None


def _token(request: Request) -> str | None:
    return request.headers.get(TOKEN) or request.query_params.get("token")


async def respond(request: Request, body: bytes) -> Response:
    """Handles a request of this mode. Raises one of REFUSALS."""
    request.state.log.update({"event": "stream", "transport": "sse"})
    if request.method == "PUT":
        return await _reserve(request)
    channel = await _channel(request)
    if request.method == "DELETE":
        channel.stop(_id(request.query_params.get("operationId")))
        return Response(status_code=200)
    if request.headers.get("accept", "").startswith(MEDIA_TYPE):
        return _open(request, channel)
    return await _start(request, channel, body)


async def _reserve(request: Request) -> Response:
    services: Services = request.app.state.services
    channels: Channels = request.app.state.channels
    if services.settings.workers > 1:
        raise BadRequest(ONE_PROCESS)
    context = await services.context(request)
    context.allowance.check()
    channel = channels.reserve(context.viewer.user_id, subject(client_address(request)))
    return PlainTextResponse(channel.token, 201)


async def _channel(request: Request) -> Channel:
    """Returns the channel of a token, for the user who has reserved it.

    The token alone may open it, because the browser's EventSource sends no headers.
    """
    services: Services = request.app.state.services
    channels: Channels = request.app.state.channels
    channel = channels.get(_token(request) or "")
    if channel is not None and (request.method == "POST" or "authorization" in request.headers):
        viewer = await services.viewer(request)
        channel = channel if viewer.user_id == channel.owner else None
    if channel is None:
        raise BadRequest(NO_STREAM, ErrorCode.NOT_FOUND)
    return channel


def _open(request: Request, channel: Channel) -> Response:
    if channel.is_open:
        return _conflict("this event stream is open already; reserve another one with PUT")
    channel.is_open = True
    events = channel.events(request.app.state.streams, request.state.log)
    return StreamingResponse(events, media_type=MEDIA_TYPE, headers=HEADERS)


async def _start(request: Request, channel: Channel, body: bytes) -> Response:
    services: Services = request.app.state.services
    values = protocol.read_json(body, "the body") if request.method == "POST" else dict(request.query_params)
    id = _id(_operation_id(values))
    if not channel.claim(id):
        return _conflict("an operation with this ID is running on this event stream; use another ID")
    starting = Starting(request.app.state, partial(services.context, request))
    parsed = partial(protocol.from_values, values, services.executor.limits)
    if request.method != "POST":
        parsed = partial(protocol.from_query, request.query_params, services.executor.limits)
    held = ExitStack()
    try:
        counted = held.enter_context(request.app.state.streams.one_of(subject(client_address(request)), "sse"))
        started = await starting.start(parsed, counted, may_mutate=request.method == "POST")
    except BaseException:
        channel.stop(id)
        held.close()
        raise
    request.state.log.update(request_log.of_operation(starting.context, 0))
    if isinstance(started, Answer):
        channel.stop(id)
        held.close()
        return _refused(request, started, starting)
    channel.start(id, started, starting.forget(), held)
    return Response(status_code=202)


def _operation_id(values: Any) -> Any:
    extensions = values.get("extensions") if isinstance(values, dict) else None
    if isinstance(extensions, str):
        extensions = protocol.read_json(extensions.encode(), "`extensions`")
    return extensions.get("operationId") if isinstance(extensions, dict) else None


def _id(given: Any) -> str:
    if not isinstance(given, str) or not 1 <= len(given) <= 200:
        raise BadRequest("`operationId` is missing; send it in `extensions`, or in the URL of DELETE")
    return given


def _refused(request: Request, answer: Answer, starting: Starting) -> Response:
    if starting.context is not None:
        starting.context.allowance.owe(REFUSED_COST)
    request.state.log["errors"] = len(answer.body["errors"])
    content = orjson.dumps(answer.body)
    return Response(content, answer.status or 400, {"content-type": "application/json; charset=utf-8"})


def _conflict(message: str) -> Response:
    return Json(Answer.refused(message, ErrorCode.BAD_REQUEST).body, CONFLICT)
