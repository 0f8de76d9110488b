"""Operations over WebSocket, as in the graphql-transport-ws protocol: one connection of a client."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable
from functools import partial
from typing import Any

from starlette.requests import HTTPConnection
from starlette.websockets import WebSocket, WebSocketDisconnect

from datastore.client.errors import DatastoreError
from resolvers.accounts.tokens import BadToken, KeysUnavailable
from resolvers.core.allowance import OverRate
from schema.http.admission import Overloaded
from schema.http.protocol import BadRequest
from schema.http.services import Services
from schema.live import connection_parameters, ws_messages
from schema.live.token_expiry import TokenExpiry
from schema.live.ws_messages import Closed, Message
from schema.live.ws_operation import WsOperation

log = logging.getLogger("heartwood.live")

INIT_WITHIN = 10.0
"""Seconds until a client has to send ConnectionInit."""
MESSAGES_AT_ONCE = 200
MESSAGES_PER_SECOND = 50
"""A client that sends more has to wait: its messages are read at this rate."""


async def serve(websocket: WebSocket) -> None:
    """Handles a connection to /graphql."""
    websocket.state.log["event"] = "websocket"
    if ws_messages.PROTOCOL not in websocket.scope["subprotocols"]:
        await websocket.accept()
        message = f"Subprotocol not acceptable; use {ws_messages.PROTOCOL}"
        await _close(websocket, Closed(ws_messages.NO_SUBPROTOCOL, message))
        return
    await websocket.accept(subprotocol=ws_messages.PROTOCOL)
    connection = WsConnection(websocket)
    await _close(websocket, await connection.run())
    await connection.finish()


async def _close(websocket: WebSocket, closed: Closed) -> None:
    websocket.state.log["close_code"] = int(closed.code)
    # If the client has closed it, that is an error.
    with contextlib.suppress(RuntimeError, WebSocketDisconnect):
        await websocket.close(closed.code, closed.reason)


class WsConnection:
    """A connection and its operations."""

    def __init__(self, websocket: WebSocket) -> None:
        self._websocket = websocket
        self._services: Services = websocket.app.state.services
        self._stopping: asyncio.Event = websocket.app.state.streams.stopping
        self._has_init = False
        self._caller: HTTPConnection | None = None
        self._expiry: TokenExpiry | None = None
        self._operations: dict[str, WsOperation] = {}
        # Those that the client has ended are not interrupted, either.
        self._running: set[WsOperation] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing: asyncio.Future[Closed] = asyncio.get_running_loop().create_future()
        self._sending = asyncio.Lock()
        self._credit = float(MESSAGES_AT_ONCE)
        self._credited_at = time.monotonic()
        # The connection is idle, for its limits, without any.
        websocket.state.operations = self._operations

    async def run(self) -> Closed:
        """Serves the connection until one side ends it. Returns how."""
        self._start(self._read())
        self._start(self._close_when_stopping())
        try:
            return await self._closing
        finally:
            self._end()

    def close(self, error: Exception) -> None:
        """Ends the connection because of this."""
        if not self._closing.done():
            self._closing.set_result(_closed_by(error))

    def _start(self, work: Awaitable[None]) -> None:
        """Runs until the connection ends. An exception ends the connection."""

        async def run() -> None:
            try:
                await work
            except Exception as error:
                self.close(error)

        task = asyncio.ensure_future(run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _end(self) -> None:
        """Ends everything, so that nothing follows the close frame."""
        for task in self._tasks:
            task.cancel()
        if self._expiry is not None:
            self._expiry.cancel()
        for operation in self._operations.values():
            operation.abandon()
        self._operations.clear()

    async def finish(self) -> None:
        """Waits for operations that have no result yet: they may be mutations, which are not interrupted."""
        await asyncio.gather(*(operation.finished() for operation in self._running))

    async def _close_when_stopping(self) -> None:
        await self._stopping.wait()
        # Those who wait for an answer get it; streams end, and go on elsewhere.
        answers = [operation.finished() for operation in self._operations.values() if not operation.has_more]
        await asyncio.gather(*answers)
        raise Closed(ws_messages.RESTARTING, "the server stops; connect again")

    # What the client sends.

    async def _read(self) -> None:
        try:
            async with asyncio.timeout(INIT_WITHIN) as timeout:
                while self._caller is None:
                    await self._handle(await self._receive())
        except TimeoutError:
            if not timeout.expired():
                raise
            raise Closed(ws_messages.INIT_TIMEOUT, "Connection initialization timeout") from None
        while True:
            await self._handle(await self._receive())

    async def _receive(self) -> Message:
        received = await self._websocket.receive()
        if received["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(received["code"], received.get("reason"))
        await self._keep_pace()
        try:
            return ws_messages.parsed(received["bytes"])
        except BadRequest as error:
            raise Closed(ws_messages.BAD_REQUEST, str(error)) from None

    async def _keep_pace(self) -> None:
        now = time.monotonic()
        earned = (now - self._credited_at) * MESSAGES_PER_SECOND
        self._credit = min(self._credit + earned, MESSAGES_AT_ONCE) - 1
        self._credited_at = now
        if self._credit < 0:
            await asyncio.sleep(-self._credit / MESSAGES_PER_SECOND)

    async def _handle(self, message: Message) -> None:
        match message.type:
            case "connection_init":
                await self._init(message.payload)
            case "ping":
                await self.send(ws_messages.pong(message.payload))
            case "subscribe":
                self._subscribe(message)
            case "complete" if operation := self._operations.pop(message.id, None):
                operation.abandon()

    async def _init(self, parameters: dict[str, Any]) -> None:
        if self._has_init:
            raise Closed(ws_messages.SECOND_INIT, "Too many initialization requests")
        self._has_init = True
        caller = connection_parameters.caller(self._websocket, parameters)
        async with self._websocket.app.state.admission:
            context = await self._services.context(caller)
        self._expiry = TokenExpiry(context.viewer, self.close)
        self._websocket.state.log["viewer"] = context.viewer.user_id
        self._caller = caller
        await self.send(ws_messages.ACK)

    def _subscribe(self, message: Message) -> None:
        if self._caller is None:
            raise Closed(ws_messages.UNAUTHORIZED, "Unauthorized; send connection_init first")
        if message.id in self._operations:
            raise Closed(ws_messages.ID_IN_USE, f"Subscriber for {message.id} already exists")
        if self._stopping.is_set():
            # The client sends it again on its next connection.
            return
        operation = WsOperation(self, self._websocket.app.state, self._caller, message)
        self._operations[message.id] = operation
        self._running.add(operation)
        operation.begin(partial(self._forget, operation), partial(self._running.discard, operation))

    def _forget(self, operation: WsOperation) -> bool:
        """Frees the ID of an operation. Returns False if the client has ended it."""
        is_open = self._operations.get(operation.id) is operation
        if is_open:
            del self._operations[operation.id]
        return is_open

    async def send(self, message: str) -> None:
        """Returns when the message is on its way. One at a time, so that a slow client holds back all results."""
        async with self._sending:
            if self._closing.done():
                raise WebSocketDisconnect
            await self._websocket.send({"type": "websocket.send", "text": message})


def _closed_by(error: Exception) -> Closed:
    """Clients connect again, with new parameters, after FORBIDDEN and TRY_AGAIN; the other codes are final."""
    match error:
        case Closed():
            return error
        case WebSocketDisconnect():
            return Closed(error.code, error.reason)
        case BadToken():
            return Closed(ws_messages.FORBIDDEN, str(error))
        case BadRequest():
            return Closed(ws_messages.BAD_REQUEST, str(error))
        case Overloaded() | OverRate() | KeysUnavailable() | DatastoreError():
            return Closed(ws_messages.TRY_AGAIN, "the server cannot check this connection now; try again")
    log.error("a WebSocket connection failed", exc_info=error)
    return Closed(ws_messages.INTERNAL, "Internal server error")
