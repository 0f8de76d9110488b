"""Compression of answers with gzip, for clients that accept it.

Small answers are compressed at once, large ones in a thread: zlib works without the interpreter lock.
"""

import zlib

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from loaders.threads import Busy, Lane, check_time
from schema.http.protocol import quality

LEAST_BYTES = 1_400
"""What fits into one packet arrives no earlier for being smaller."""
AT_ONCE = 32 * 1024
"""Bytes that take half a millisecond."""
PART = 256 * 1024
FAST, SMALL = 1, 6
"""Levels: an answer is compressed for one client, a file that never changes for all of them."""
WITHIN, ONCE_WITHIN = 2.0, 10.0
"""Seconds after which the answer, or the file, is sent as it is."""
GZIP_FORMAT = 31

LANE = Lane("answers to compress", threads=1, waiting=7)


def accepts_gzip(headers: Headers) -> bool:
    """Returns True if the client accepts gzip, and does not prefer what is not compressed."""
    given = ",".join(headers.getlist("accept-encoding")).lower()
    if "gzip" not in given and "*" not in given:
        return False
    qualities = dict(map(quality, given.split(",")))
    gzip = qualities.get("gzip", qualities.get("x-gzip", qualities.get("*", 0.0)))
    return gzip > 0 and gzip >= qualities.get("identity", 0.0)


async def gzipped(body: bytes, level: int = FAST, seconds: float = WITHIN) -> bytes | None:
    """Returns the compressed bytes; None if the server is too busy to do it in these seconds."""
    if len(body) <= AT_ONCE:
        return _gzipped(body, level)
    try:
        return await LANE.run(lambda: _gzipped(body, level), seconds=seconds)
    except Busy:
        return None


def _gzipped(body: bytes, level: int) -> bytes:
    compressor = zlib.compressobj(level, wbits=GZIP_FORMAT)
    parts = []
    for start in range(0, len(body), PART):
        check_time()
        parts.append(compressor.compress(body[start : start + PART]))
    return b"".join([*parts, compressor.flush()])


class Compression:
    """Compresses the answers of an application that come in one piece."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not accepts_gzip(Headers(scope=scope)):
            await self._app(scope, receive, send)
            return
        start: Message | None = None

        async def answer(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start":
                start = message
                return
            if start is not None:
                await _compress(start, message)
                await send(start)
                start = None
            await send(message)

        await self._app(scope, receive, answer)


async def _compress(start: Message, message: Message) -> None:
    """Replaces the body of the message, unless it is too small, only a part, or compressed already."""
    headers = MutableHeaders(raw=start["headers"])
    body = message.get("body", b"")
    if len(body) < LEAST_BYTES or message.get("more_body") or "content-encoding" in headers:
        return
    smaller = await gzipped(body)
    if smaller is not None:
        message["body"] = smaller
        headers["content-encoding"] = "gzip"
        headers["content-length"] = str(len(smaller))
