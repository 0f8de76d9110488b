"""Answers are compressed if that helps and the client accepts it."""

import asyncio
import gzip
import random

import httpx
import pytest
from starlette.datastructures import Headers

from schema.build import sdl
from schema.http import compression
from schema.http.compression import AT_ONCE, LANE, LEAST_BYTES, accepts_gzip, gzipped
from tests.support.serving import PATIENCE, Served

LARGE = "{ __schema { types { name description fields { name description } } } }"
MIDDLE = "{ __schema { types { name } } }"
SMALL = "{ __typename }"


@pytest.mark.parametrize(
    ("given", "accepted"),
    [
        (None, False),
        ("", False),
        ("gzip", True),
        ("GZIP;Q=1", True),
        ("gzip, deflate, br, zstd", True),
        ("deflate, gzip;q=1.0, *;q=0.5", True),
        ("x-gzip", True),
        ("*", True),
        ("*;q=0.1, identity;q=0.1", True),
        ("gzip;q=0.001", True),
        ("br, zstd", False),
        ("identity", False),
        ("gzip;q=0", False),
        ("gzip;q=0.0, *", False),
        ("gzip;q=nonsense", False),
        ("gzip;q=nan", False),
        ("gzip;q=0.5, identity", False),
        ("identity;q=0.5, gzip;q=0.4", False),
        ("identity;q=0, gzip", True),
        ("gzipped", False),
        (",;=,gzip", True),
    ],
)
def test_the_client_decides(given: str | None, accepted: bool) -> None:
    assert accepts_gzip(Headers({} if given is None else {"accept-encoding": given})) is accepted


def raw(server: Served, method: str, path: str, encoding: str | None, **sent: object) -> tuple[httpx.Response, bytes]:
    """Returns an answer and its bytes as they came."""
    request = server.http.build_request(method, path, **sent)  # type: ignore[arg-type]
    del request.headers["accept-encoding"]
    if encoding is not None:
        request.headers["accept-encoding"] = encoding
    answer = server.http.send(request, stream=True)
    content = b"".join(answer.iter_raw())
    answer.close()
    return answer, content


@pytest.mark.parametrize("query", [MIDDLE, LARGE], ids=["at once", "in a thread"])
def test_an_answer_is_compressed(server: Served, query: str) -> None:
    plain, expected = raw(server, "POST", "/graphql", None, json={"query": query})
    answer, content = raw(server, "POST", "/graphql", "gzip", json={"query": query})

    assert (len(expected) > AT_ONCE) == (query is LARGE)
    assert "content-encoding" not in plain.headers
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.headers["content-length"] == str(len(content))
    assert answer.headers["content-type"] == plain.headers["content-type"]
    assert gzip.decompress(content) == expected
    assert len(content) < len(expected) / 2


@pytest.mark.parametrize(
    ("query", "encoding"), [(SMALL, "gzip"), ("{", "gzip"), (LARGE, None), (LARGE, "gzip;q=0"), (LARGE, "br")]
)
def test_a_small_answer_and_one_for_another_client_are_not_compressed(
    server: Served, query: str, encoding: str | None
) -> None:
    answer, content = raw(server, "POST", "/graphql", encoding, json={"query": query})

    assert "content-encoding" not in answer.headers
    assert content.startswith(b"{")


@pytest.mark.parametrize("path", ["/schema.graphql", "/graphiql/start.js", "/graphiql/page.css"])
def test_texts_that_do_not_change_are_compressed_once(server: Served, path: str) -> None:
    plain, expected = raw(server, "GET", path, None)
    first, content = raw(server, "GET", path, "gzip")
    again, same = raw(server, "GET", path, "gzip")

    assert first.headers["content-encoding"] == again.headers["content-encoding"] == "gzip"
    assert gzip.decompress(content) == expected
    assert same == content
    assert plain.headers["etag"] == first.headers["etag"]
    assert raw(server, "GET", path, "gzip", headers={"if-none-match": first.headers["etag"]})[0].status_code == 304


def test_the_schema_is_small_on_the_wire(server: Served) -> None:
    _, content = raw(server, "GET", "/schema.graphql", "gzip")

    assert len(content) < len(sdl()) / 5


def test_a_head_request_has_the_headers_of_the_compressed_answer(server: Served) -> None:
    _, content = raw(server, "GET", "/schema.graphql", "gzip")
    asked, nothing = raw(server, "HEAD", "/schema.graphql", "gzip")

    assert (asked.headers["content-length"], asked.headers["content-encoding"]) == (str(len(content)), "gzip")
    assert nothing == b""


async def test_bytes_of_any_size_survive() -> None:
    some = random.Random(1)
    for size in (0, 1, LEAST_BYTES, AT_ONCE, AT_ONCE + 1, compression.PART, 2 * compression.PART + 1):
        body = some.randbytes(size)
        compressed = await gzipped(body)
        assert compressed is not None
        assert gzip.decompress(compressed) == body


async def test_others_run_while_a_large_answer_is_compressed() -> None:
    body = random.Random(1).randbytes(3_000_000)
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0.001)

    running = asyncio.create_task(others())
    assert await gzipped(body, seconds=PATIENCE)
    running.cancel()

    assert turns > 2


async def test_a_server_that_compresses_too_many_answers_sends_the_next_as_it_is() -> None:
    body = random.Random(1).randbytes(300_000)

    compressed = await asyncio.gather(*(gzipped(body, seconds=PATIENCE) for _ in range(LANE.places + 3)))

    assert [each is None for each in compressed] == [False] * LANE.places + [True] * 3
