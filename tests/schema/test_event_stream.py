"""Live answers are pushed to connections: slow, lost and quiet ones, and when the server stops."""

import contextlib
import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from schema.live import event_stream
from tests.schema.test_sse import LIVE, sign_up
from tests.support.serving import Served, a_table, serving, until

PEOPLE = " ".join(f"u{n}: users(first: 50) {{ nodes {{ username email displayName }} }}" for n in range(40))
LONG = f"query @live(throttle: 50) {{ {PEOPLE} }}"


@pytest.fixture
def served(endpoint: str) -> Iterator[Served]:
    with a_table(endpoint) as name, serving(endpoint, name, changes="outbox") as server:
        yield server


@contextlib.contextmanager
def connected(served: Served, query: str, buffer: int | None = None) -> Iterator[socket.socket]:
    """Opens a stream over a plain socket, which can read as slowly as it likes."""
    body = json.dumps({"query": query}).encode()
    head = f"POST /graphql HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\nContent-Length: {len(body)}\r\n"
    with socket.socket() as client:
        if buffer:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        client.settimeout(60)
        client.connect(served.address)
        client.sendall(head.encode() + b"Content-Type: application/json\r\n\r\n" + body)
        yield client


def received(client: socket.socket, ending: bytes) -> bytes:
    """Reads until something has arrived."""
    data = b""
    while ending not in data:
        part = client.recv(65536)
        assert part, data
        data += part
    return data


def results(data: bytes) -> list[Any]:
    return [json.loads(line[6:]) for line in data.splitlines() if line.startswith(b"data: {")]


def test_a_result_is_one_chunk_with_one_event(served: Served) -> None:
    with connected(served, LIVE) as client:
        data = received(client, b'"nodes":[]}}}\n\n\r\n')

    event = b'event: next\ndata: {"data":{"users":{"nodes":[]}}}\n\n'
    assert data.endswith(b"%x\r\n%b\r\n" % (len(event), event))
    assert b"content-length" not in data


def test_a_slow_reader_gets_the_newest_answer(served: Served) -> None:
    live = served.services.operations.live
    for name in range(30):
        sign_up(served, f"person{name}")
    with connected(served, LONG, buffer=2048) as client:
        until(lambda: len(live.watching) == 1)
        (query,) = live.watching
        # The first answer fills all buffers. Those that follow wait for no one, and are not kept.
        for name in range(5):
            before = query.revision
            sign_up(served, f"late{name}")
            until(lambda before=before: query.revision > before)
        data = b""
        while b"late4" not in data or not data.endswith(b"\n\n\r\n"):
            data += client.recv(65536)

    assert b"person0" in data
    assert len(results(data)) < query.revision
    assert len(results(data)[-1]["data"]["u0"]["nodes"]) == 35


def test_a_client_that_is_gone_is_forgotten(served: Served) -> None:
    live = served.services.operations.live
    with connected(served, LIVE) as client:
        received(client, b'"nodes":[]')
        assert len(live.watching) == 1

    until(lambda: len(live.watching) == 0)


def test_a_quiet_stream_is_kept_alive(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "KEEP_ALIVE", 0.05)
    with connected(served, LIVE) as client:
        received(client, b'"nodes":[]')
        received(client, b"3\r\n:\n\n\r\n")


def test_a_client_cannot_send_another_request_on_the_connection(served: Served) -> None:
    with connected(served, LIVE) as client:
        received(client, b'"nodes":[]')
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        sign_up(served, "ada")
        data = received(client, b'"ada"')

    assert b"HTTP/1.1" not in data


def test_a_server_that_stops_ends_its_streams_without_completing_them(endpoint: str) -> None:
    with a_table(endpoint) as name, contextlib.ExitStack() as opened:
        with serving(endpoint, name, changes="outbox") as server:
            client = opened.enter_context(connected(server, LIVE))
            received(client, b'"nodes":[]')
        data = received(client, b"0\r\n\r\n")
        assert b"event: complete" not in data
        assert client.recv(1) == b""


def test_a_stream_is_logged_and_counted_when_it_ends(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    with connected(served, LIVE) as client:
        received(client, b'"nodes":[]')
        assert 'heartwood_streams{transport="sse"} 1' in served.http.get("/metrics").text

    until(lambda: 'heartwood_streams{transport="sse"} 0' in served.http.get("/metrics").text)
    assert 'heartwood_requests_total{route="/graphql",status="200"} 1' in served.http.get("/metrics").text
