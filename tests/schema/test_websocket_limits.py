"""Hostile clients over WebSocket."""

import json
import os
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import pytest
from websockets.exceptions import ConnectionClosedError, InvalidStatus

from schema.http import admission, process
from schema.live import websocket
from schema.live.live_queries import LiveQueries
from schema.live.live_query import LiveQuery
from tests.schema.test_sse import EVENTS, LIVE, sign_up
from tests.schema.test_websocket import TYPENAME, open_streams
from tests.support.serving import PATIENCE, Served, a_table, serving, until
from tests.support.socket_client import socket_to

TEXT, CONTINUATION, PING, CLOSE = 1, 0, 9, 8


@pytest.fixture
def served(endpoint: str) -> Iterator[Served]:
    with (
        a_table(endpoint) as name,
        serving(endpoint, name, changes="outbox", max_streams_per_client=3, max_body_bytes=20_000) as server,
    ):
        yield server


class Wire:
    """A connection for frames that no client library sends."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self._file = connection.makefile("rb")

    def upgrade(self, *headers: str) -> int:
        """Sends the handshake; returns the status of the answer."""
        lines = ["GET /graphql HTTP/1.1", "host: x", "connection: upgrade", "upgrade: websocket", *headers]
        lines += ["sec-websocket-version: 13", "sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA=="]
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode())
        status = int(self._file.readline().split()[1])
        self.headers = [line.strip().lower() for line in iter(self._file.readline, b"\r\n")]
        return status

    def send(self, opcode: int, data: bytes = b"", *, fin: bool = True, times: int = 1) -> None:
        self.socket.sendall(frame(opcode, data, fin=fin) * times)

    def close(self) -> None:
        self._file.close()

    def frames(self) -> Iterator[tuple[int, bytes]]:
        """Yields the opcode and the data of each frame until the connection ends."""
        with suppress(ConnectionResetError):
            while head := self._file.read(2):
                length = head[1]
                if length == 126:
                    (length,) = struct.unpack("!H", self._file.read(2))
                elif length == 127:
                    (length,) = struct.unpack("!Q", self._file.read(8))
                yield head[0] & 0x0F, self._file.read(length)

    def close_code(self) -> int | None:
        """Returns the code of the close frame, or None if the connection ends without one."""
        return next((struct.unpack("!H", data[:2])[0] for opcode, data in self.frames() if opcode == CLOSE), None)


def frame(opcode: int, data: bytes, *, fin: bool = True) -> bytes:
    """Returns a masked frame."""
    size = bytes([0x80 | len(data)]) if len(data) < 126 else b"\xff" + struct.pack("!Q", len(data))
    return bytes([(0x80 if fin else 0) | opcode]) + size + b"\0\0\0\0" + data


@contextmanager
def wire(served: Served, *headers: str) -> Iterator[Wire]:
    with socket.socket() as connection:
        connection.settimeout(PATIENCE)
        # The kernel keeps little for a client that does not read.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        connection.connect(served.address)
        client = Wire(connection)
        assert client.upgrade("sec-websocket-protocol: graphql-transport-ws", *headers) == 101
        yield client
        client.close()


def works(served: Served) -> bool:
    with socket_to(served.url) as client:
        client.init()
        client.subscribe("{ __typename }")
        return client.result() == TYPENAME


def test_garbage_ends_the_connection(served: Served) -> None:
    with wire(served) as client:
        client.socket.sendall(b"\xff" * 1_000)
        assert client.close_code() == 1002
    with wire(served) as client:
        client.socket.sendall(os.urandom(100_000))
        assert client.close_code() in (1002, 1009, None)
    assert works(served)


def test_a_message_may_come_in_fragments(served: Served) -> None:
    with wire(served) as client:
        client.send(TEXT, b'{"type": ', fin=False)
        client.send(PING)
        client.send(CONTINUATION, b'"nothing"', fin=False)
        client.send(CONTINUATION, b"}")
        assert client.close_code() == 4400


@pytest.mark.parametrize("data", [b"", b"x"])
def test_a_message_has_only_so_many_fragments(served: Served, data: bytes) -> None:
    with wire(served) as client:
        client.send(TEXT, b'"', fin=False)
        client.send(CONTINUATION, data, fin=False, times=5_000)
        assert client.close_code() == 1009


def test_a_message_has_only_so_many_bytes(served: Served) -> None:
    with wire(served) as client:
        client.send(TEXT, b'"' + b"x" * 30_000)
        assert client.close_code() == 1009
    with wire(served) as client:
        # It is refused by its announced size.
        client.socket.sendall(b"\x81\xff" + struct.pack("!Q", 2**62) + b"\0\0\0\0")
        assert client.close_code() == 1009
    with wire(served) as client:
        for number in range(4):
            client.send(CONTINUATION if number else TEXT, b"x" * 9_000, fin=False)
        assert client.close_code() == 1009


def test_nothing_is_compressed(served: Served) -> None:
    with wire(served, "sec-websocket-extensions: permessage-deflate") as client:
        assert not any(line.startswith(b"sec-websocket-extensions") for line in client.headers)
        client.socket.sendall(b"\xc1" + frame(TEXT, b"\0" * 100)[1:])
        assert client.close_code() == 1002


def test_a_flood_of_pings_ends_the_connection(served: Served) -> None:
    with wire(served) as client:
        client.send(PING, b"x" * 125, times=2_000)
        assert client.close_code() in (1008, None)
    assert served.connections.refused["flood"] == 1
    assert works(served)


def test_messages_are_read_at_a_rate(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websocket, "MESSAGES_AT_ONCE", 10)
    monkeypatch.setattr(websocket, "MESSAGES_PER_SECOND", 50)
    with socket_to(served.url) as client:
        client.init()
        began = time.monotonic()
        for _ in range(60):
            client.send("ping")
        for _ in range(60):
            assert client.receive() == {"type": "pong"}
        assert time.monotonic() - began > 0.9


def test_a_hundred_thousand_subscriptions_do_not_stop_the_others(served: Served) -> None:
    message = json.dumps({"type": "subscribe", "id": "{}", "payload": {"query": "query @live { __typename }"}})
    with wire(served) as client:
        client.send(TEXT, b'{"type": "connection_init"}')
        client.socket.settimeout(0.5)
        sent = 0
        try:
            for number in range(100_000):
                client.send(TEXT, message.replace("{}", str(number), 1).encode())
                sent = number
        except TimeoutError:
            # The server reads them slowly, and the rest waits at the client.
            assert sent < 100_000
        assert open_streams(served) == 3
        assert served.http.get("/healthz").status_code == 200


def test_a_client_has_only_so_many_operations(served: Served) -> None:
    with socket_to(served.url) as client:
        client.init()
        for number in "123":
            client.subscribe(LIVE, id=number)
            client.result(number)
        client.subscribe(LIVE, id="4")
        refused = client.receive()
        assert (refused["type"], refused["id"]) == ("error", "4")
        assert refused["payload"][0]["extensions"] == {"code": "RATE_LIMITED", "retryable": True}
        # The limit is one for all transports.
        assert served.http.post("/graphql", json={"query": LIVE}, headers=EVENTS).status_code == 429
        client.send("complete", id="1")
        until(lambda: open_streams(served) == 2)
        client.subscribe(LIVE, id="5")
        client.result("5")


def test_connections_are_counted_with_those_of_http(endpoint: str) -> None:
    with a_table(endpoint) as name, serving(endpoint, name, max_connections_per_address=2) as served:
        with socket_to(served.url) as one, socket_to(served.url) as other:
            for each in (one, other):
                each.init()
                each.subscribe("query @live { __typename }")
                each.result()
            assert served.connections.open == 2
            assert not is_admitted(served)
            assert served.connections.refused["address"] == 1
            one.send("complete", id="1")
            # An idle connection gives way to a new one.
            until(lambda: is_admitted(served))
            assert one.closed()[0] == 1006
        until(lambda: served.connections.open <= 1)


def is_admitted(served: Served) -> bool:
    try:
        with socket_to(served.url):
            return True
    except (InvalidStatus, ConnectionClosedError):
        return False


def test_a_dead_client_loses_its_connection(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "PING_INTERVAL", 0.1)
    monkeypatch.setattr(process, "PONG_WITHIN", 0.3)
    with a_table(endpoint) as name, serving(endpoint, name) as served, wire(served) as client:
        client.send(TEXT, b'{"type": "connection_init"}')
        found = list(client.frames())

        # No close code: clients connect again.
        assert [opcode for opcode, _ in found] == [TEXT, PING]
        assert served.connections.refused["no_pong"] == 1
        # A client that answers stays.
        with socket_to(served.url) as alive:
            alive.init()
            began = time.monotonic()
            while time.monotonic() - began < 1:
                alive.send("ping")
                alive.receive()


def test_a_slow_sender_loses_its_connection(served: Served) -> None:
    with wire(served) as client:
        client.send(TEXT, b'{"type": ', fin=False)
        until(lambda: any(_is_receiving(each) for each in served.connections))
        for each in served.connections:
            if _is_receiving(each):
                assert each.overdue(time.monotonic()) is None
                assert each.overdue(time.monotonic() + 11) == "slow_sender"


def _is_receiving(connection: object) -> bool:
    return getattr(connection, "_receiving_since", None) is not None


def test_a_slow_reader_gets_the_newest_results(endpoint: str) -> None:
    types = "{ types { name description fields { name description } } }"
    schemas = " ".join(f"schema{number}: __schema {types}" for number in range(8))
    query = f"query @live(throttle: 50) {{ users(first: 1) {{ nodes {{ username }} }} {schemas} }}"
    message = {"type": "subscribe", "id": "1", "payload": {"query": query}}
    names = [f"user{number}" for number in range(8)]
    with (
        a_table(endpoint) as name,
        serving(endpoint, name, changes="outbox", max_query_cost=1_000_000, write_timeout=600) as served,
        wire(served) as client,
    ):
        client.send(TEXT, b'{"type": "connection_init"}')
        client.send(TEXT, json.dumps(message).encode())
        live = served.services.operations.live
        until(lambda: any(live.watching))
        for name in names:
            sign_up(served, name)
            until(lambda name=name: any(f'"{name}"'.encode() in each._body for each in queries_of(live)))
        size = max(len(each._body) for each in queries_of(live))
        # One result waits; the kernel has some.
        assert max(each.unsent for each in served.connections) <= 1.1 * size
        results = [data for opcode, data in until_contains(client, b'"user7"') if opcode == TEXT][1:]

    assert len(results) < len(names)
    assert size > 1_000_000


def queries_of(live: LiveQueries) -> list[LiveQuery]:
    return [each for each in list(live.watching) if isinstance(each, LiveQuery)]


def until_contains(client: Wire, text: bytes) -> Iterator[tuple[int, bytes]]:
    for each in client.frames():
        yield each
        if text in each[1]:
            return


@pytest.mark.parametrize(
    "lines",
    [
        ("GET /graphql HTTP/1.1", "upgrade: websocket", "connection: upgrade"),
        ("GET /graphql HTTP/1.1", "upgrade: websocket", "connection: upgrade", "sec-websocket-version: 12"),
    ],
)
def test_an_incomplete_handshake_is_refused(served: Served, lines: tuple[str, ...]) -> None:
    with socket.create_connection(served.address, PATIENCE) as connection:
        connection.sendall("\r\n".join([*lines, "host: x", "", ""]).encode())
        status = int(connection.makefile("rb").readline().split()[1])

    assert status in (400, 426)


def test_an_upgrade_behind_another_request_waits_for_no_one(served: Served) -> None:
    """It is answered as HTTP: the answer to the earlier request would be lost."""
    get = b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n"
    lines = ["GET /graphql?query={__typename} HTTP/1.1", "host: x", "connection: upgrade", "upgrade: websocket"]
    lines += ["sec-websocket-version: 13", "sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA=="]
    with socket.create_connection(served.address, PATIENCE) as connection:
        connection.sendall(get + "\r\n".join([*lines, "", ""]).encode())
        answers = b""
        while data := connection.recv(65_536):
            answers += data

    assert answers.count(b"HTTP/1.1 200 OK") == 2
    assert b'{"data":{"__typename":"Query"}}' in answers


def test_a_handshake_with_a_huge_header_is_refused(served: Served) -> None:
    with socket.create_connection(served.address, PATIENCE) as connection:
        client = Wire(connection)
        assert client.upgrade(f"authorization: Bearer {'x' * 9_000}") == 431
        client.close()


def test_an_overloaded_server_accepts_no_connection(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("AT_FIRST", "LEAST", "LONGEST_QUEUE"):
        monkeypatch.setattr(admission, limit, 0)
    with a_table(endpoint) as name, serving(endpoint, name) as served:
        with pytest.raises(InvalidStatus) as refused, socket_to(served.url):
            pass
        assert refused.value.response.status_code == 503
        assert refused.value.response.headers["retry-after"] in ("1", "2", "3")


def test_clients_behind_a_proxy_are_told_apart(endpoint: str) -> None:
    options = {"trusted_proxies": "127.0.0.1", "max_streams_per_client": 1}
    with a_table(endpoint) as name, serving(endpoint, name, **options) as served, ExitStack() as stack:
        one, other, again = (
            stack.enter_context(socket_to(served.url, headers={"x-forwarded-for": address}))
            for address in ("192.0.2.1", "192.0.2.2", "192.0.2.1")
        )
        for client in (one, other, again):
            client.init()
        for client in (one, other):
            client.subscribe("query @live { __typename }")
            assert client.result() == TYPENAME
        again.subscribe("query @live { __typename }")
        assert again.receive()["payload"][0]["extensions"]["code"] == "RATE_LIMITED"
