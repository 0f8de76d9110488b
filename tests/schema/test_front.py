"""Headers of the answers of all routes, request IDs and overload."""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest
import structlog

from schema.http.admission import AT_FIRST
from schema.http.app import create_app
from schema.http.services import Services
from tests.support.graph import Graph
from tests.support.serving import Served, a_table, serving, until

QUERY = "{ __typename }"
EVERY_KIND = [
    ("GET", "/", {}, 307),
    ("POST", "/graphql", {"json": {"query": QUERY}}, 200),
    ("POST", "/graphql", {"json": {"query": "{"}}, 200),
    ("POST", "/graphql", {"json": {"query": QUERY}, "headers": {"authorization": "Bearer x"}}, 401),
    ("POST", "/graphql", {"json": {"query": QUERY}, "headers": {"accept": "image/png"}}, 406),
    ("POST", "/graphql", {"content": b"x" * 2_000_000}, 413),
    ("PUT", "/graphql", {}, 201),
    ("PATCH", "/graphql", {}, 405),
    ("GET", "/graphql", {"headers": {"accept": "text/html"}}, 200),
    ("GET", "/graphiql/start.js", {}, 200),
    ("HEAD", "/graphiql/start.js", {}, 200),
    ("GET", "/graphiql/nothing.js", {}, 404),
    ("GET", "/schema.graphql", {}, 200),
    ("GET", "/trees/none.svg", {}, 404),
    ("GET", "/trees/none.svg?line=x", {}, 400),
    ("GET", "/healthz", {}, 200),
    ("OPTIONS", "/healthz", {}, 405),
    ("GET", "/readyz", {}, 200),
    ("GET", "/schema.graphql", {"headers": {"authorization": "Bearer x"}}, 401),
    ("POST", "/graphql", {"json": {"query": QUERY}, "headers": {"x-tenant-id": "nobody"}}, 400),
    ("GET", "/graphql", {"params": {"query": "mutation { __typename }"}}, 405),
    ("GET", "/nowhere", {"headers": {"accept": "text/html"}}, 404),
    ("DELETE", "/graphql", {"headers": {"accept": "text/html"}}, 404),
    ("GET", "/" + "x" * 10_000, {}, 414),
    ("GET", "/", {"headers": {"x": "x" * 40_000}}, 431),
    ("GET", "/metrics", {}, 200),
    ("GET", "/nowhere", {}, 404),
]


@pytest.mark.parametrize(("method", "path", "sent", "status"), EVERY_KIND)
def test_every_answer_has_the_headers(server: Served, method: str, path: str, sent: dict, status: int) -> None:
    answer = server.http.request(method, path, **sent)

    assert answer.status_code == status
    assert answer.headers.get_list("x-content-type-options") == ["nosniff"]
    assert re.fullmatch("[0-9a-f]{32}", answer.headers["x-request-id"])
    assert answer.headers["cache-control"]
    assert answer.headers.get_list("vary") == ["accept, accept-encoding, authorization, origin, x-tenant-id"]


@pytest.mark.parametrize(("method", "path", "sent", "status"), EVERY_KIND)
def test_the_request_id_is_that_of_the_log(server: Served, method: str, path: str, sent: dict, status: int) -> None:
    with structlog.testing.capture_logs([structlog.contextvars.merge_contextvars]) as lines:
        answer = server.http.request(method, path, **sent)
        until(lambda: any(line.get("logger") == "heartwood.server" for line in lines))

    assert {(line["request_id"], line["status"]) for line in lines if line.get("logger") == "heartwood.server"} == {
        (answer.headers["x-request-id"], status)
    }


def test_a_preflight_has_a_request_id(endpoint: str, table_name: str) -> None:
    with serving(endpoint, table_name, cors_origins=["https://app.example.org"]) as server:
        headers = {"origin": "https://app.example.org", "access-control-request-method": "POST"}
        answer = server.http.options("/graphql", headers=headers)

    assert answer.status_code == 204
    assert re.fullmatch("[0-9a-f]{32}", answer.headers["x-request-id"])


