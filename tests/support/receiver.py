"""A real HTTP server in the test process that receives webhooks."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson

OK = b"HTTP/1.1 204 No Content\r\n\r\n"


def answer(status: int, *headers: str) -> bytes:
    lines = "".join(f"{header}\r\n" for header in headers)
    return f"HTTP/1.1 {status} Whatever\r\n{lines}Content-Length: 0\r\n\r\n".encode()


@dataclass
class Received:
    """A request."""

    line: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return orjson.loads(self.body)


@dataclass
class Receiver:
    """Answers each request with the next of `answers`, and OK after the last. `release` ends those that hang."""

    port: int = 0
    answers: list[bytes | None] = field(default_factory=list)
    received: list[Received] = field(default_factory=list)
    hangs: bool = False
    """True to keep the connection open after an answer."""
    release: asyncio.Event = field(default_factory=asyncio.Event)
    most_at_once: int = 0
    _open: int = 0
    _arrived: asyncio.Condition = field(default_factory=asyncio.Condition)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hooks?x=1"

    @property
    def types(self) -> list[str]:
        return [request.json["type"] for request in self.received]

    async def has(self, count: int) -> None:
        """Waits until this many requests have arrived."""
        async with self._arrived:
            await self._arrived.wait_for(lambda: len(self.received) >= count)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open += 1
        self.most_at_once = max(self.most_at_once, self._open)
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                line, *lines = head.strip().split("\r\n")
                headers = {name.lower(): value.strip() for name, _, value in (each.partition(":") for each in lines)}
                self.received.append(Received(line, headers, await reader.readexactly(int(headers["content-length"]))))
                async with self._arrived:
                    self._arrived.notify_all()
                text = self.answers.pop(0) if self.answers else OK
                if text is None:
                    await self.release.wait()
                    text = OK
                writer.write(text)
                await writer.drain()
                if self.hangs:
                    await self.release.wait()
        finally:
            self._open -= 1
            writer.transport.abort()


@asynccontextmanager
async def a_receiver(tls: ssl.SSLContext | None = None) -> AsyncIterator[Receiver]:
    receiver = Receiver()
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0, ssl=tls)
    receiver.port = server.sockets[0].getsockname()[1]
    try:
        yield receiver
    finally:
        receiver.release.set()
        server.close()
        await server.wait_closed()
