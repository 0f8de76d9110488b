"""A fault-injecting proxy between our transport and the engine, on a real socket."""

import asyncio
import contextlib
import json
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import urlsplit

from datastore.client.budget import Usage

Request = dict[str, Any]

FOR_EVER = 1_000_000_000


@dataclass(frozen=True)
class Answer:
    """The bytes to send back, and True if the connection closes after them. Without bytes, it is just closed."""

    raw: bytes
    cut: bool = False

    @classmethod
    def of(cls, status: int, body: bytes) -> Self:
        head = f"HTTP/1.1 {status} -\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: {len(body)}\r\n\r\n"
        return cls(head.encode() + body)


@dataclass(frozen=True)
class Call:
    """A call in progress. `forward` sends it, or another request, to the engine."""

    operation: str
    request: Request
    forward: Callable[..., Awaitable[tuple[int, bytes]]]


Fault = Callable[[Call], Awaitable[Answer]]


async def nothing_wrong(call: Call) -> Answer:
    return Answer.of(*await call.forward())


async def throttled(call: Call) -> Answer:
    name = "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException"
    return Answer.of(400, json.dumps({"__type": name, "message": "The level of throughput was exceeded."}).encode())


async def denied(call: Call) -> Answer:
    body = {"__type": "com.amazonaws.dynamodb.v20120810#AccessDeniedException", "message": "no"}
    return Answer.of(400, json.dumps(body).encode())


async def error_500(call: Call) -> Answer:
    return Answer.of(500, b'{"__type": "com.amazonaws.dynamodb.v20120810#InternalServerError", "message": "oops"}')


async def error_503(call: Call) -> Answer:
    return Answer.of(503, b"<html><body>Service Unavailable</body></html>")


async def half_unprocessed(call: Call) -> Answer:
    """Forwards only the first half of the keys of a BatchGetItem."""
    ((table, wanted),) = call.request["RequestItems"].items()
    middle = (len(wanted["Keys"]) + 1) // 2
    kept = {table: wanted | {"Keys": wanted["Keys"][:middle]}}
    status, body = await call.forward(call.request | {"RequestItems": kept})
    left = {table: wanted | {"Keys": wanted["Keys"][middle:]}}
    return Answer.of(status, json.dumps(json.loads(body) | {"UnprocessedKeys": left}).encode())


async def all_unprocessed(call: Call) -> Answer:
    answer = {"Responses": {}, "UnprocessedKeys": call.request["RequestItems"]}
    return Answer.of(200, json.dumps(answer).encode())


async def cut_before(call: Call) -> Answer:
    return Answer(b"", cut=True)


async def cut_after(call: Call) -> Answer:
    """Forwards the call and drops the response."""
    await call.forward()
    return Answer(b"", cut=True)


async def cut_in_the_middle(call: Call) -> Answer:
    raw = Answer.of(*await call.forward()).raw
    return Answer(raw[: -len(raw) // 4], cut=True)


async def garbled(call: Call) -> Answer:
    status, body = await call.forward()
    return Answer.of(status, body[: len(body) // 2])


async def hang(call: Call) -> Answer:
    await asyncio.Event().wait()
    raise AssertionError


async def slow(call: Call) -> Answer:
    await asyncio.sleep(0.02)
    return await nothing_wrong(call)


@dataclass
class Order:
    fault: Fault
    times: int
    when: Callable[[Request], bool]


@dataclass
class FaultProxy:
    """Queues faults for the next calls of an operation: `proxy.will("GetItem", throttled, times=3)`."""

    engine: str
    seen: Counter[str] = field(default_factory=Counter)
    forwarded: Counter[str] = field(default_factory=Counter)
    open_now: int = 0
    most_open: int = 0
    failing_since: float | None = None

    def will(
        self, operation: str, fault: Fault, times: int = FOR_EVER, when: Callable[[Request], bool] = lambda _: True
    ) -> None:
        self._orders.setdefault(operation, []).append(Order(fault, times, when))

    def recover(self) -> None:
        self._orders.clear()
        self.failing_since = None

    async def __aenter__(self) -> Self:
        self._orders: dict[str, list[Order]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.endpoint = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                while await self._exchange(reader, writer):
                    pass
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in _lines(head))}
        body = await reader.readexactly(int(headers["content-length"]))
        operation = headers["x-amz-target"].rpartition(".")[2]
        self.seen[operation] += 1
        self.open_now += 1
        self.most_open = max(self.most_open, self.open_now)
        try:
            request = json.loads(body)

            async def forward(changed: Request | None = None) -> tuple[int, bytes]:
                self.forwarded[operation] += 1
                return await self._ask_engine(headers, json.dumps(changed or request).encode())

            answer = await self._fault_for(operation, request)(Call(operation, request, forward))
        finally:
            self.open_now -= 1
        writer.write(answer.raw)
        await writer.drain()
        return not answer.cut

    def _fault_for(self, operation: str, request: Request) -> Fault:
        for order in self._orders.get(operation, ()):
            if order.times and order.when(request):
                order.times -= 1
                if order.fault is not nothing_wrong and self.failing_since is None:
                    self.failing_since = time.monotonic()
                return order.fault
        return nothing_wrong

    async def _ask_engine(self, headers: dict[str, str], body: bytes) -> tuple[int, bytes]:
        url = urlsplit(self.engine)
        reader, writer = await asyncio.open_connection(url.hostname, url.port)
        passed = headers | {"host": url.netloc, "content-length": str(len(body)), "connection": "close"}
        lines = "".join(f"{name}: {value}\r\n" for name, value in passed.items())
        try:
            writer.write(f"POST / HTTP/1.1\r\n{lines}\r\n".encode() + body)
            head, _, answer = (await reader.read()).partition(b"\r\n\r\n")
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()
        return int(head.split()[1]), answer


@dataclass
class EndsAfterFault(Usage):
    """Ends shortly after the proxy's first fault, however long the calls before it take."""

    deadline: float = 0.0
    proxy: FaultProxy = field(kw_only=True)

    @property
    def seconds_left(self) -> float:
        began = self.proxy.failing_since
        return 60.0 if began is None else began + 1.0 - time.monotonic()


def _lines(head: bytes) -> list[str]:
    """Parses header lines, without the request line."""
    return head.decode().strip().split("\r\n")[1:]