@pytest.mark.parametrize(
    ("authorization", "code", "action"),
    [
        ("Bearer x", "TOKEN_INVALID", "send the one that `logIn` or `signUp` returned, unchanged"),
        ("Basic YTpi", "TOKEN_INVALID", "write the header as `Authorization: Bearer <token>`"),
        (None, "TOKEN_EXPIRED", "log in again"),
    ],
)
def test_a_token_that_does_not_hold_is_401_and_the_answer_says_what_to_do(
    server: Served, authorization: str | None, code: str, action: str
) -> None:
    expired = server.services.tokens.issue("ada", lifetime=-3_600)
    headers = {"authorization": authorization or f"Bearer {expired}"}

    answers = [server.post(QUERY, headers), server.http.get("/schema.graphql", headers=headers)]

    (error,) = answers[0].json()["errors"]
    challenge = f'Bearer error="invalid_token", error_description="{error["message"]}"'
    assert [(each.status_code, each.headers["www-authenticate"]) for each in answers] == [(401, challenge)] * 2
    assert error["extensions"] == {"code": code}
    assert error["message"].endswith(action)
    assert answers[1].text == error["message"]


def test_graphql_answers_are_not_stored_and_differ_by_viewer(server: Served) -> None:
    answer = server.post(QUERY)

    assert answer.headers["cache-control"] == "no-store"


def test_a_page_sends_no_referrer(server: Served) -> None:
    page = server.http.get("/graphql", headers={"accept": "text/html"})

    assert page.headers["referrer-policy"] == "no-referrer"


@pytest.fixture(scope="module")
def proxied(endpoint: str) -> Iterator[Served]:
    """A server that takes this test for a proxy."""
    with a_table(endpoint) as table_name, serving(endpoint, table_name, trusted_proxies="127.0.0.0/8") as served:
        yield served


def test_a_proxy_may_name_the_request(proxied: Served) -> None:
    answer = proxied.post(QUERY, headers={"x-request-id": "trace-0001.a_b"})

    assert answer.headers["x-request-id"] == "trace-0001.a_b"


@pytest.mark.parametrize("name", ["short", "x" * 65, "with space", "new\tline12", "<script>1"])
def test_a_malformed_name_of_a_request_is_replaced(proxied: Served, name: str) -> None:
    assert re.fullmatch("[0-9a-f]{32}", proxied.post(QUERY, headers={"x-request-id": name}).headers["x-request-id"])


def test_a_stranger_cannot_name_the_request(server: Served) -> None:
    assert server.post(QUERY, headers={"x-request-id": "trace-0001"}).headers["x-request-id"] != "trace-0001"


@contextlib.asynccontextmanager
async def full(services: Services) -> AsyncIterator[httpx.AsyncClient]:
    """A server all of whose places are taken. Its event loop is late, so there will be no more of them."""
    app = create_app(services)
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(AT_FIRST):
            await stack.enter_async_context(app.admission)

        async def late() -> None:
            while True:
                app.admission.adapt(1.0)
                await asyncio.sleep(0.01)

        lateness = asyncio.create_task(late())
        stack.callback(lateness.cancel)
        transport = httpx.ASGITransport(app=app)
        yield await stack.enter_async_context(httpx.AsyncClient(transport=transport, base_url="http://x"))


@pytest.mark.parametrize("accept", ["application/json", "application/graphql-response+json"])
async def test_under_overload_the_answer_says_when_to_try_again(graph: Graph, accept: str) -> None:
    async with full(graph.services) as client:
        answers = await asyncio.gather(
            *(client.post("/graphql", json={"query": QUERY}, headers={"accept": accept}) for _ in range(250))
        )

    for answer in answers:
        seconds = int(answer.headers["retry-after"])
        message = f"The server is overloaded and did not start this request. Try again in {seconds} s."
        extensions = {"code": "UNAVAILABLE", "retryable": True, "retryAfter": seconds}
        assert answer.status_code == 503
        assert answer.headers["content-type"] == f"{accept}; charset=utf-8"
        assert answer.json() == {"errors": [{"message": message, "extensions": extensions}]}
        assert (answer.headers["cache-control"], answer.headers["x-content-type-options"]) == ("no-store", "nosniff")
    assert {answer.headers["retry-after"] for answer in answers} == {"1", "2", "3"}
    assert len({answer.headers["x-request-id"] for answer in answers}) == 250


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
async def test_under_overload_the_health_checks_answer(graph: Graph, path: str) -> None:
    async with full(graph.services) as client:
        await client.post("/graphql", json={"query": QUERY})
        answer = await client.get(path)

    assert "overloaded" not in answer.text
    assert answer.headers["x-request-id"]


async def test_refused_requests_are_counted_and_not_logged(graph: Graph) -> None:
    with structlog.testing.capture_logs() as lines:
        async with full(graph.services) as client:
            await asyncio.gather(*(client.post("/graphql", json={"query": QUERY}) for _ in range(10)))
            metrics = await client.get("/metrics")

    assert "heartwood_requests_shed_total 10\n" in metrics.text
    assert "/graphql" not in metrics.text
    assert [line["path"] for line in lines if "path" in line] == ["/metrics"]
