"""HTTP on a socket: limits on what clients send and how slowly they read, and clean answers to what is malformed."""

import json
import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

import pytest

from schema.http.http_protocol import MOST_HEADER_BYTES, MOST_HEADERS, MOST_PIPELINED, MOST_URL_BYTES
from tests.support.serving import Served, a_table, serving, until

BODY = b'{"query": "{ __typename }"}'
ANSWER = b'{"data":{"__typename":"Query"}}'


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


class Wire:
    """A client's socket."""

    def __init__(self, served: Served) -> None:
        self.socket = socket.create_connection(served.address, timeout=60)
        self.file = self.socket.makefile("rb")

    def send(self, *parts: bytes) -> None:
        for part in parts:
            self.socket.sendall(part)

    def answer(self) -> Answer | None:
        """Returns the next answer, or None if the server has ended the connection."""
        line = self.file.readline()
        if not line:
            return None
        headers = {}
        while (header := self.file.readline().strip()) != b"":
            name, _, value = header.decode().partition(": ")
            headers[name] = value
        return Answer(int(line.split()[1]), headers, self.file.read(int(headers.get("content-length", 0))))


@contextmanager
def wire(served: Served) -> Iterator[Wire]:
    opened = Wire(served)
    with opened.socket, opened.file:
        yield opened


def post(body: bytes = BODY, *headers: str, length: str | None = None) -> bytes:
    given = [
        "POST /graphql HTTP/1.1",
        "host: x",
        "content-type: application/json",
        f"content-length: {length or len(body)}",
    ]
    return "\r\n".join([*given, *headers, "", ""]).encode() + body


def code(answer: Answer | None) -> tuple[int, str]:
    assert answer is not None
    return answer.status, json.loads(answer.body)["errors"][0]["extensions"]["code"]


def test_a_connection_serves_many_requests(server: Served) -> None:
    with wire(server) as client:
        for _ in range(3):
            client.send(post())
            answer = client.answer()
            assert answer is not None
            assert (answer.status, answer.body) == (200, ANSWER)
            assert "connection" not in answer.headers


@pytest.mark.parametrize(
    "request_",
    [
        b"NONSENSE\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET /\xff HTTP/1.1\r\n\r\n",
        b"CONNECT example.org:443 HTTP/1.1\r\nhost: x\r\n\r\n",
        b"CONNECT example.org HTTP/1.1\r\nhost: x\r\n\r\n",
        b"GET http://example.org HTTP/1.1\r\nhost: x\r\n\r\n",
        b"GET healthz HTTP/1.1\r\nhost: x\r\n\r\n",
        b"GET ?x HTTP/1.1\r\nhost: x\r\n\r\n",
        b"GET  HTTP/1.1\r\nhost: x\r\n\r\n",
        post(length="-1"),
        post(length="ten"),
        post(length="9" * 40),
        post(BODY, "transfer-encoding: chunked"),
        post(BODY, "content-length: 5"),
        b"POST /graphql HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\n",
    ],
)
def test_a_malformed_request_is_refused(server: Served, request_: bytes) -> None:
    with wire(server) as client:
        client.send(request_)
        answer = client.answer()
        assert code(answer) == (400, "BAD_REQUEST")
        assert answer is not None
        assert answer.headers["connection"] == "close"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert re.fullmatch("[0-9a-f]{32}", answer.headers["x-request-id"])
        assert client.answer() is None


@pytest.mark.parametrize(
    ("parts", "refusal"),
    [
        ([b"GET /" + b"x" * MOST_URL_BYTES + b" HTTP/1.1\r\n\r\n"], (414, "URL_TOO_LONG")),
        ([b"GET /", *[b"x" * 1_000] * 100], (414, "URL_TOO_LONG")),
        ([post(BODY, "x: " + "x" * MOST_HEADER_BYTES)], (431, "HEADERS_TOO_LARGE")),
        ([post(BODY, *["x: y"] * MOST_HEADERS)], (431, "HEADERS_TOO_LARGE")),
        ([b"GET / HTTP/1.1\r\nx: ", *[b"x" * 1_000] * 100], (431, "HEADERS_TOO_LARGE")),
    ],
    ids=["url", "endless url", "header", "headers", "endless header"],
)
def test_a_head_that_is_too_large_is_refused(server: Served, parts: list[bytes], refusal: tuple[int, str]) -> None:
    with wire(server) as client:
        client.send(*parts)
        assert code(client.answer()) == refusal
        assert client.answer() is None


