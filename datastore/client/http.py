"""A pooled HTTP/1.1 client for one host: sends a POST, returns the status and the body.

A general-purpose client spends most of a GetItem's CPU on redirects, cookies, proxies and header maps, which DynamoDB
does not use. This client supports only one request at a time per connection and responses with a Content-Length. The
caller limits the number of concurrent requests.

Timeouts are detected by checking all open connections a few times a second: a timer per request would cost a tenth of
its CPU, and nearly all timers would be canceled.
"""

import asyncio
import math
import ssl
from collections import deque
from collections.abc import Callable, Mapping
from typing import cast
from urllib.parse import urlsplit

import httptools

KEEP_IDLE = 60.0
LOOK_EVERY = 0.05


class Disconnected(Exception):
    """The connection closed before the response was complete. The request may have been executed."""


class NotSent(Disconnected):
    """No connection, or it closed before the request was written to it. The request was not executed."""


class HttpClient:
    """A client, bound to the event loop that uses it first."""

    def __init__(self, url: str, *, tls: ssl.SSLContext | None = None, keep_idle: float = KEEP_IDLE) -> None:
        parts = urlsplit(url)
        secure = parts.scheme == "https"
        self._host = parts.hostname or ""
        self._port = parts.port or (443 if secure else 80)
        self._tls = (tls or ssl.create_default_context()) if secure else None
        self._keep_idle = keep_idle
        self._head = f"POST {parts.path or '/'} HTTP/1.1\r\nHost: {parts.netloc}\r\n"
        # The most recently used connection is reused first, so that surplus ones become idle.
        self._idle: deque[_Connection] = deque()
        self._open: set[_Connection] = set()
        self._looking: asyncio.TimerHandle | None = None

    async def post(self, headers: Mapping[str, str], body: bytes, seconds: float = math.inf) -> tuple[int, bytes]:
        """Returns status and body. Raises NotSent, Disconnected, or TimeoutError if no response came in `seconds`.

        If the caller is canceled while waiting, its connection is closed.
        """
        lines = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
        request = f"{self._head}{lines}Content-Length: {len(body)}\r\n\r\n".encode("latin-1") + body
        connection = self._take_idle() or await self._connect(seconds)
        if self._looking is None:
            self._looking = connection.loop.call_later(LOOK_EVERY, self._look)
        answer = await connection.exchange(request, connection.loop.time() + seconds)
        if connection.reusable:
            connection.idle_since = connection.loop.time()
            self._idle.append(connection)
        return answer

    async def close(self) -> None:
        """Closes all connections immediately, without a TLS shutdown. Calls in flight raise Disconnected."""
        closing = [connection.abort() for connection in list(self._open)]
        self._idle.clear()
        if self._looking is not None:
            self._looking.cancel()
            self._looking = None
        if closing:
            await asyncio.wait(closing)

    def _take_idle(self) -> "_Connection | None":
        while self._idle:
            connection = self._idle.pop()
            if connection.loop.time() - connection.idle_since < self._keep_idle:
                return connection
            connection.abort()
        return None

    def _look(self) -> None:
        """Fails requests that have timed out; checks again while requests are in flight."""
        self._looking = None
        waiting = [connection for connection in self._open if connection.is_asked]
        for connection in waiting:
            connection.end_if_late()
        if waiting:
            self._looking = waiting[0].loop.call_later(LOOK_EVERY, self._look)

    async def _connect(self, seconds: float) -> "_Connection":
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(None if seconds == math.inf else seconds):
                _, connection = await loop.create_connection(
                    lambda: _Connection(loop, self._forget), self._host, self._port, ssl=self._tls
                )
        except TimeoutError:
            raise NotSent(f"connecting to {self._host}:{self._port} timed out") from None
        except OSError as error:  # includes ssl.SSLError
            raise NotSent(f"cannot connect to {self._host}:{self._port}: {error}") from error
        self._open.add(connection)
        return connection

    def _forget(self, connection: "_Connection") -> None:
        self._open.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)


class _Connection(asyncio.Protocol):
    """One socket. httptools calls its on_… methods as a response arrives."""

    def __init__(self, loop: asyncio.AbstractEventLoop, on_lost: Callable[["_Connection"], None]) -> None:
        self.loop = loop
        self.idle_since = 0.0
        self.reusable = True
        self._deadline = math.inf
        self._on_lost = on_lost
        self._parser = httptools.HttpResponseParser(self)
        self._lost: asyncio.Future[None] = loop.create_future()
        self._waiter: asyncio.Future[tuple[int, bytes]] | None = None
        self._chunks: list[bytes] = []

    async def exchange(self, request: bytes, deadline: float) -> tuple[int, bytes]:
        if self._lost.done():
            raise NotSent("the connection was closed while it was idle")
        self._deadline = deadline
        self._waiter = self.loop.create_future()
        self._transport.write(request)
        try:
            return await self._waiter
        except BaseException:
            # A late response must not be mistaken for that of the next request.
            self.abort()
            raise
        finally:
            self._waiter = None

    def abort(self) -> "asyncio.Future[None]":
        self.reusable = False
        self._transport.abort()
        return self._lost

    def end_if_late(self) -> None:
        if self._waiter is not None and not self._waiter.done() and self.loop.time() >= self._deadline:
            self._waiter.set_exception(TimeoutError())

    @property
    def is_asked(self) -> bool:
        return self._waiter is not None and not self._waiter.done()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail(f"the response is not valid HTTP: {error!r}")
            self.abort()

    def connection_lost(self, error: Exception | None) -> None:
        self.reusable = False
        self._on_lost(self)
        self._fail(f"the connection closed before the response was complete: {error or 'closed by the server'}")
        if not self._lost.done():
            self._lost.set_result(None)

    def on_message_begin(self) -> None:
        if not self.is_asked:
            self.abort()  # an unexpected response, which must not be taken for that of the next request

    def on_body(self, chunk: bytes) -> None:
        self._chunks.append(chunk)

    def on_message_complete(self) -> None:
        status = self._parser.get_status_code()
        chunks, self._chunks = self._chunks, []
        if status < 200 or self._waiter is None or self._waiter.done():
            return
        if not self._parser.should_keep_alive():
            self.abort()
        self._waiter.set_result((status, chunks[0] if len(chunks) == 1 else b"".join(chunks)))

    def _fail(self, why: str) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(Disconnected(why))
