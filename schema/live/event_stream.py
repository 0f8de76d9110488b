"""Writes the answers of a live query as server-sent events, without a task for each client.

Ten thousand clients may follow one query. Each answer is encoded and framed once, and written to their connections in a
loop. A client that has not taken the last answer gets the newest one when it has.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import orjson
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from schema.http.http_protocol import CONNECTION, HttpProtocol
from schema.http.refusals import REFUSALS, refusal
from schema.live.follower import Follower
from schema.live.open_streams import OpenStreams
from schema.live.streams import Result

MEDIA_TYPE = "text/event-stream"
KEEP_ALIVE = 15.0
NEXT = b"event: next\ndata: "
END = b"\n\n"
COMPLETE = b"event: complete\ndata: \n\n"
COMMENT = b":\n\n"
LAST_CHUNK = b"0\r\n\r\n"
# Proxies must neither keep nor change the stream.
HEADERS = {"cache-control": "no-store, no-transform", "x-accel-buffering": "no"}


def event_of(result: bytes) -> bytes:
    return b"%b%b%b" % (NEXT, result, END)


def chunk_of(result: Result) -> bytes:
    """Returns a result as an event in a chunk of HTTP/1.1. It is made once for all clients."""
    if result.chunk is None:
        result.chunk = _chunked(event_of(result.body))
    return result.chunk


def _chunked(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


class EventStream(Response):
    """The response to one client. `closed` is called when it has ended."""

    media_type = MEDIA_TYPE

    def __init__(
        self, follower: Follower, streams: OpenStreams, fields: dict[str, Any], closed: Callable[[], object]
    ) -> None:
        self.status_code = 200
        self.background = None
        self.init_headers(HEADERS)
        self._follower = follower
        self._streams = streams
        self._fields = fields
        self._closed = closed
        self._connection: HttpProtocol | None = None
        self._results = self._sent = 0
        self._written = time.monotonic()
        self.on_end: Callable[[int], None] = _ignore

    async def __call__(self, scope: Scope, _: Receive, send: Send) -> None:
        """Starts the response, and returns: it goes on while the client is there."""
        connection: HttpProtocol | None = scope["extensions"][CONNECTION]()
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            # The first part sends the headers: nothing may wait for more of the body.
            await send({"type": "http.response.body", "body": COMMENT, "more_body": True})
        except BaseException:
            self._close()
            raise
        if connection is None or connection.transport.is_closing() or self._streams.stopping.is_set():
            self._close()
            return
        scope["state"]["pushed"] = self
        self._connection = connection
        connection.start_pushing(self)
        self._follower.on_news = self.writable
        self._streams.on_stop.add(self.end)
        self._timer = asyncio.get_running_loop().call_later(KEEP_ALIVE, self._keep_alive)
        self.writable()

    def writable(self) -> None:
        """Writes the newest answer, unless the client has not taken the one before."""
        if self._connection is None or self._connection.unsent:
            return
        if result := self._follower.take():
            self._results += 1
            self._push(chunk_of(result))
        elif self._follower.error is not None:
            self.end()

    def _push(self, chunk: bytes) -> None:
        assert self._connection is not None
        self._written = time.monotonic()
        self._sent += len(chunk)
        self._connection.push(chunk)

    def _keep_alive(self) -> None:
        assert self._connection is not None
        quiet = time.monotonic() - self._written
        if quiet >= KEEP_ALIVE and not self._connection.unsent:
            self._push(_chunked(COMMENT))
            quiet = 0.0
        self._timer = asyncio.get_running_loop().call_later(max(1.0, KEEP_ALIVE - quiet), self._keep_alive)

    def end(self) -> None:
        """Ends the response. Without `complete`, the client connects again: this server is about to stop."""
        if self._connection is not None:
            error = self._follower.error
            if isinstance(error, REFUSALS):
                self._push(_chunked(event_of(orjson.dumps(refusal(error).body)) + COMPLETE))
            self._push(LAST_CHUNK)
            self._connection.stop_pushing()
            self.lost()

    def lost(self) -> None:
        if self._connection is not None:
            self._connection = None
            self._timer.cancel()
            self._streams.on_stop.discard(self.end)
            self._close()
            self.on_end(self._sent)

    def _close(self) -> None:
        self._fields.update(self._follower.figures, results=self._results)
        self._follower.close()
        self._closed()


def _ignore(_: int) -> None:
    """The response has ended before anything was pushed."""
