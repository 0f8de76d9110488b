"""Operations with several results over WebSocket, and those that are ended."""

import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from structlog.testing import capture_logs

from schema.execution.introspection import Introspection
from tests.schema.test_multipart import DEFERRED, FIRST, SECOND
from tests.schema.test_sse import PEOPLE, sign_up
from tests.schema.test_subscriptions_sse import ADDED, COMMENT, POST, SIGN_UP, Client, content_and_cursor
from tests.schema.test_websocket import TYPENAME, open_streams
from tests.support.serving import Served, a_table, serving, until
from tests.support.socket_client import SocketClient, socket_to

NEWEST = "query ($post: ID!) { post(by: {id: $post}) { comments(last: 1) { edges { cursor } } } }"
TYPES = "{ __schema { types { name description } } }"
TOO_LARGE = "the answer is over 2,000 bytes; ask for smaller pages or fewer fields"
TOO_SLOW = "the request took over 0.5 seconds and was ended; ask for less"


@pytest.fixture(scope="module")
def served(endpoint: str) -> Iterator[Served]:
    with a_table(endpoint) as name, serving(endpoint, name, changes="outbox", max_answer_bytes=2_000) as server:
        yield server


def next_comment(client: SocketClient) -> tuple[str, str]:
    return content_and_cursor(("next", client.result()))


def test_the_log_line_has_the_cost_of_all_parts(endpoint: str) -> None:
    with a_table(endpoint) as name, serving(endpoint, name) as server, capture_logs() as lines:
        sign_up(server, "ada")
        with socket_to(server.url) as client:
            client.init()
            client.subscribe(PEOPLE)
            assert [client.receive()["type"] for _ in range(3)] == ["next", "next", "complete"]
            until(lambda: any(line["event"] == "stream" for line in lines))
        (line,) = [line for line in lines if line["event"] == "stream"]

    assert (line["transport"], line["operation"], line["results"]) == ("websocket", "People", 2)
    assert line["calls"] == {"Query": 2}


def test_a_subscription_goes_on_after_the_connection_was_lost(served: Served) -> None:
    writer = Client(served)
    token = writer.ask(SIGN_UP)["token"]
    post = writer.ask(POST, token)["post"]["id"]
    writer.ask(COMMENT, token, post=post, text="before")
    page = served.post(NEWEST, variables={"post": post}).json()
    after = page["data"]["post"]["comments"]["edges"][0]["cursor"]
    received: list[str] = []
    for life in range(3):
        # The first is written while the client is not connected, the last just before it is lost.
        writer.ask(COMMENT, token, post=post, text=f"{life}.0")
        with socket_to(served.url) as client:
            client.init(authorization=f"Bearer {token}")
            client.subscribe(ADDED, variables={"post": post, "after": after})
            for number in (1, 2):
                content, after = next_comment(client)
                received.append(content)
                writer.ask(COMMENT, token, post=post, text=f"{life}.{number}")
            client.connection.socket.shutdown(socket.SHUT_RDWR)
        until(lambda: open_streams(served) == 0)

    assert received == ["0.0", "0.1", "0.2", "1.0", "1.1", "1.2"]


def test_deferred_parts_are_messages_of_their_own(endpoint: str) -> None:
    with a_table(endpoint) as name, serving(endpoint, name) as served, socket_to(served.url) as client:
        sign_up(served, "ada")
        client.init()
        client.subscribe(DEFERRED)

        assert [client.result(), client.result()] == [FIRST, SECOND]
        assert client.receive() == {"id": "1", "type": "complete"}


def test_an_operation_that_takes_too_long_is_ended(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    finish = threading.Event()
    monkeypatch.setattr(Introspection, "_compute", lambda *_: finish.wait(30))
    with (
        a_table(endpoint) as name,
        serving(endpoint, name, request_timeout=0.5) as served,
        socket_to(served.url) as client,
    ):
        client.init()
        client.subscribe("{ __schema { queryType { name } } }")

        assert client.receive() == failed("TIMEOUT", TOO_SLOW)
        finish.set()
        # The connection stays, and the ID is free again.
        client.subscribe("{ __typename }")
        assert client.result() == TYPENAME


def test_an_answer_over_the_size_limit_is_not_sent(served: Served) -> None:
    with socket_to(served.url) as client:
        client.init()
        client.subscribe(TYPES)

        assert client.receive() == failed("OVER_LIMIT", TOO_LARGE)
        client.subscribe("{ __typename }")
        assert client.result() == TYPENAME


def test_a_live_query_over_the_size_limit_waits_for_a_smaller_answer(served: Served) -> None:
    with socket_to(served.url) as client:
        client.init()
        client.subscribe(f"query @live {TYPES}")

        assert client.result() == {"errors": [{"message": TOO_LARGE, "extensions": {"code": "OVER_LIMIT"}}]}
        assert open_streams(served) == 1


def failed(code: str, message: str) -> dict[str, Any]:
    """Returns the message that ends an operation with this error."""
    return {"id": "1", "type": "error", "payload": [{"message": message, "extensions": {"code": code}}]}
