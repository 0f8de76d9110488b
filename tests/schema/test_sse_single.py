"""Results over server-sent events, with one connection for all operations of a client."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from schema.live import sse_channel, token_expiry
from tests.schema.test_sse import LIVE, read, sign_up
from tests.support.serving import PATIENCE, Served, a_table, serving, until

TOKEN = "x-graphql-event-stream-token"
TYPENAME = {"data": {"__typename": "Query"}}


@pytest.fixture
def served(endpoint: str) -> Iterator[Served]:
    with a_table(endpoint) as name, serving(endpoint, name, max_streams_per_client=3, changes="outbox") as server:
        yield server


def reserve(served: Served, **headers: str) -> str:
    answer = served.http.put("/graphql", headers=headers)
    assert (answer.status_code, answer.headers["content-type"]) == (201, "text/plain; charset=utf-8")
    return answer.text


@contextmanager
def stream(served: Served, token: str) -> Iterator[Iterator[tuple[str, Any]]]:
    headers = {"accept": "text/event-stream", TOKEN: token}
    with (
        httpx.Client(timeout=PATIENCE) as client,
        client.stream("GET", f"{served.url}/graphql", headers=headers) as response,
    ):
        assert response.status_code == 200, response.read()
        yield read(response)


def start(served: Served, token: str, query: str, id: Any = "1", **headers: str) -> httpx.Response:
    body = {"query": query, "extensions": {"operationId": id}}
    return served.http.post("/graphql", json=body, headers={TOKEN: token, **headers})


def open_streams(served: Served) -> str:
    return next(line for line in served.http.get("/metrics").text.splitlines() if "heartwood_streams{" in line)


def test_operations_share_a_connection(served: Served) -> None:
    token = reserve(served)
    with stream(served, token) as events:
        assert start(served, token, LIVE, "live").status_code == 202
        assert next(events) == ("next", {"id": "live", "payload": {"data": {"users": {"nodes": []}}}})
        assert start(served, token, "{ __typename }", "once").status_code == 202
        assert next(events) == ("next", {"id": "once", "payload": TYPENAME})
        assert next(events) == ("complete", {"id": "once"})
        sign_up(served, "ada")
        assert next(events)[1]["payload"] == {"data": {"users": {"nodes": [{"username": "ada"}]}}}

        ended = served.http.delete("/graphql", params={"operationId": "live"}, headers={TOKEN: token})
        assert ended.status_code == 200
        # The connection is left.
        until(lambda: open_streams(served) == 'heartwood_streams{transport="sse"} 1')
    until(lambda: open_streams(served) == 'heartwood_streams{transport="sse"} 0')
    assert start(served, token, "{ __typename }").status_code == 404


def test_an_operation_may_start_before_the_stream_is_open(served: Served) -> None:
    token = reserve(served)
    assert start(served, token, "{ __typename }").status_code == 202
    with stream(served, token) as events:
        assert [next(events), next(events)] == [("next", {"id": "1", "payload": TYPENAME}), ("complete", {"id": "1"})]


def test_a_stream_is_opened_once(served: Served) -> None:
    token = reserve(served)
    with stream(served, token):
        again = served.http.get("/graphql", headers={"accept": "text/event-stream"}, params={"token": token})
        assert again.status_code == 409


def test_an_id_can_be_used_once_at_a_time(served: Served) -> None:
    token = reserve(served)
    with stream(served, token) as events:
        assert start(served, token, LIVE).status_code == 202
        next(events)
        assert start(served, token, LIVE).status_code == 409


@pytest.mark.parametrize(
    ("query", "id", "status", "code"),
    [
        ("{ nothing }", "1", 400, "INVALID_QUERY"),
        ("{ __typename }", None, 400, "BAD_REQUEST"),
        ("{ __typename }", "x" * 201, 400, "BAD_REQUEST"),
        ("{ __typename }", 1, 400, "BAD_REQUEST"),
    ],
)
def test_an_operation_that_cannot_be_executed_is_answered(
    served: Served, query: str, id: Any, status: int, code: str
) -> None:
    answer = start(served, reserve(served), query, id)

    assert (answer.status_code, answer.json()["errors"][0]["extensions"]["code"]) == (status, code)


def test_a_stream_belongs_to_the_viewer_who_has_reserved_it(served: Served) -> None:
    mine = {"authorization": f"Bearer {served.services.tokens.issue('me')}"}
    token = reserve(served, **mine)

    assert start(served, token, "{ __typename }").status_code == 404
    other = f"Bearer {served.services.tokens.issue('other')}"
    assert start(served, token, "{ __typename }", authorization=other).status_code == 404
    assert (
        served.http.delete("/graphql?operationId=1", headers={TOKEN: token, "authorization": other}).status_code == 404
    )
    assert start(served, token, "{ __typename }", **mine).status_code == 202


def test_an_operation_ends_with_its_token(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_expiry, "LONGEST_WAIT", 0.05)
    mine = {"authorization": f"Bearer {served.services.tokens.issue('me', lifetime=60)}"}
    token = reserve(served, **mine)
    with stream(served, token) as events:
        start(served, token, "query @live { __typename }", **mine)
        next(events)
        monkeypatch.setattr(token_expiry, "LEEWAY", -60)
        _, data = next(events)
        assert data["payload"]["errors"][0]["extensions"]["code"] == "TOKEN_EXPIRED"
        assert next(events) == ("complete", {"id": "1"})


def test_reservations_expire_and_are_limited(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = [reserve(served) for _ in range(3)]
    refused = served.http.put("/graphql")
    assert (refused.status_code, refused.json()["errors"][0]["extensions"]["code"]) == (429, "RATE_LIMITED")
    assert len({*tokens}) == 3

    with stream(served, tokens[0]):
        pass
    monkeypatch.setattr(sse_channel, "RESERVED_FOR", 0.05)
    until(lambda: served.http.put("/graphql").status_code == 201)
    until(lambda: open_streams(served) == 'heartwood_streams{transport="sse"} 2')


def test_an_invalid_token_reserves_nothing(served: Served) -> None:
    answer = served.http.put("/graphql", headers={"authorization": "Bearer nonsense"})

    assert (answer.status_code, answer.json()["errors"][0]["extensions"]["code"]) == (401, "TOKEN_INVALID")


def test_a_server_with_several_processes_says_so(endpoint: str) -> None:
    with a_table(endpoint) as name, serving(endpoint, name, workers=2) as served:
        answer = served.http.put("/graphql")

    assert (answer.status_code, answer.json()["errors"][0]["extensions"]["code"]) == (400, "BAD_REQUEST")
    assert "or WebSocket" in json.dumps(answer.json())
