"""Requests of web pages: which origins may call, with which headers, and what they see of the answers."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from schema.http.app import create_app
from schema.http.cors import REFUSED
from schema.http.settings import Settings
from tests.schema.test_front import full
from tests.support.graph import Graph
from tests.support.serving import Served, a_table, serving

QUERY = "{ __typename }"
APP = "https://app.example.org"
LOCAL = [
    "http://localhost",
    "http://localhost:5173",
    "https://localhost:5173",
    "http://127.0.0.1:3000",
    "http://[::1]:8080",
]
OTHERS = [
    "https://evil.example.org",
    "http://app.example.org",
    "https://app.example.org:8443",
    "https://app.example.org.evil.org",
    "http://localhost.evil.org",
    "http://localhost:5173.evil.org",
    "http://localhost:123456",
    "http://evil.org/http://localhost",
    "http://127.0.0.2",
    "ftp://localhost",
    "null",
    "x" * 20_000,
]
CLIENT_HEADERS = [
    "authorization",
    "content-type",
    "accept",
    "x-tenant-id",
    "idempotency-key",
    "x-request-id",
    "apollographql-client-name",
    "apollographql-client-version",
    "x-apollo-operation-name",
    "apollo-require-preflight",
    "graphql-client-name",
    "graphql-client-version",
    "x-graphql-client-name",
    "x-graphql-client-version",
    "traceparent",
    "tracestate",
    "baggage",
    "sentry-trace",
    "cache-control",
    "if-none-match",
]


def preflight(server: Served, origin: str, path: str = "/graphql") -> httpx.Response:
    asked = {"access-control-request-method": "POST", "access-control-request-headers": "authorization,content-type"}
    return server.http.options(path, headers={**asked, "origin": origin})


@pytest.fixture(scope="module")
def proxied(endpoint: str) -> Iterator[Served]:
    """A server for all: a proxy on this machine forwards what it gets from the internet."""
    with (
        a_table(endpoint) as table_name,
        serving(endpoint, table_name, trusted_proxies="127.0.0.1", cors_origins=[APP]) as served,
    ):
        yield served


@pytest.mark.parametrize("origin", LOCAL)
def test_pages_of_this_machine_may_call_a_local_server(server: Served, origin: str) -> None:
    answer = server.post(QUERY, headers={"origin": origin})

    assert preflight(server, origin).headers["access-control-allow-origin"] == origin
    assert answer.headers["access-control-allow-origin"] == origin


@pytest.mark.parametrize("origin", OTHERS)
def test_other_pages_may_not_call_a_local_server(server: Served, origin: str) -> None:
    refused = preflight(server, origin)

    assert (refused.status_code, refused.text) == (403, REFUSED)
    assert "access-control-allow-origin" not in refused.headers
    assert "access-control-allow-origin" not in server.post(QUERY, headers={"origin": origin}).headers


@pytest.mark.parametrize("origin", [*LOCAL, *OTHERS])
def test_only_the_origins_in_the_settings_may_call_a_public_server(proxied: Served, origin: str) -> None:
    assert preflight(proxied, origin).status_code == 403
    assert "access-control-allow-origin" not in proxied.post(QUERY, headers={"origin": origin}).headers
    assert preflight(proxied, APP).headers["access-control-allow-origin"] == APP
    assert proxied.post(QUERY, headers={"origin": APP}).headers["access-control-allow-origin"] == APP


@pytest.mark.parametrize(
    ("settings", "local"),
    [
        ({}, True),
        ({"host": "localhost"}, True),
        ({"host": "::1"}, True),
        ({"host": "0.0.0.0"}, False),
        ({"host": "192.0.2.7"}, False),
        ({"trusted_proxies": "127.0.0.1"}, False),
    ],
)
def test_a_local_server_is_one_that_only_this_machine_reaches(settings: dict[str, Any], local: bool) -> None:
    assert Settings(**settings).allows_local_origins is local


@pytest.mark.parametrize("header", CLIENT_HEADERS)
def test_pages_may_send_the_headers_of_common_clients(server: Served, header: str) -> None:
    assert header in preflight(server, LOCAL[0]).headers["access-control-allow-headers"].split(", ")


def test_a_browser_asks_once_in_two_hours(server: Served) -> None:
    answer = preflight(server, LOCAL[0])

    assert (answer.status_code, answer.content) == (204, b"")
    assert answer.headers["access-control-allow-methods"] == "GET, POST, PUT, DELETE"
    assert answer.headers["access-control-max-age"] == "7200"
    assert "access-control-allow-credentials" not in answer.headers


def test_pages_may_read_the_headers_that_tell_what_to_do_next(server: Served) -> None:
    answer = server.post(QUERY, headers={"origin": LOCAL[0]})

    assert (
        answer.headers["access-control-expose-headers"]
        == "etag, ratelimit, ratelimit-policy, retry-after, x-request-id"
    )


def test_a_request_of_no_page_gets_no_headers_for_pages(server: Served) -> None:
    assert [name for name in server.post(QUERY).headers if name.startswith("access-control")] == []


@pytest.mark.parametrize("path", ["/graphql", "/schema.graphql", "/nowhere", "/graphiql/start.js"])
def test_pages_may_read_the_answers_of_all_routes(server: Served, path: str) -> None:
    answer = server.http.get(path, headers={"origin": LOCAL[0]})

    assert answer.headers.get_list("access-control-allow-origin") == [LOCAL[0]]


async def test_pages_may_read_that_the_server_is_overloaded(graph: Graph) -> None:
    async with full(graph.services) as client:
        for _ in range(250):
            answer = await client.post("/graphql", json={"query": QUERY}, headers={"origin": LOCAL[0]})
            if answer.status_code == 503:
                break
        asked = {"access-control-request-method": "POST", "origin": LOCAL[0]}
        allowed = await client.options("/graphql", headers=asked)

    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (503, LOCAL[0])
    assert allowed.status_code == 204


async def test_pages_may_read_that_the_server_failed(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(graph.services), "context", None)
    transport = httpx.ASGITransport(app=create_app(graph.services), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
        answer = await client.post("/graphql", json={"query": QUERY}, headers={"origin": LOCAL[0]})

    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (500, LOCAL[0])


def test_an_options_request_of_no_browser_is_not_a_preflight(server: Served) -> None:
    assert server.http.options("/graphql").status_code == 405
    assert server.http.options("/graphql", headers={"origin": LOCAL[0]}).status_code == 405
