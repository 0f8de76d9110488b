"""One operation of a WebSocket connection, from Subscribe to Complete."""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any, Protocol
from uuid import uuid4

from starlette.datastructures import State
from starlette.requests import HTTPConnection
from starlette.websockets import WebSocketDisconnect

from resolvers.accounts.tokens import BadToken
from resolvers.core.allowance import REFUSED_COST
from resolvers.core.error_codes import ErrorCode
from schema.declare.context import RequestContext
from schema.declare.errors import INTERNAL
from schema.http import protocol, request_log
from schema.http.admission import Overloaded
from schema.http.client_address import client_address, subject
from schema.http.protocol import Answer
from schema.http.refusals import REFUSALS, refusal
from schema.http.services import Services
from schema.live import connection_parameters, ws_messages
from schema.live.deferred_parts import DeferredParts
from schema.live.follower import Follower
from schema.live.open_streams import Counted
from schema.live.starting import Starting
from schema.live.streams import Once, Stream
from schema.live.ws_messages import Message

log = logging.getLogger("heartwood.live")

TRANSPORT = "websocket"
OVERLOADED = "the server is overloaded and did not start this operation; try again in a second"


class Sender(Protocol):
    """The connection of an operation."""

    async def send(self, message: str) -> None:
        """Returns when the message is on its way."""

    def close(self, error: Exception) -> None:
        """Ends the connection."""


class WsOperation:
    """Sends the results. The next one is taken when the client has got the one before."""

    def __init__(self, connection: Sender, state: State, caller: HTTPConnection, message: Message) -> None:
        self.id = message.id
        self._connection = connection
        self._state = state
        self._caller = caller
        self._payload = message.payload
        self._services: Services = state.services
        self._starting = Starting(state, self._context)
        self._stream: Stream | None = None
        self._is_abandoned = False
        self._results = self._errors = 0
        self._fields: dict[str, Any] = {}
        self._task: asyncio.Task[None] | None = None

    @property
    def has_more(self) -> bool:
        """True if it may have more results than one."""
        return self._stream is not None and not isinstance(self._stream, Once)

    def begin(self, ended: Callable[[], bool], finished: Callable[[], None]) -> None:
        """`ended` is called before the last message, `finished` when nothing is left to do.

        `ended` returns False if the client has ended the operation.
        """
        self._task = asyncio.ensure_future(self._run(ended))
        self._task.add_done_callback(lambda _: finished())

    def abandon(self) -> None:
        """Ends it for a client that does not want more. What has no result yet is not interrupted, as over HTTP."""
        self._is_abandoned = True
        if self._stream is not None and self._task is not None:
            self._task.cancel()

    async def finished(self) -> None:
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _run(self, ended: Callable[[], bool]) -> None:
        began = time.perf_counter()
        try:
            last = await self._last_message()
            if ended():
                await self._connection.send(last)
        except BadToken as error:
            self._connection.close(error)
        except WebSocketDisconnect:
            pass
        finally:
            ended()
            self._write_log(time.perf_counter() - began)

    async def _last_message(self) -> str:
        """Sends the results; returns the message that ends the operation."""
        try:
            with self._state.streams.one_of(subject(client_address(self._caller)), TRANSPORT) as counted:
                return await self._send_results(counted)
        except (BadToken, WebSocketDisconnect):
            raise
        except Overloaded:
            return self._refused(Answer.refused(OVERLOADED, ErrorCode.UNAVAILABLE, 1))
        except REFUSALS as error:
            return self._refused(refusal(error))
        except Exception as error:
            error_id = uuid4().hex
            log.error("error %s in an operation over WebSocket", error_id, exc_info=error)
            extensions = {"code": ErrorCode.INTERNAL, "id": error_id}
            return self._refused(Answer({"errors": [{"message": INTERNAL, "extensions": extensions}]}))

    async def _send_results(self, counted: Counted) -> str:
        limits = self._services.executor.limits
        started = await self._starting.start(lambda: protocol.from_values(self._payload, limits), counted)
        if isinstance(started, Answer):
            return self._refused(started)
        self._stream = started
        self._fields = request_log.of_operation(self._starting.context, 0)
        self._starting.forget()
        try:
            while not self._is_abandoned and (result := await started.next()) is not None:
                self._results += 1
                await self._connection.send(ws_messages.next_result(self.id, result))
        finally:
            if isinstance(started, Follower | DeferredParts):
                self._fields |= started.figures
            started.close()
        return ws_messages.complete(self.id)

    def _refused(self, answer: Answer) -> str:
        errors: list[Any] = answer.body["errors"]
        self._errors = len(errors)
        context = self._starting.context
        if context is not None and answer.request_error and answer.status != ErrorCode.RATE_LIMITED.status:
            context.allowance.owe(REFUSED_COST)
        return ws_messages.errors(self.id, errors)

    async def _context(self) -> RequestContext:
        extensions = self._payload.get("extensions") or {}
        return await self._services.context(connection_parameters.for_operation(self._caller, extensions))

    def _write_log(self, seconds: float) -> None:
        fields = self._fields or request_log.of_operation(self._starting.context, self._errors)
        if self.has_more:
            fields["event"] = "stream"
        else:
            self._state.metrics.executed(seconds, fields)
        request_log.write_operation(seconds, fields | {"transport": TRANSPORT, "results": self._results})
