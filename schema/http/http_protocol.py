"""HTTP/1.1 on a connection: uvicorn's protocol, with limits on what a client may send and how slowly it may read."""

import asyncio
import contextlib
import socket
import time
from typing import Any, Protocol
from weakref import ref

import httptools
import orjson
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from resolvers.core.error_codes import ErrorCode
from schema.http import protocol, request_log
from schema.http.connection_limits import Connections, Reader
from schema.http.front import complete, new_request_id

MOST_HEADER_BYTES = 32 * 1024
MOST_HEADERS = 100
MOST_URL_BYTES = 8 * 1024
CONNECTION = "heartwood.connection"
"""The extension of ASGI by which a response that is pushed finds its connection."""
MOST_PIPELINED = 32
"""Requests that may wait on a connection for the answer to an earlier one."""
MOST_DISCARDED = 10 * 1024 * 1024
"""Bytes of a body that are read and dropped after its request was answered."""
RETRY_AFTER = 5
"""Seconds after which a place for a connection may be free."""
LINGER = 2.0
"""Seconds that a client has to finish sending after the last answer of a connection."""
WEBSOCKET_PATH = b"/graphql"
HAS_BODY = (b"content-length", b"transfer-encoding")
UNSENT_IN_KERNEL = 128 * 1024
TCP_NOTSENT_LOWAT = getattr(socket, "TCP_NOTSENT_LOWAT", 25)

REFUSALS = {
    ErrorCode.BAD_REQUEST: (
        "this is not a valid HTTP/1.1 request, or it asks for another protocol; send it as plain HTTP/1.1"
    ),
    ErrorCode.URL_TOO_LONG: f"the URL is over {MOST_URL_BYTES} bytes; send the query by POST",
    ErrorCode.RATE_LIMITED: "too many connections from your address; close some, or use one for many requests",
    ErrorCode.HEADERS_TOO_LARGE: (
        f"the headers are over {MOST_HEADER_BYTES} bytes or more than {MOST_HEADERS}; send fewer"
    ),
    ErrorCode.UNAVAILABLE: "the server has too many connections; try again in a few seconds",
}


class _Refusal(Exception):
    """Ends the parsing of a request; uvicorn's parser passes it on as an error of its own."""


class _CycleTransport:
    """The part of a transport that uvicorn uses to answer a request with a body."""

    def __init__(self, connection: "HttpProtocol") -> None:
        self.write = connection.transport.write
        self.is_closing = connection.transport.is_closing
        self.close = connection.close


class Pushed(Protocol):
    """A response whose parts are written as they come, without a task that waits for them."""

    def writable(self) -> None:
        """Called when the client has got everything that was written."""

    def lost(self) -> None:
        """Called when the client is gone."""


