"""Queries by GET that browsers and CDNs may keep: whose, for how long, and when they have changed."""

from collections.abc import Iterator

import httpx
import pytest

from schema.http.etags import SLICE, etag_of, is_known
from tests.support.serving import GRAPHQL_RESPONSE, Served, a_table, serving

FEED = "{ feed { nodes { caption } } }"
PUBLIC = "public, max-age=5"


def get(server: Served, query: str = FEED, **headers: str) -> httpx.Response:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return server.http.get("/graphql", params={"query": query}, headers=names)


def test_anybody_may_keep_an_answer_for_anybody(server: Served) -> None:
    answer = get(server)

    assert answer.json() == {"data": {"feed": {"nodes": []}}}
    assert answer.headers["cache-control"] == PUBLIC
    assert answer.headers["etag"].startswith('W/"')
    assert answer.headers["vary"] == "accept, accept-encoding, authorization, origin, x-tenant-id"


def test_a_client_that_has_the_answer_gets_no_text(server: Served) -> None:
    etag = get(server).headers["etag"]

    for known in (etag, etag.removeprefix("W/"), f'"other", {etag}', "*"):
        answer = get(server, if_none_match=known)
        assert (answer.status_code, answer.content) == (304, b"")
        assert (answer.headers["etag"], answer.headers["cache-control"]) == (etag, PUBLIC)
        assert "content-type" not in answer.headers
        assert "content-length" not in answer.headers
    for unknown in ("", '"other"', etag[:-2], "W/"):
        assert get(server, if_none_match=unknown).status_code == 200


def test_another_answer_has_another_tag(server: Served) -> None:
    first = get(server)
    others = [
        get(server, "{ feed { nodes { id } } again: __typename }"),
        get(server, accept=GRAPHQL_RESPONSE),
    ]

    assert get(server).headers["etag"] == first.headers["etag"]
    assert all(other.headers["etag"] != first.headers["etag"] for other in others)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_head_request_gets_the_same_headers(server: Served, method: str) -> None:
    answer = server.http.request(method, "/graphql", params={"query": FEED})

    assert (answer.headers["cache-control"], answer.headers["etag"]) == (PUBLIC, get(server).headers["etag"])


def no_store(answer: httpx.Response) -> bool:
    return answer.headers["cache-control"] == "no-store" and "etag" not in answer.headers


def test_an_answer_to_a_token_is_not_stored(server: Served) -> None:
    token = server.services.tokens.issue("ada")
    answer = get(server, "{ __typename }", authorization=f"Bearer {token}", if_none_match="*")

    assert (answer.status_code, no_store(answer)) == (200, True)
    assert no_store(get(server, authorization="Bearer nonsense"))
    assert no_store(get(server, authorization=""))


@pytest.mark.parametrize(
    "query",
    ["{", "{ nothing }", '{ node(id: "x") { id } }', 'mutation { verifyEmail(input: {code: "x"}) { __typename } }'],
)
@pytest.mark.parametrize("accept", ["application/json", GRAPHQL_RESPONSE])
def test_an_error_is_not_stored(server: Served, query: str, accept: str) -> None:
    answer = get(server, query, accept=accept, if_none_match="*")

    assert answer.json()["errors"]
    assert no_store(answer)


def test_an_answer_to_a_post_is_not_stored(server: Served) -> None:
    answer = server.post(FEED, headers={"if-none-match": "*"})

    assert (answer.status_code, no_store(answer)) == (200, True)


@pytest.fixture(scope="module")
def limited(endpoint: str) -> Iterator[Served]:
    with (
        a_table(endpoint) as table_name,
        serving(endpoint, table_name, public_max_age=0, rate_limits="on") as served,
    ):
        yield served


def test_without_a_time_a_cache_asks_each_time(limited: Served) -> None:
    assert get(limited).headers["cache-control"] == "public, no-cache"


def test_what_others_get_from_a_cache_has_no_limits_of_one_client(limited: Served) -> None:
    assert "ratelimit" not in get(limited).headers
    assert "ratelimit" in get(limited, "{ nothing }").headers


async def test_a_tag_is_of_all_bytes() -> None:
    large = b"x" * (3 * SLICE)
    tags = [await etag_of(content) for content in (b"", b"x", large, large[:-1], large[:-1] + b"y")]

    assert len({*tags}) == 5
    assert await etag_of(b"ab", b"c") == await etag_of(b"abc")


@pytest.mark.parametrize("header", [None, "", "W/", '""', "x" * 30_000, "," * 30_000, "*,*"])
def test_what_is_no_tag_is_unknown(header: str | None) -> None:
    assert not is_known('W/"1"', header)