def test_a_head_within_the_limits_is_accepted(server: Served) -> None:
    with wire(server) as client:
        client.send(post(BODY, "x: " + "x" * (MOST_HEADER_BYTES - 1_000), *["x: y"] * 50))
        answer = client.answer()
        assert answer is not None
        assert answer.body == ANSWER


@pytest.mark.parametrize("space", [" ", "\t", " \t "])
def test_space_around_the_value_of_a_header_is_no_part_of_it(server: Served, space: str) -> None:
    with wire(server) as client:
        client.send(post(BODY, f"x-tenant-id:{space}nowhere{space}"))
        answer = client.answer()
        assert answer is not None
        assert b"there is no tenant 'nowhere'; " in answer.body


@pytest.mark.parametrize(("method", "path", "status"), [("POST", "/graphql", 413), ("PUT", "/healthz", 405)])
def test_an_answer_ahead_of_the_body_arrives_although_the_connection_ends(
    server: Served, method: str, path: str, status: int
) -> None:
    head = f"{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 4000000\r\n\r\n"
    with wire(server) as client:
        client.send(head.encode(), *[b"x" * 1_000] * 4_000)
        answer = client.answer()
        assert answer is not None
        assert (answer.status, answer.headers["connection"]) == (status, "close")
        assert client.answer() is None


def test_a_request_after_the_last_one_is_not_answered(server: Served) -> None:
    with wire(server) as client:
        client.send(post(BODY, "connection: close") + post(b"", length=str(len(BODY))))
        answer = client.answer()
        assert answer is not None
        assert (answer.status, answer.body) == (200, ANSWER)
        assert client.answer() is None


def test_a_client_that_goes_on_sending_after_the_answer_loses_its_connection(server: Served) -> None:
    with wire(server) as client:
        client.send(b"PUT /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 99999999\r\n\r\n")
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            client.send(*[b"x" * 1_000_000] * 99)


def test_a_body_may_come_in_chunks(server: Served) -> None:
    head = b"POST /graphql HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
    with wire(server) as client:
        client.send(head, *(b"1\r\n%c\r\n" % byte for byte in BODY), b"0\r\n\r\n")
        answer = client.answer()
        assert answer is not None
        assert answer.body == ANSWER


def test_a_client_may_ask_before_it_sends_the_body(server: Served) -> None:
    with wire(server) as client:
        client.send(post(b"", "expect: 100-continue", length=str(len(BODY))))
        assert client.answer() == (100, {}, b"")
        client.send(BODY)
        answer = client.answer()
        assert answer is not None
        assert answer.body == ANSWER


def test_a_body_that_is_refused_beforehand_is_not_mistaken_for_a_request(server: Served) -> None:
    with wire(server) as client:
        client.send(post(b"", "expect: 100-continue", length="90000000"))
        assert code(client.answer()) == (413, "TOO_LARGE")
        assert client.answer() is None


@pytest.mark.parametrize("upgrade", ["websocket", "h2c"])
def test_there_is_no_other_protocol(server: Served, upgrade: str) -> None:
    with wire(server) as client:
        client.send(f"GET /healthz HTTP/1.1\r\nconnection: upgrade\r\nupgrade: {upgrade}\r\n\r\n".encode())
        answer = client.answer()
        assert answer is not None
        assert (answer.status, answer.headers["connection"]) == (200, "close")
    with wire(server) as client:
        client.send(post(BODY, "connection: upgrade", f"upgrade: {upgrade}"))
        assert code(client.answer()) == (400, "BAD_REQUEST")


