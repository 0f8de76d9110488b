"""WebSocket on a connection: uvicorn's protocol over `websockets`, with the limits that HTTP connections have."""

import asyncio
import contextlib
import time
from asyncio import BaseTransport
from typing import Any

from uvicorn._types import ASGIReceiveEvent, ASGISendEvent
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame

from schema.http.connection_limits import Connections, Reader

PING_INTERVAL = 15.0
PONG_WITHIN = 20.0
PART = 2 * 1024
"""Bytes that are parsed at a time: a client can put thousands of frames into one packet."""
MOST_FRAGMENTS = 1_000
"""Fragments of one message. Clients send long messages in a few."""
MOST_CONTROL_FRAMES = 100
"""Pings and pongs of a client in CONTROL_WINDOW seconds."""
CONTROL_WINDOW = 10.0
LINGER = 2.0
"""Seconds that a client has to read its results when the connection is to be closed."""
HEADERS_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-type: text/plain\r\n"
    b"content-length: 59\r\n\r\na header is over 8,000 bytes; send the token as a parameter"
)
TOO_LARGE, POLICY_VIOLATION = 1009, 1008


class WebSocketProtocol(WebSocketsSansIOProtocol):
    """A connection of a client that speaks WebSocket."""

    registry: Connections
    """Set by `bound_to`."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.address = ""
        self.scope = {"state": {}}  # type: ignore[typeddict-item]
        self._reader = Reader()
        self._inbox = bytearray()
        self._receiving_since: float | None = None
        self._control_frames = 0
        self._control_since = 0.0

    @classmethod
    def bound_to(cls, registry: Connections) -> type["WebSocketProtocol"]:
        return type(cls.__name__, (cls,), {"registry": registry})

    # What the limits see of a connection.

    @property
    def is_idle(self) -> bool:
        """True without an operation, which the application keeps in the state of the connection."""
        return not self.unsent and not self.scope["state"].get("operations")

    @property
    def unsent(self) -> int:
        return self.transport.get_write_buffer_size()

    @property
    def stalled_since(self) -> float | None:
        return self._reader.stalled_since

    def overdue(self, now: float) -> str | None:
        limits = self.registry.limits
        if self._reader.is_slow(self.unsent, now, limits.write_within):
            return "slow_reader"
        is_slow = self._receiving_since is not None and now - self._receiving_since > limits.headers_within
        return "slow_sender" if is_slow else None

    def end(self) -> None:
        self.transport.abort()

    # The connection.

    def connection_made(self, transport: BaseTransport) -> None:
        super().connection_made(transport)
        self.address = self.client[0] if self.client else ""
        # `send` returns when everything is on its way, so that a slow reader gets the newest results.
        self.transport.set_write_buffer_limits(high=0)
        # It takes the place of its HTTP connection, so there is one.
        self.registry.admits(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.registry.forget(self)
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """Leaves it to the application, which ends the operations first. uvicorn waits for the connection to close."""
        if not self.handshake_complete:
            super().shutdown()

    # What a client sends.

    def data_received(self, data: bytes) -> None:
        self._inbox += data
        self._parse()

    def _parse(self) -> None:
        """Parses until there is a message for the application. Until it was taken, the rest waits."""
        while self._inbox and (self.queue.empty() or self.close_sent) and not self.transport.is_closing():
            part = bytes(self._inbox[:PART])
            del self._inbox[:PART]
            super().data_received(part)
        if self.conn.handshake_exc is not None and not self.handshake_initiated:
            # The library allows shorter headers than we do.
            self.transport.write(HEADERS_TOO_LARGE)
            self.transport.close()
        is_partial = bool(self.frames or self.conn.reader.buffer)
        self._receiving_since = (self._receiving_since or time.monotonic()) if is_partial else None

    async def receive(self) -> ASGIReceiveEvent:
        message = await self.queue.get()
        if self.queue.empty():
            self._parse()
        if self.read_paused and self.queue.empty():
            self.read_paused = False
            self.transport.resume_reading()
        return message

    def send_receive_event_to_app(self) -> None:
        """Passes a message on as bytes: the parser of JSON checks the text."""
        data = b"".join(self.frames)
        self.frames = []
        if self.close_sent:
            return
        self.queue.put_nowait({"type": "websocket.receive", "bytes": data, "text": None})
        if not self.read_paused:
            self.read_paused = True
            self.transport.pause_reading()

    def handle_cont(self, event: Frame) -> None:
        if len(self.frames) >= MOST_FRAGMENTS:
            self._fail(TOO_LARGE, f"a message has more than {MOST_FRAGMENTS} fragments; send it in fewer")
        else:
            super().handle_cont(event)

    def handle_ping(self) -> None:
        if self._may_control():
            super().handle_ping()

    def handle_pong(self, event: Frame) -> None:
        if self._may_control():
            super().handle_pong(event)

    def _may_control(self) -> bool:
        now = time.monotonic()
        if now - self._control_since > CONTROL_WINDOW:
            self._control_since, self._control_frames = now, 0
        self._control_frames += 1
        if self._control_frames > MOST_CONTROL_FRAMES:
            self._fail(POLICY_VIOLATION, "too many pings; send one every few seconds")
        return self._control_frames <= MOST_CONTROL_FRAMES

    def _fail(self, code: int, reason: str) -> None:
        if self.close_sent:
            self.transport.abort()
            return
        self.registry.refused["flood"] += 1
        self.conn.fail(code, reason)
        self.handle_parser_exception()

    # What a client is sent.

    async def send(self, message: ASGISendEvent) -> None:
        if message["type"] == "websocket.close" and not await self._is_written():
            self.registry.end(self, "slow_reader")
            return
        await super().send(message)
        if message["type"] == "websocket.send":
            await self.writable.wait()
        elif message["type"] == "websocket.close":
            self._parse()

    async def _is_written(self) -> bool:
        """Returns True if the client has got everything in a moment. The close frame would have to wait for that."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LINGER):
                await self.writable.wait()
        return self.writable.is_set()

    def send_keepalive_ping(self) -> None:
        if self.unsent:
            # It would wait behind a long message, and the limit for slow readers applies.
            self.schedule_ping()
        else:
            super().send_keepalive_ping()

    def keepalive_timeout(self) -> None:
        if self.unsent:
            self.pong_timer = self.pending_ping_payload = None
            self.schedule_ping()
        else:
            # Without a close code: a client that was asleep connects again, and would not after an error.
            self.registry.end(self, "no_pong")
