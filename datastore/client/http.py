"""A pooled HTTP/1.1 client for one host: sends a request, returns the status and the body.

A general-purpose client spends most of a GetItem's CPU on redirects, cookies and header maps, which DynamoDB does not
use. This client supports only one request at a time per connection. The caller limits how many there are at once.

Timeouts are detected by checking all open connections a few times a second: a timer per request would cost a tenth of
its CPU, and nearly all timers would be canceled.
"""

import asyncio
import math
import re
import ssl
from collections import deque
from collections.abc import Callable, Mapping
from typing import cast
from urllib.parse import urlsplit

import httptools

from datastore.client.connecting import Connector

KEEP_IDLE = 60.0
LOOK_EVERY = 0.05
# DynamoDB sends at most 16 MB of items, which are less than three times as long in JSON.
MOST_OF_A_RESPONSE = 64 * 1024 * 1024
MOST_OF_A_HEAD = 64 * 1024

_date_header = re.compile(rb"\r\ndate:[ \t]*([^\r]*)\r\n", re.IGNORECASE).search


class Disconnected(Exception):
    """The connection closed before the response was complete. The request may have been executed."""


class NotSent(Disconnected):
    """No connection, or it closed before the request was written to it. The request was not executed."""


class ResponseTooLarge(Exception):
    """The response is longer than DynamoDB's can be; the rest was not read. The request may have been executed."""


class HttpClient:
    """A client, bound to the event loop that uses it first. `error_date` is the Date of the latest error response."""

    def __init__(
        self,
        url: str,
        *,
        tls: ssl.SSLContext | None = None,
        proxy: str | None = None,
        keep_idle: float = KEEP_IDLE,
        most: int = MOST_OF_A_RESPONSE,
    ) -> None:
        parts = urlsplit(url)
        secure = parts.scheme == "https"
        self._connector = Connector(url, (tls or ssl.create_default_context()) if secure else None, proxy)
        self._keep_idle = keep_idle
        self._most = most
        self._host_lines = f"HTTP/1.1\r\nHost: {parts.netloc}\r\n{self._connector.headers}"
        self._head = f"POST {self._connector.target} {self._host_lines}"
        self.error_date = b""
        # The most recently used connection is reused first, so that surplus ones become idle.
        self._idle: deque[_Connection] = deque()
        self._open: set[_Connection] = set()
        self._looking: asyncio.TimerHandle | None = None
        self._was_blocked = False

    async def post(self, headers: Mapping[str, str], body: bytes, seconds: float = math.inf) -> tuple[int, bytes]:
        """Returns status and body.

        Raises NotSent, Disconnected, ResponseTooLarge, or TimeoutError if no response came in `seconds`.

        If the caller is canceled while waiting, its connection is closed.
        """
        return await self._send(self._head, headers, body, seconds)

    async def request(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes, seconds: float = math.inf
    ) -> tuple[int, bytes]:
        """Like `post`, with another method and a path below that of the URL. The path is quoted already."""
        target = self._connector.target.rstrip("/") + path
        return await self._send(f"{method} {target} {self._host_lines}", headers, body, seconds)

    async def _send(self, head: str, headers: Mapping[str, str], body: bytes, seconds: float) -> tuple[int, bytes]:
        lines = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
        request = f"{head}{lines}Content-Length: {len(body)}\r\n\r\n".encode("latin-1") + body
        connection = self._take_idle() or await self._connect(seconds)
        if self._looking is None:
            self._looking = connection.loop.call_later(LOOK_EVERY, self._look)
        answer = await connection.exchange(request, connection.loop.time() + seconds)
        if connection.reusable:
            connection.idle_since = connection.loop.time()
            self._idle.append(connection)
        if answer[0] >= 400:
            self.error_date = connection.date
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
        due, self._looking = self._looking.when() if self._looking else math.inf, None
        waiting = [connection for connection in self._open if connection.is_asked]
        if not waiting:
            return
        # If the event loop was blocked, responses may have arrived that are not read yet: they are read first, once.
        self._was_blocked = not self._was_blocked and waiting[0].loop.time() > due + LOOK_EVERY
        if not self._was_blocked:
            for connection in waiting:
                connection.end_if_late()
        self._looking = waiting[0].loop.call_later(LOOK_EVERY, self._look)

    async def _connect(self, seconds: float) -> "_Connection":
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(None if seconds == math.inf else seconds):
                connection = await self._connector.open(lambda: _Connection(loop, self._forget, self._most))
        except TimeoutError:
            raise NotSent(f"connecting to {self._connector.name} timed out") from None
        except OSError as error:  # includes ssl.SSLError
            raise NotSent(f"cannot connect to {self._connector.name}: {error}") from error
        self._open.add(connection)
        return connection

    def _forget(self, connection: "_Connection") -> None:
        self._open.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)


class _Connection(asyncio.Protocol):
    """One socket. httptools calls its on_… methods as a response arrives."""

    def __init__(self, loop: asyncio.AbstractEventLoop, on_lost: Callable[["_Connection"], None], most: int) -> None:
        self.loop = loop
        self._beginning = b""
        self.idle_since = 0.0
        self.reusable = True
        self._deadline = math.inf
        self._on_lost = on_lost
        self._parser = httptools.HttpResponseParser(self)
        self._lost: asyncio.Future[None] = loop.create_future()
        self._waiter: asyncio.Future[tuple[int, bytes]] | None = None
        self._chunks: list[bytes] = []
        self._most = most
        self._received = 0
        self._has_head = False

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
    def date(self) -> bytes:
        """The Date of the latest response, which is looked up only if it is needed."""
        found = _date_header(self._beginning)
        return found[1] if found else b""

    @property
    def is_asked(self) -> bool:
        return self._waiter is not None and not self._waiter.done()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if not self._received:
            self._beginning = data
        self._received += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail(Disconnected(f"the response is not valid HTTP: {error!r}"))
            self.abort()
            return
        if self._received > (self._most if self._has_head else MOST_OF_A_HEAD):
            what = (
                f"response is over {self._most}" if self._has_head else f"head of the response is over {MOST_OF_A_HEAD}"
            )
            self._fail(ResponseTooLarge(f"the {what} bytes"))
            self.abort()

    def connection_lost(self, error: Exception | None) -> None:
        self.reusable = False
        self._on_lost(self)
        why = error or "closed by the server"
        self._fail(Disconnected(f"the connection closed before the response was complete: {why}"))
        if not self._lost.done():
            self._lost.set_result(None)

    def on_message_begin(self) -> None:
        if not self.is_asked:
            self.abort()  # an unexpected response, which must not be taken for that of the next request

    def on_headers_complete(self) -> None:
        self._has_head = True

    def on_body(self, chunk: bytes) -> None:
        self._chunks.append(chunk)

    def on_message_complete(self) -> None:
        status = self._parser.get_status_code()
        chunks, self._chunks = self._chunks, []
        if status >= 200:
            self._received, self._has_head = 0, False
        if status < 400:
            self._beginning = b""  # up to 256 KB that only errors need
        if status < 200 or self._waiter is None or self._waiter.done():
            return
        if not self._parser.should_keep_alive():
            self.abort()
        self._waiter.set_result((status, chunks[0] if len(chunks) == 1 else b"".join(chunks)))

    def _fail(self, error: Exception) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(error)