class HttpProtocol(HttpToolsProtocol):
    """A connection of a client."""

    registry: Connections
    """Set by `bound_to`."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.address = ""
        self._reader = Reader()
        self._upgrades = False
        self._receiving_since: float | None = time.monotonic()
        self._idle_since = time.monotonic()
        self._is_in_head = True
        self._head_bytes = self._header_bytes = self._discarded = 0
        self._stopped_by: ErrorCode | None = None
        self._is_sealed = False
        self._pushed: Pushed | None = None
        self._extensions: dict[str, Any] = {CONNECTION: ref(self)}

    @classmethod
    def bound_to(cls, registry: Connections) -> type["HttpProtocol"]:
        return type(cls.__name__, (cls,), {"registry": registry})

    # What the limits see of a connection.

    @property
    def is_idle(self) -> bool:
        return not self._is_working and not self.unsent

    @property
    def unsent(self) -> int:
        return self.transport.get_write_buffer_size()

    @property
    def stalled_since(self) -> float | None:
        return self._reader.stalled_since

    @property
    def _is_working(self) -> bool:
        if self._pushed is not None:
            return True
        # A cycle that was disconnected by `_refuse` never completes.
        return self.cycle is not None and not self.cycle.response_complete and not self.cycle.disconnected

    def overdue(self, now: float) -> str | None:
        limits = self.registry.limits
        if self._reader.is_slow(self.unsent, now, limits.write_within):
            return "slow_reader"
        if self.unsent or self._is_working:
            return None
        if self._receiving_since is not None:
            return "slow_sender" if now - self._receiving_since > limits.headers_within else None
        return "idle" if now - self._idle_since > limits.idle_within else None

    def end(self) -> None:
        self.transport.abort()

    # The connection.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.address = self.client[0] if self.client else ""
        if not self.registry.admits(self):
            full = self.registry.open >= self.registry.limits.most
            self._refuse(ErrorCode.UNAVAILABLE if full else ErrorCode.RATE_LIMITED)
            self.transport.close()
            return
        # The kernel keeps little of an answer, so that progress of the reader is seen here.
        with contextlib.suppress(OSError):
            transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, TCP_NOTSENT_LOWAT, UNSENT_IN_KERNEL)

    def connection_lost(self, exc: Exception | None) -> None:
        self.registry.forget(self)
        super().connection_lost(exc)
        if self._pushed is not None:
            self._pushed.lost()

    # A response that goes on for hours, without a task.

    def start_pushing(self, pushed: Pushed) -> None:
        """From now on, `pushed` writes the body; the application may return. The client cannot send more requests."""
        self._pushed = pushed
        self._seal()
        # For uvicorn, this request is over.
        self.cycle.disconnected = True
        # The transport tells at once when there is something that the client has not taken.
        self.transport.set_write_buffer_limits(high=0)

    def push(self, chunk: bytes) -> None:
        """Writes a part of the body. If the client does not take it all at once, `writable` is called when it has."""
        self.transport.write(chunk)

    def stop_pushing(self) -> None:
        """Ends the connection, after what was written."""
        self._pushed = None
        self.transport.close()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._pushed is not None:
            self._pushed.writable()

    def close(self) -> None:
        """Ends the connection after the last answer, or after one that failed."""
        if self.cycle.response_complete and not self._is_in_head:
            self._linger()
        else:
            self.transport.close()

    def _linger(self) -> None:
        """Drops what still arrives. Closing now would reset the connection, and a client that is still sending would
        never see the answer."""
        self._is_sealed = True
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self._receiving_since = time.monotonic() - self.registry.limits.headers_within + LINGER

    def data_received(self, data: bytes) -> None:
        if self._is_sealed:
            self._discard(data)
            return
        self._unset_keepalive_if_required()
        if self._is_in_head:
            self._head_bytes += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            if self._upgrades:
                self.registry.forget(self)
                self.handle_websocket_upgrade()
            else:
                # Any other protocol is not spoken here. The request is answered as HTTP/1.1, and nothing can follow it.
                self._seal()
        except httptools.HttpParserError:
            self._refuse(self._stopped_by or ErrorCode.BAD_REQUEST)
        else:
            if self._is_in_head and self._head_bytes > MOST_HEADER_BYTES + MOST_URL_BYTES:
                self._refuse(ErrorCode.HEADERS_TOO_LARGE)

    def _seal(self) -> None:
        """Reads nothing more; the connection ends after the last answer."""
        self._is_sealed = True
        if self._is_working:
            self.cycle.keep_alive = False

    def _refuse(self, code: ErrorCode) -> None:
        """Answers what cannot be parsed, unless an earlier request is still to be answered, and ends the connection."""
        if self._is_sealed:
            return
        if self._is_working and not self._is_in_head and not self.pipeline and not self.cycle.response_started:
            # The body is malformed, and the application waits for the rest of it.
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        elif self._is_working:
            self._seal()
            return
        refusal = protocol.Answer.refused(REFUSALS[code], code, RETRY_AFTER if code.retryable else None)
        body = orjson.dumps(refusal.body)
        given = [(b"content-type", b"application/json; charset=utf-8"), (b"content-length", str(len(body)).encode())]
        given += [(name.encode(), value.encode()) for name, value in refusal.headers.items()]
        request_id = new_request_id()
        headers = [*self.server_state.default_headers, *complete(given, request_id), (b"connection", b"close")]
        lines = [STATUS_LINE[code.status], *(name + b": " + value + b"\r\n" for name, value in headers), b"\r\n", body]
        self.transport.write(b"".join(lines))
        request_log.write_refused(self.address, request_id, code.status)
        self._linger()

    # Callbacks of the parser.

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._upgrades = False
        self._receiving_since = time.monotonic()
        self._header_bytes = self._discarded = 0

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        if len(self.url) > MOST_URL_BYTES:
            self._stop(ErrorCode.URL_TOO_LONG)

    def on_header(self, name: bytes, value: bytes) -> None:
        # The parser leaves the space behind a value, which is not part of it.
        super().on_header(name, value.rstrip(b" \t"))
        self._header_bytes += len(name) + len(value) + 4
        if len(self.headers) > MOST_HEADERS or self._header_bytes > MOST_HEADER_BYTES:
            self._stop(ErrorCode.HEADERS_TOO_LARGE)

    def on_headers_complete(self) -> None:
        self._is_in_head = False
        self.scope["extensions"] = self._extensions
        if self.parser.should_upgrade() and any(name in HAS_BODY for name, _ in self.headers):
            # The parser takes the body for the other protocol's.
            self._stop(ErrorCode.BAD_REQUEST)
        if self._is_working and len(self.pipeline) >= MOST_PIPELINED:
            # The client learns from `connection: close` which of its requests it has to send again.
            self._stop(ErrorCode.BAD_REQUEST)
        self._upgrades = self.parser.should_upgrade() and self._wants_websocket()
        super().on_headers_complete()
        if self._upgrades:
            return
        if any(name in HAS_BODY for name, _ in self.headers):
            self.cycle.transport = _CycleTransport(self)  # type: ignore[assignment]
        if self.expect_100_continue:
            # If it is refused, the client does not send the body, and the next request could be taken for it.
            self.cycle.keep_alive = False

    def _wants_websocket(self) -> bool:
        """Returns False while an earlier request is being answered: its answer would be lost."""
        is_here = self.parser.get_method() == b"GET" and self.url.partition(b"?")[0] == WEBSOCKET_PATH
        return is_here and not self._is_working and super()._should_upgrade()

    def _should_upgrade(self) -> bool:
        return self._upgrades

    def on_body(self, body: bytes) -> None:
        super().on_body(body)
        if self.cycle.response_complete:
            self._discard(body)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._receiving_since = None
        self._idle_since = time.monotonic()
        self._is_in_head = True
        self._head_bytes = 0

    def on_response_complete(self) -> None:
        self._idle_since = time.monotonic()
        super().on_response_complete()

    def _discard(self, data: bytes) -> None:
        self._discarded += len(data)
        if self._discarded > MOST_DISCARDED:
            self.transport.abort()

    def _stop(self, code: ErrorCode) -> None:
        self._stopped_by = code
        raise _Refusal
