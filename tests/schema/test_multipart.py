"""Deferred parts over multipart responses and server-sent events."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from structlog.testing import capture_logs

from schema.execution.executor import NEEDS_STREAM
from tests.schema.test_sse import PEOPLE, events, sign_up
from tests.support.serving import PATIENCE, Served, a_table, serving, until

APOLLO = "multipart/mixed;incrementalSpec=v0.2,application/graphql-response+json,application/json;q=0.9"
OLD_APOLLO = "multipart/mixed;deferSpec=20220824,application/graphql-response+json,application/json;q=0.9"
URQL = (
    "application/graphql-response+json, application/graphql+json, application/json, text/event-stream, multipart/mixed"
)
GRAPHIQL = "application/json, multipart/mixed"
DEFERRED = "{ users(first: 5) { nodes { username ... @defer { bio } } } }"
FIRST = {
    "data": {"users": {"nodes": [{"username": "ada"}]}},
    "pending": [{"id": "0", "path": ["users", "nodes", 0]}],
    "hasNext": True,
}
SECOND = {"incremental": [{"id": "0", "data": {"bio": None}}], "completed": [{"id": "0"}], "hasNext": False}
WHOLE = {"data": {"users": {"nodes": [{"username": "ada", "bio": None}]}}}


@pytest.fixture(scope="module")
def served(endpoint: str) -> Iterator[Served]:
    with a_table(endpoint) as name, serving(endpoint, name, max_streams_per_client=2) as server:
        sign_up(server, "ada")
        yield server


def ask(served: Served, accept: str, query: str = DEFERRED, **headers: str) -> httpx.Response:
    return httpx.post(
        f"{served.url}/graphql", json={"query": query}, headers={"accept": accept, **headers}, timeout=PATIENCE
    )


def parts(body: bytes) -> list[Any]:
    """Returns the JSON of each part, and checks the form of all."""
    preamble, *found, end = body.split(b"\r\n---")
    assert (preamble, end) == (b"", b"--\r\n")
    head = b"\r\ncontent-type: application/json; charset=utf-8\r\n\r\n"
    assert all(part.startswith(head) for part in found)
    return [json.loads(part[len(head) :]) for part in found]


@pytest.mark.parametrize("accept", ["multipart/mixed", APOLLO, GRAPHIQL, 'multipart/mixed; boundary="-"'])
def test_parts_are_parts_of_the_response(served: Served, accept: str) -> None:
    response = ask(served, accept)

    assert response.status_code == 200
    assert response.headers["content-type"] == 'multipart/mixed; boundary="-"; incrementalSpec=v0.2'
    assert response.headers["cache-control"] == "no-store, no-transform"
    assert "content-encoding" not in response.headers
    assert parts(response.content) == [FIRST, SECOND]


@pytest.mark.parametrize(
    "accept",
    [
        "application/json",
        OLD_APOLLO,
        "multipart/mixed;q=0, application/json",
        "multipart/mixed;subscriptionSpec=1.0, */*",
    ],
)
def test_other_clients_get_the_whole_answer_at_once(served: Served, accept: str) -> None:
    response = ask(served, accept)

    assert response.headers["content-type"].partition(";")[0] in (
        "application/json",
        "application/graphql-response+json",
    )
    assert response.json() == WHOLE


@pytest.mark.parametrize("accept", ["text/event-stream", URQL])
def test_parts_are_events(served: Served, accept: str) -> None:
    with events(served, DEFERRED, accept=accept) as found:
        assert list(found) == [("next", FIRST), ("next", SECOND), ("complete", None)]


def test_an_operation_without_parts_is_answered_as_json(served: Served) -> None:
    query = DEFERRED.replace("@defer", "@defer(if: false)")

    assert ask(served, APOLLO, query).json() == WHOLE
    assert parts(ask(served, "multipart/mixed", query).content) == [WHOLE]


@pytest.mark.parametrize(
    ("query", "headers", "status", "code"),
    [
        ("{ users @stream { nodes { id } } }", {}, 400, "INVALID_QUERY"),
        (DEFERRED, {"authorization": "Bearer rubbish"}, 401, "TOKEN_INVALID"),
        (DEFERRED, {"content-type": "text/plain"}, 415, "UNSUPPORTED_MEDIA_TYPE"),
    ],
)
def test_a_request_that_is_not_executed_is_answered_as_json(
    served: Served, query: str, headers: dict[str, str], status: int, code: str
) -> None:
    response = ask(served, APOLLO, query, **headers)

    assert response.status_code == status
    assert [error["extensions"]["code"] for error in response.json()["errors"]] == [code]


def test_a_subscription_is_refused(served: Served) -> None:
    # The word is enough for a request to be read as one that may have parts.
    response = ask(served, APOLLO, "subscription { postAdded { cursor } } # @defer")

    assert response.status_code == 400
    assert [error["message"] for error in response.json()["errors"]] == [NEEDS_STREAM]


def test_the_log_line_has_the_cost_of_all_parts(endpoint: str) -> None:
    with a_table(endpoint) as name, serving(endpoint, name) as server, capture_logs() as lines:
        sign_up(server, "ada")
        assert len(parts(ask(server, "multipart/mixed", PEOPLE).content)) == 2

        until(lambda: any(line["event"] == "stream" for line in lines))
        (line,) = [line for line in lines if line["event"] == "stream"]

    assert (line["transport"], line["results"], line["errors"], line["outcome"]) == ("multipart", 2, 0, "ok")
    assert (line["operation"], line["viewer"], line["calls"]) == ("People", None, {"Query": 2})
    assert line["cost"] > 1


def test_the_first_part_comes_before_the_others(served: Served) -> None:
    with (
        httpx.Client(timeout=PATIENCE) as client,
        client.stream(
            "POST", f"{served.url}/graphql", json={"query": DEFERRED}, headers={"accept": "multipart/mixed"}
        ) as response,
    ):
        first = next(response.iter_raw())

    # With its boundary: clients parse a part when they see the end of it.
    assert first.endswith(b"}\r\n---")
    assert json.loads(first.split(b"\r\n\r\n")[1].removesuffix(b"\r\n---")) == FIRST


def test_open_streams_are_counted_until_they_end(served: Served) -> None:
    for _ in range(5):  # more than a client may have open at a time
        assert ask(served, "multipart/mixed").status_code == 200

    def is_closed() -> bool:
        return 'heartwood_streams{transport="multipart"} 0' in httpx.get(f"{served.url}/metrics").text

    until(is_closed)
