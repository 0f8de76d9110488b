"""The HTTP client against a server that is scripted byte by byte."""

import asyncio
import socket
import ssl
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from datastore.client.http import MOST_OF_A_HEAD, Disconnected, HttpClient, ResponseTooLarge

Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@asynccontextmanager
async def serving(script: Script, tls: ssl.SSLContext | None = None) -> AsyncIterator[tuple[str, list[bytes]]]:
    """The server's address, and the heads of all requests by connection."""
    tasks: set[asyncio.Task[None]] = set()
    connections: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(b"")
        place = len(connections) - 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
                connections[place] += head + await reader.readexactly(length)
                await script(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
            with suppress(ConnectionError, ssl.SSLError):
                await writer.wait_closed()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(serve(reader, writer))
        tasks.add(task)

    server = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=tls)
    port = server.sockets[0].getsockname()[1]
    yield f"{'https' if tls else 'http'}://localhost:{port}/", connections
    server.close()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await server.wait_closed()


def says(*parts: bytes, then_close: bool = False) -> Script:
    async def script(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for part in parts:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(0.01)
        if then_close:
            writer.close()

    return script


async def test_a_request_is_sent_whole_and_a_connection_is_used_again() -> None:
    async with serving(says(OK)) as (url, connections):
        client = HttpClient(url)
        assert await client.post({"X-One": "1"}, b"first") == (200, b"ok")
        assert await client.post({}, b"second") == (200, b"ok")
        await client.close()
    host = url.removeprefix("http://").rstrip("/").encode()
    assert connections == [
        b"POST / HTTP/1.1\r\nHost: " + host + b"\r\nX-One: 1\r\nContent-Length: 5\r\n\r\nfirst"
        b"POST / HTTP/1.1\r\nHost: " + host + b"\r\nContent-Length: 6\r\n\r\nsecond"
    ]


async def test_requests_at_once_have_connections_of_their_own() -> None:
    async with serving(says(OK)) as (url, connections):
        client = HttpClient(url)
        await asyncio.gather(*(client.post({}, b"") for _ in range(5)))
        await asyncio.gather(*(client.post({}, b"") for _ in range(5)))
        await client.close()
    assert len(connections) == 5


@pytest.mark.parametrize(
    ("parts", "answer"),
    [
        ([OK[:10], OK[10:30], OK[30:]], (200, b"ok")),
        (
            [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", b"2\r\nde\r\n0\r\n\r\n"],
            (200, b"abcde"),
        ),
        ([b"HTTP/1.1 100 Continue\r\n\r\n", OK], (200, b"ok")),
        ([b"HTTP/1.1 500 -\r\nContent-Length: 0\r\n\r\n"], (500, b"")),
        ([b"HTTP/1.1 400 -\r\nContent-Length: 3\r\n\r\n", b"bad"], (400, b"bad")),
    ],
)
async def test_answers_are_read_however_they_come(parts: list[bytes], answer: tuple[int, bytes]) -> None:
    async with serving(says(*parts)) as (url, _):
        client = HttpClient(url)
        assert await client.post({}, b"") == answer
        assert await client.post({}, b"") == answer
        await client.close()


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        OK[:-1],
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
        b"HTTP/1.1 200 OK\r\n\r\nno length",
        b"not HTTP at all\r\n\r\n",
        b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    ],
)
async def test_what_is_no_whole_answer_is_disconnected(raw: bytes) -> None:
    async with serving(says(raw, then_close=True)) as (url, _):
        client = HttpClient(url)
        with pytest.raises(Disconnected):
            await client.post({}, b"")
        await client.close()


@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\nConnection: close\r\n", b"HTTP/1.0 200 OK\r\n"])
async def test_a_connection_that_is_not_kept_is_not_used_again(head: bytes) -> None:
    async with serving(says(head + b"Content-Length: 2\r\n\r\nok")) as (url, connections):
        client = HttpClient(url)
        assert [await client.post({}, b"") for _ in range(3)] == [(200, b"ok")] * 3
        await client.close()
    assert len(connections) == 3


async def test_a_connection_closed_while_idle_is_replaced() -> None:
    async with serving(says(OK, then_close=True)) as (url, connections):
        client = HttpClient(url)
        for _ in range(3):
            assert await client.post({}, b"") == (200, b"ok")
            await asyncio.sleep(0.05)
        await client.close()
    assert len(connections) == 3


async def test_a_connection_idle_for_too_long_is_replaced() -> None:
    async with serving(says(OK)) as (url, connections):
        client = HttpClient(url, keep_idle=0.0)
        assert [await client.post({}, b"") for _ in range(3)] == [(200, b"ok")] * 3
        await client.close()
    assert len(connections) == 3


