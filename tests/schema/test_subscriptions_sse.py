"""Subscriptions over server-sent events, through restarts of the server."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from schema.execution.executor import NEEDS_STREAM
from tests.schema.test_sse import EVENTS, read
from tests.support.serving import PATIENCE, Served, a_table, serving

SIGN_UP = """mutation { signUp(input: {username: "ada", email: "ada@example.org", password: "correct horse"})
  { token problems { code } } }"""
POST = (
    """mutation { createPost(input: {imageUrl: "https://example.org/rain.jpg"}) { post { id } problems { code } } }"""
)
COMMENT = """mutation ($post: ID!, $text: String!) {
  addComment(input: {postId: $post, content: $text}) { problems { code } } }"""
ADDED = """subscription ($post: ID!, $after: String) {
  commentAdded(postId: $post, after: $after) { cursor node { content author { username } } } }"""
BOTH = {"accept": "application/graphql-response+json, application/json, text/event-stream"}


class Client:
    """Writes comments, and reads them from a subscription."""

    def __init__(self, served: Served) -> None:
        self.served = served

    def ask(self, query: str, token: str | None = None, **variables: Any) -> dict[str, Any]:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        answer = self.served.post(query, headers, variables=variables).json()
        assert "errors" not in answer, answer
        (payload,) = answer["data"].values()
        assert payload["problems"] == []
        return dict(payload)

    @contextmanager
    def events(self, headers: dict[str, str] = EVENTS, **variables: Any) -> Iterator[Iterator[tuple[str, Any]]]:
        body = {"query": ADDED, "variables": variables}
        with (
            httpx.Client(timeout=PATIENCE) as client,
            client.stream("POST", f"{self.served.url}/graphql", headers=headers, json=body) as response,
        ):
            assert response.status_code == 200, response.read()
            yield read(response)


def content_and_cursor(event: tuple[str, Any]) -> tuple[str, str]:
    name, result = event
    assert name == "next"
    edge = result["data"]["commentAdded"]
    assert edge["node"]["author"] == {"username": "ada"}
    return edge["node"]["content"], edge["cursor"]


def test_a_subscription_goes_on_through_restarts_of_the_server(endpoint: str) -> None:
    with a_table(endpoint) as name:
        received: list[str] = []
        after = None
        token = post = ""
        for life in range(3):
            with serving(endpoint, name, changes="outbox") as served:
                client = Client(served)
                if not life:
                    token = client.ask(SIGN_UP)["token"]
                    post = client.ask(POST, token)["post"]["id"]
                with client.events(post=post, after=after) as events:
                    texts = [f"{life}.{number}" for number in range(3)]
                    for text in texts:
                        client.ask(COMMENT, token, post=post, text=text)
                    # What is written and not received before the server stops comes after the restart.
                    for _ in range(2 if life < 2 else 5):
                        content, after = content_and_cursor(next(events))
                        received.append(content)

        assert received == [f"{life}.{number}" for life in range(3) for number in range(3)]


@pytest.fixture(scope="module")
def client(endpoint: str) -> Iterator[Client]:
    with a_table(endpoint) as name, serving(endpoint, name, changes="outbox") as served:
        yield Client(served)


def test_without_events_the_answer_says_what_to_do(client: Client) -> None:
    body = {"query": ADDED, "variables": {"post": "x"}}
    answer = httpx.post(f"{client.served.url}/graphql", json=body, timeout=PATIENCE)

    assert answer.status_code == 400
    assert answer.json() == {"errors": [{"message": NEEDS_STREAM, "extensions": {"code": "BAD_REQUEST"}}]}


def test_a_client_that_accepts_both_gets_events(client: Client) -> None:
    with client.events(BOTH, post="nonsense") as events:
        (name, result), end = list(events)

    assert (name, end) == ("next", ("complete", None))
    assert [error["extensions"]["code"] for error in result["errors"]] == ["INVALID"]


def test_a_subscription_may_be_sent_by_get(client: Client) -> None:
    """`EventSource` of browsers sends nothing else."""
    params = {"query": ADDED, "variables": json.dumps({"post": "nonsense"})}
    answer = httpx.get(f"{client.served.url}/graphql", params=params, headers=EVENTS, timeout=PATIENCE)

    assert answer.status_code == 200
    assert '"INVALID"' in answer.text
