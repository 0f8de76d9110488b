"""Results over server-sent events."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from structlog.testing import capture_logs

from tests.support.serving import PATIENCE, Served, a_table, serving, until

EVENTS = {"accept": "text/event-stream"}
LIVE = "query @live(throttle: 50) { users(first: 5) { nodes { username } } }"
PEOPLE = "query People { users(first: 5) { nodes { username ... @defer { posts { nodes { caption } } } } } }"
SIGN_UP = """mutation ($name: String!, $email: String!) {
    signUp(input: {username: $name, email: $email, password: "correct horse"}) { problems { code message } } }"""


@contextmanager
def events(served: Served, query: str, method: str = "POST", **headers: str) -> Iterator[Iterator[tuple[str, Any]]]:
    """Yields the name and the data of each event."""
    asked = {"json": {"query": query}} if method == "POST" else {"params": {"query": query}}
    with (
        httpx.Client(timeout=PATIENCE) as client,
        client.stream(method, f"{served.url}/graphql", headers=EVENTS | headers, **asked) as response,
    ):
        assert response.status_code == 200, response.read()
        assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
        yield read(response)


def read(response: httpx.Response) -> Iterator[tuple[str, Any]]:
    name = ""
    for line in response.iter_lines():
        field, _, value = line.partition(": ")
        if field == "event":
            name = value
        elif field.startswith("data"):
            yield name, json.loads(value) if value else None


def sign_up(served: Served, name: str) -> None:
    given = {"name": name, "email": f"{name}@example.org"}
    answer = httpx.post(f"{served.url}/graphql", json={"query": SIGN_UP, "variables": given}, timeout=PATIENCE)
    assert answer.json() == {"data": {"signUp": {"problems": []}}}


@pytest.fixture
def served(endpoint: str) -> Iterator[Served]:
    with a_table(endpoint) as name, serving(endpoint, name, max_streams_per_client=2, changes="outbox") as server:
        yield server


def test_a_query_has_one_result(served: Served) -> None:
    with events(served, "{ __typename }") as found:
        assert list(found) == [("next", {"data": {"__typename": "Query"}}), ("complete", None)]


def test_the_log_line_has_the_cost_of_all_parts(endpoint: str) -> None:
    with a_table(endpoint) as name, serving(endpoint, name) as server, capture_logs() as lines:
        sign_up(server, "ada")
        with events(server, PEOPLE) as found:
            assert [name for name, _ in found] == ["next", "next", "complete"]
        until(lambda: any(line["event"] == "stream" for line in lines))
        (line,) = [line for line in lines if line["event"] == "stream"]

    assert (line["transport"], line["operation"], line["results"]) == ("sse", "People", 2)
    assert line["calls"] == {"Query": 2}


def test_a_live_query_follows_the_data(served: Served) -> None:
    with events(served, LIVE) as found:
        assert next(found) == ("next", {"data": {"users": {"nodes": []}}})
        sign_up(served, "ada")
        assert next(found) == ("next", {"data": {"users": {"nodes": [{"username": "ada"}]}}})
        sign_up(served, "bob")
        assert next(found) == ("next", {"data": {"users": {"nodes": [{"username": "bob"}, {"username": "ada"}]}}})


def test_a_live_query_without_events_is_answered_once(served: Served) -> None:
    answer = httpx.post(f"{served.url}/graphql", json={"query": LIVE}, timeout=PATIENCE)

    assert answer.json() == {"data": {"users": {"nodes": []}}}


def test_an_invalid_query_is_an_event_with_its_errors(served: Served) -> None:
    with events(served, "{ nothing }") as found:
        ((name, result), end) = list(found)

    assert (name, end) == ("next", ("complete", None))
    assert [error["extensions"]["code"] for error in result["errors"]] == ["INVALID_QUERY"]


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [({"authorization": "Bearer nonsense"}, 401, "TOKEN_INVALID"), ({"x-tenant-id": "none"}, 400, "UNKNOWN_TENANT")],
)
def test_a_refused_request_has_a_status(served: Served, headers: dict[str, str], status: int, code: str) -> None:
    answer = httpx.post(f"{served.url}/graphql", json={"query": LIVE}, headers=EVENTS | headers, timeout=PATIENCE)

    assert (answer.status_code, answer.json()["errors"][0]["extensions"]["code"]) == (status, code)


def test_a_mutation_needs_post(served: Served) -> None:
    query = "mutation { deleteAccount { problems { code } } }"
    answer = httpx.get(f"{served.url}/graphql", params={"query": query}, headers=EVENTS, timeout=PATIENCE)

    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


def test_a_client_has_only_so_many_streams(served: Served) -> None:
    with events(served, LIVE) as one, events(served, LIVE) as other:
        next(one), next(other)
        refused = httpx.post(f"{served.url}/graphql", json={"query": LIVE}, headers=EVENTS, timeout=PATIENCE)
        assert refused.status_code == 429
        message = "you have 2 open streams, and no more are allowed; close one first"
        assert refused.json()["errors"][0]["message"] == message
    # The server learns a moment later that the clients are gone.
    until(
        lambda: (
            "event: next" in httpx.post(f"{served.url}/graphql", json={"query": "{ __typename }"}, headers=EVENTS).text
        )
    )


def test_a_viewer_has_only_so_many_streams_from_all_addresses(endpoint: str) -> None:
    """Behind a proxy, the address is that of the client."""
    limits = {"max_streams_per_client": 1, "trusted_proxies": "127.0.0.1"}
    with a_table(endpoint) as name, serving(endpoint, name, changes="outbox", **limits) as served:
        token = {"authorization": f"Bearer {served.services.tokens.issue('ada')}"}
        with events(served, LIVE, **token, **{"x-forwarded-for": "192.0.2.1"}) as found:
            next(found)
            elsewhere = EVENTS | token | {"x-forwarded-for": "192.0.2.2"}
            refused = httpx.post(f"{served.url}/graphql", json={"query": LIVE}, headers=elsewhere, timeout=PATIENCE)
            assert (refused.status_code, refused.json()["errors"][0]["message"]) == (
                429,
                "you have 1 open streams, and no more are allowed; close one first",
            )
            with events(served, LIVE, **{"x-forwarded-for": "192.0.2.2"}) as another:
                next(another)


def test_a_client_that_accepts_both_gets_events_for_live_queries_only(served: Served) -> None:
    both = {"accept": "application/graphql-response+json, application/json, text/event-stream, multipart/mixed"}
    plain = httpx.post(f"{served.url}/graphql", json={"query": "{ __typename }"}, headers=both, timeout=PATIENCE)

    assert plain.json() == {"data": {"__typename": "Query"}}
    with events(served, LIVE, **both) as found:
        assert next(found) == ("next", {"data": {"users": {"nodes": []}}})