@pytest.mark.parametrize("parts", [[OK + OK], [OK + OK[:9]], [OK, OK]])
async def test_an_answer_nobody_asked_for_is_never_the_answer_to_the_next_request(parts: list[bytes]) -> None:
    async with serving(says(*parts)) as (url, connections):
        client = HttpClient(url)
        for _ in range(3):
            assert await client.post({}, b"") == (200, b"ok")
            # Not a fixed pause: data that arrives after the next request counts as its response.
            async with asyncio.timeout(5):
                while client._open:  # noqa: ASYNC110
                    await asyncio.sleep(0.005)
        await client.close()
    assert len(connections) == 3


async def test_a_request_given_up_takes_its_connection_down() -> None:
    answers = iter([b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nla", OK])

    async def script(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(next(answers))

    async with serving(script) as (url, connections):
        client = HttpClient(url)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await client.post({}, b"")
        assert await client.post({}, b"") == (200, b"ok")
        await client.close()
    assert len(connections) == 2


async def test_nobody_there_is_disconnected() -> None:
    async with serving(says(OK)) as (url, _):
        pass
    with pytest.raises(Disconnected, match="cannot connect"):
        await HttpClient(url).post({}, b"")


async def test_closing_ends_calls_under_way() -> None:
    async with serving(says(b"HTTP/1.1 200 OK\r\n")) as (url, _):
        client = HttpClient(url)
        call = asyncio.ensure_future(client.post({}, b""))
        await asyncio.sleep(0.05)
        await client.close()
        with pytest.raises(Disconnected):
            await call


async def test_tls_with_a_certificate_that_is_trusted(certificate: Path, server_tls: ssl.SSLContext) -> None:
    async with serving(says(OK), server_tls) as (url, connections):
        client = HttpClient(url, tls=ssl.create_default_context(cafile=str(certificate)))
        assert [await client.post({}, b"x" * 300_000) for _ in range(2)] == [(200, b"ok")] * 2
        await client.close()
    assert len(connections) == 1


async def test_tls_with_a_certificate_that_is_not_trusted_is_disconnected(server_tls: ssl.SSLContext) -> None:
    async with serving(says(OK), server_tls) as (url, _):
        client = HttpClient(url)
        with pytest.raises(Disconnected, match="CERTIFICATE_VERIFY_FAILED"):
            await client.post({}, b"")
        await client.close()


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n" + b"x" * 9_000, "the response is over 5000 bytes"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"5\r\nxxxxx\r\n" * 900, "is over 5000 bytes"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * MOST_OF_A_HEAD, "the head of the response is over 65536 bytes"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 20_000, "the head of the response is over 65536 bytes"),
    ],
    ids=["a length", "chunks", "a long header", "many headers"],
)
async def test_a_response_that_is_too_large_is_not_read_to_its_end(raw: bytes, why: str) -> None:
    """It ends the connection; the rest of a response with a length is never sent."""

    async def script(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(raw[:-1] if raw.endswith(b"x") else raw)
        await writer.drain()

    async with serving(script) as (url, connections):
        client = HttpClient(url, most=5_000)
        with pytest.raises(ResponseTooLarge, match=why):
            await client.post({}, b"")
        assert not client._idle
        await client.close()
    assert len(connections) == 1


async def test_responses_within_the_limit_do_not_add_up() -> None:
    async with serving(says(b"HTTP/1.1 200 OK\r\nContent-Length: 4000\r\n\r\n" + b"x" * 4_000)) as (url, connections):
        client = HttpClient(url, most=5_000)
        assert [await client.post({}, b"") for _ in range(3)] == [(200, b"x" * 4_000)] * 3
        await client.close()
    assert len(connections) == 1


def test_a_response_that_arrived_while_the_event_loop_was_blocked_is_not_late() -> None:
    uvloop = pytest.importorskip("uvloop")  # after reading a socket, it runs timers before it reads others
    listening = socket.create_server(("127.0.0.1", 0))
    is_blocked, answered = threading.Event(), threading.Event()

    def serve() -> None:
        connection, _ = listening.accept()
        with connection:
            connection.recv(10_000)
            connection.sendall(OK)
            connection.recv(10_000)
            is_blocked.wait()
            connection.sendall(OK)
            answered.set()
            connection.recv(1)

    class Blocking(asyncio.Protocol):
        def data_received(self, data: bytes) -> None:
            is_blocked.set()
            answered.wait()
            time.sleep(0.7)

    async def ask() -> tuple[int, bytes]:
        client = HttpClient(f"http://127.0.0.1:{listening.getsockname()[1]}/")
        await client.post({}, b"")  # connecting would count
        one, other = socket.socketpair()
        blocking, _ = await asyncio.get_running_loop().create_connection(Blocking, sock=one)
        call = asyncio.ensure_future(client.post({}, b"", seconds=0.5))
        await asyncio.sleep(0)
        other.send(b"now")
        try:
            return await call
        finally:
            await client.close()
            blocking.abort()
            other.close()

    server = threading.Thread(target=serve, daemon=True)
    server.start()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(ask()) == (200, b"ok")
    server.join()
    listening.close()
