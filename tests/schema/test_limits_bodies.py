"""Request bodies over the size limit, or that do not arrive."""

import socket

import pytest

from tests.schema.hostile import HEADERS
from tests.support.serving import Served


def raw_status(server: Served, *parts: bytes) -> int:
    """Returns the status of the response to raw bytes."""
    with socket.create_connection(server.address, timeout=20) as connection:
        for part in parts:
            connection.sendall(part)
        return int(connection.recv(100).split(b" ", 2)[1])


def test_a_body_over_the_limit_is_413(strict: Served) -> None:
    answer = strict.http.post("/graphql", content=b" " * 2_001, headers=HEADERS)

    assert answer.status_code == 413
    assert answer.json() == {
        "errors": [{"message": "the body is over 2000 bytes; send less", "extensions": {"code": "TOO_LARGE"}}]
    }


def test_a_body_at_the_limit_is_read(strict: Served) -> None:
    body = b'{"query": "{ __typename }"}'.ljust(2_000)

    assert strict.http.post("/graphql", content=body, headers=HEADERS).json() == {"data": {"__typename": "Query"}}


def test_a_body_without_a_length_is_413_as_soon_as_it_is_over_the_limit(strict: Served) -> None:
    head = b"POST /graphql HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
    chunk = b"3e8\r\n" + b" " * 1_000 + b"\r\n"

    # The body never ends.
    assert raw_status(strict, head, chunk, chunk, chunk) == 413


def test_a_length_that_is_announced_is_413_before_the_body_comes(strict: Served) -> None:
    head = b"POST /graphql HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 2001\r\n\r\n"

    assert raw_status(strict, head) == 413


@pytest.mark.parametrize("length", [b"-1", b"abc", b"1e3", b"9" * 5_000, b"\xb2"])
def test_a_length_that_is_no_number_is_400(server: Served, length: bytes) -> None:
    head = b"POST /graphql HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: %b\r\n\r\n{}"

    assert raw_status(server, head % length) == 400


def test_a_body_that_does_not_arrive_is_408(strict: Served) -> None:
    head = b"POST /graphql HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n"

    assert raw_status(strict, head, b'{"query":') == 408


def test_20_mb_of_spaces_are_413(server: Served) -> None:
    spaces = b" " * 20_000_000

    with_length = server.http.post("/graphql", content=spaces, headers=HEADERS)
    chunked = server.http.post("/graphql", content=iter([spaces[:100_000]] * 200), headers=HEADERS)

    assert (with_length.status_code, chunked.status_code) == (413, 413)


@pytest.mark.parametrize("filler", [" ", ",", "\\n", "\ufeff", "#" * 1_000 + "\\n"])
def test_much_of_nothing_around_a_query_is_read_or_refused(server: Served, filler: str) -> None:
    body = f'{{"query": "{filler * (300_000 // len(filler))}{{ __typename }}"}}'.encode()

    assert server.http.post("/graphql", content=body, headers=HEADERS).status_code in {200, 400}
