"""A proxy in front of the engine that counts DynamoDB calls by operation."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httptools

from datastore.client.http import HttpClient

# Request headers to forward to the engine.
PASSED_ON = ("content-type", "x-amz-target", "x-amz-date", "authorization")


class CountingProxy:
    """Counts calls in `calls` since it was last cleared."""

    def __init__(self, endpoint: str) -> None:
        self.calls: Counter[str] = Counter()
        self.endpoint = ""
        self._engine = HttpClient(endpoint)

    async def forward(self, headers: dict[str, str], body: bytes) -> tuple[int, bytes]:
        self.calls[headers.get("x-amz-target", "?").rpartition(".")[2]] += 1
        kept = {name: headers[name] for name in PASSED_ON if name in headers}
        return await self._engine.post(kept, body)

    async def close(self) -> None:
        await self._engine.close()


@asynccontextmanager
async def counting(endpoint: str) -> AsyncIterator[CountingProxy]:
    proxy = CountingProxy(endpoint)
    server = await asyncio.get_running_loop().create_server(lambda: _Connection(proxy), "127.0.0.1", 0)
    async with server:
        proxy.endpoint = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield proxy
    await proxy.close()


class _Connection(asyncio.Protocol):
    """Connection handler; httptools calls its on_… methods, one request at a time."""

    def __init__(self, proxy: CountingProxy) -> None:
        self._proxy = proxy
        self._parser = httptools.HttpRequestParser(self)
        self._tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_begin(self) -> None:
        self._headers: dict[str, str] = {}
        self._body = b""

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.decode().lower()] = value.decode("latin-1")
        # boto3 sends `Expect: 100-continue` before large bodies.
        if name.lower() == b"expect":
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, chunk: bytes) -> None:
        self._body += chunk

    def on_message_complete(self) -> None:
        task = asyncio.create_task(self._answer(self._headers, self._body))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, headers: dict[str, str], body: bytes) -> None:
        status, content = await self._proxy.forward(headers, body)
        head = (
            f"HTTP/1.1 {status} _\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        self._transport.write(head.encode() + content)