@pytest.mark.parametrize(("method", "status"), [("HEAD", 200), ("OPTIONS", 405), ("DELETE", 405)])
def test_other_methods_get_an_answer(server: Served, method: str, status: int) -> None:
    with wire(server) as client:
        client.send(f"{method} /healthz HTTP/1.1\r\nhost: x\r\n\r\n".encode())
        line = client.file.readline()
        assert int(line.split()[1]) == status


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("*", 404),
        ("*/graphql", 404),
        ("//", 404),
        ("//example.org/healthz", 404),
        ("/?x", 405),
        ("http://example.org/healthz", 405),
        ("http://example.org/nowhere", 404),
    ],
)
def test_every_form_of_a_request_target_gets_an_answer(server: Served, target: str, status: int) -> None:
    with wire(server) as client:
        for _ in range(2):
            client.send(f"OPTIONS {target} HTTP/1.1\r\nhost: x\r\n\r\n".encode())
            answer = client.answer()
            assert answer is not None
            assert (answer.status, "connection" in answer.headers) == (status, False)


def test_pipelined_requests_are_answered_up_to_a_limit(server: Served) -> None:
    with wire(server) as client:
        client.send(post() * 5)
        answers = [client.answer() for _ in range(5)]
        assert [answer and answer.body for answer in answers] == [ANSWER] * 5

        client.send(post() * 1_000)
        answers = list(iter(client.answer, None))

    assert 1 <= len(answers) <= MOST_PIPELINED + 1
    assert answers[-1] is not None
    assert answers[-1].headers["connection"] == "close"


@pytest.fixture(scope="module")
def narrow(endpoint: str) -> Iterator[Served]:
    """A server that has few connections and no patience with readers."""
    with (
        a_table(endpoint) as table_name,
        serving(endpoint, table_name, max_connections_per_address=5, write_timeout=0.5, request_timeout=5) as served,
    ):
        served.http.close()
        yield served


def idle(served: Served) -> int:
    return sum(connection.is_idle for connection in list(served.connections))


def gone(client: Wire) -> bool:
    """True if the server has ended the connection, in whichever way."""
    try:
        return client.answer() is None
    except ConnectionResetError:
        return True


def test_a_new_connection_replaces_an_idle_one_and_is_refused_without_any(narrow: Served) -> None:
    with ExitStack() as stack:
        first, *busy = [stack.enter_context(wire(narrow)) for _ in range(5)]
        for client in busy:
            client.send(post(b"", length=str(len(BODY))))
        until(lambda: (narrow.connections.open, idle(narrow)) == (5, 1))

        second = stack.enter_context(wire(narrow))
        second.send(post(b"", length=str(len(BODY))))
        assert gone(first)
        until(lambda: (narrow.connections.open, idle(narrow)) == (5, 0))
        third = stack.enter_context(wire(narrow))
        assert code(third.answer()) == (429, "RATE_LIMITED")

        for client in (*busy, second):
            client.send(BODY)
            answer = client.answer()
            assert answer is not None
            assert answer.body == ANSWER


def test_a_reader_that_does_not_read_loses_its_connection(narrow: Served) -> None:
    until(lambda: narrow.connections.open == 0)
    with ExitStack() as stack:
        slow = [stack.enter_context(wire(narrow)) for _ in range(2)]
        for client in slow:
            client.send(b"GET /schema.graphql HTTP/1.1\r\nhost: x\r\n\r\n" * MOST_PIPELINED)
        until(lambda: narrow.connections.refused["slow_reader"] == 2)

    assert narrow.connections.open == 0


def test_a_client_that_stays_after_a_malformed_body_loses_its_connection(narrow: Served) -> None:
    until(lambda: narrow.connections.open == 0)
    before = narrow.connections.refused["slow_sender"]
    with ExitStack() as stack:
        staying = [stack.enter_context(wire(narrow)) for _ in range(3)]
        for client in staying:
            client.send(b"POST /graphql HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nZZZ\r\n")
            assert code(client.answer()) == (400, "BAD_REQUEST")
        assert idle(narrow) == narrow.connections.open
        until(lambda: narrow.connections.open == 0)

    assert narrow.connections.refused["slow_sender"] - before == 3


def test_a_body_that_goes_on_after_the_answer_ends(narrow: Served) -> None:
    until(lambda: narrow.connections.open == 0)
    with wire(narrow) as client:
        client.send(b"POST /healthz HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999999\r\n\r\n")
        answer = client.answer()
        assert answer is not None
        assert answer.status == 405
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            client.send(*[b"x" * 1_000_000] * 100)
