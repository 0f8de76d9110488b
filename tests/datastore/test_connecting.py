"""Connections through proxies and to the first address that answers, over real sockets."""

import asyncio
import base64
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from datastore.client.connecting import Connector, first_of, proxy_for
from datastore.client.http import HttpClient, NotSent
from tests.datastore.test_http import OK, says, serving

AWS = "https://dynamodb.eu-central-1.amazonaws.com"


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    monkeypatch.setenv("http_proxy", "plain.example:8080")
    return monkeypatch


@pytest.mark.parametrize(
    ("url", "without", "proxy"),
    [
        (AWS, "", "http://proxy.example:3128"),
        (AWS, "example.org,10.0.0.1", "http://proxy.example:3128"),
        (AWS, ".amazonaws.com", None),
        (AWS, "dynamodb.eu-central-1.amazonaws.com", None),
        (AWS, "*", None),
        ("http://table.example:8000", "", "http://plain.example:8080"),
        ("http://localhost:8000", "", None),
        ("http://127.81.4.9:8000", "", None),
        ("http://[::1]:8000", "", None),
    ],
)
def test_the_environment_names_the_proxy(
    environment: pytest.MonkeyPatch, url: str, without: str, proxy: str | None
) -> None:
    environment.setenv("NO_PROXY", without)

    assert proxy_for(url) == proxy


def test_a_proxy_of_another_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="http:// or https://, not socks5://"):
        Connector(AWS, None, "socks5://proxy.example")


@asynccontextmanager
async def proxying(
    answer: bytes = b"HTTP/1.1 200 Connection established\r\n\r\n",
) -> AsyncIterator[tuple[str, list[str]]]:
    """A proxy that allows CONNECT, and the heads of the requests to it."""
    heads: list[str] = []
    serving: set[asyncio.Task[None]] = set()

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            writer.write(data)
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(closed, writer)
            heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
            writer.write(answer)
            if answer.startswith(b"HTTP/1.1 200"):
                host, _, port = heads[-1].split()[1].rpartition(":")
                there, back = await asyncio.open_connection(host, int(port))
                stack.push_async_callback(closed, back)
                await asyncio.gather(copy(reader, back), copy(there, writer))

    server = await asyncio.start_server(lambda *ends: serving.add(asyncio.ensure_future(serve(*ends))), "127.0.0.1", 0)
    yield f"http://me:p%40ss@127.0.0.1:{server.sockets[0].getsockname()[1]}", heads
    server.close()
    for task in serving:
        task.cancel()
    await asyncio.gather(*serving, return_exceptions=True)
    await server.wait_closed()


async def closed(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()


async def test_tls_goes_through_a_tunnel(certificate: Path, server_tls: ssl.SSLContext) -> None:
    trusted = ssl.create_default_context(cafile=str(certificate))
    async with serving(says(OK), server_tls) as (url, connections), proxying() as (proxy, heads):
        client = HttpClient(url, tls=trusted, proxy=proxy)
        assert [await client.post({}, b"x" * 100_000) for _ in range(2)] == [(200, b"ok")] * 2
        await client.close()
    place, secret = urlsplit(url).netloc, base64.b64encode(b"me:p@ss").decode()
    assert heads == [f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\nProxy-Authorization: Basic {secret}\r\n\r\n"]
    assert len(connections) == 1
    assert b"Proxy-Authorization" not in connections[0]


async def test_the_host_behind_a_tunnel_must_be_trusted(server_tls: ssl.SSLContext) -> None:
    async with serving(says(OK), server_tls) as (url, _), proxying() as (proxy, _):
        with pytest.raises(NotSent, match="CERTIFICATE_VERIFY_FAILED"):
            await HttpClient(url, proxy=proxy).post({}, b"")


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "refused to connect: HTTP/1.1 407 Proxy Auth"),
        (b"", "the proxy closed the connection"),
        (b"x" * 20_000, "the proxy does not answer in HTTP"),
    ],
)
async def test_a_proxy_that_does_not_connect_is_an_error(answer: bytes, why: str) -> None:
    async with proxying(answer) as (proxy, _):
        with pytest.raises(NotSent, match=why):
            await HttpClient("https://table.example/", proxy=proxy).post({}, b"")


async def test_plain_http_is_sent_to_the_proxy_with_the_whole_address() -> None:
    async with serving(says(OK)) as (url, connections):
        proxy = url.replace("http://", "http://me:secret@")
        client = HttpClient("http://table.example:8000/path", proxy=proxy)
        assert await client.post({}, b"") == (200, b"ok")
        await client.close()
    assert connections[0].startswith(
        b"POST http://table.example:8000/path HTTP/1.1\r\nHost: table.example:8000\r\nProxy-Authorization: Basic "
    )


@pytest.fixture
def silent_port() -> Iterator[int]:
    """Nothing answers there: the queue of the port is full."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        waiting = [socket.socket() for _ in range(2)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(listening.getsockname())
        yield listening.getsockname()[1]
        for each in waiting:
            each.close()


async def test_the_first_address_that_answers_is_used(silent_port: int) -> None:
    loop = asyncio.get_running_loop()
    closed = socket.create_server(("127.0.0.1", 0))
    ports = [silent_port, closed.getsockname()[1]]
    closed.close()
    with socket.create_server(("127.0.0.1", 0)) as answering:
        ports.append(answering.getsockname()[1])
        addresses = [(socket.AF_INET, socket.SOCK_STREAM, 0, ("127.0.0.1", port)) for port in ports]

        with await first_of(loop, addresses) as connected:
            assert connected.getpeername()[1] == ports[2]


async def test_if_no_address_answers_the_first_failure_is_raised() -> None:
    address = (socket.AF_INET, socket.SOCK_STREAM, 0, ("127.0.0.1", 9))

    with pytest.raises(ConnectionRefusedError):
        await first_of(asyncio.get_running_loop(), [address, address])


async def test_a_name_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(NotSent, match=r"cannot connect to table\.invalid:80"):
        await HttpClient("http://table.invalid/").post({}, b"")


async def test_a_connection_that_is_there_when_nobody_waits_any_more_is_closed() -> None:
    made: list[socket.socket] = []

    class Loop:
        """The running loop. As soon as a connection is there, the task that waits for it is canceled."""

        def __getattr__(self, name: str) -> Any:
            return getattr(asyncio.get_running_loop(), name)

        def create_task(self, connecting: Any) -> asyncio.Task[socket.socket]:
            def answered(task: asyncio.Task[socket.socket]) -> None:
                made.append(task.result())
                opening.cancel()

            task = asyncio.get_running_loop().create_task(connecting)
            task.add_done_callback(answered)
            return task

    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = (socket.AF_INET, socket.SOCK_STREAM, 6, listening.getsockname())
        opening = asyncio.create_task(first_of(Loop(), [address]))  # type: ignore[arg-type, list-item]
        with pytest.raises(asyncio.CancelledError):
            await opening

    assert [each.fileno() for each in made] == [-1]
