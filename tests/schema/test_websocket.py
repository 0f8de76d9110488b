"""Operations over WebSocket."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus

from resolvers.accounts import tokens
from resolvers.accounts.token_epoch import ENDED
from schema.live import token_expiry, websocket
from tests.schema.test_sse import LIVE, SIGN_UP, events, sign_up
from tests.support.serving import CREATE_TENANT, Served, a_table, launched, serving, until
from tests.support.socket_client import SocketClient, socket_to

NOT_A_TYPE = (
    "send JSON objects of graphql-transport-ws: `type` is one of complete, connection_init, ping, pong, subscribe"
)
TYPENAME = {"data": {"__typename": "Query"}}


@pytest.fixture(scope="module")
def served(endpoint: str) -> Iterator[Served]:
    with a_table(endpoint) as name, serving(endpoint, name, changes="outbox") as server:
        yield server


@pytest.fixture
def client(served: Served) -> Iterator[SocketClient]:
    with socket_to(served.url) as connected:
        yield connected


def bearer(served: Served, user_id: str = "root", **options: Any) -> str:
    return f"Bearer {served.services.tokens.issue(user_id, frozenset({'admin'}), **options)}"


def open_streams(served: Served) -> int:
    line = next(
        line
        for line in served.http.get("/metrics").text.splitlines()
        if line.startswith('heartwood_streams{transport="websocket"')
    )
    return int(line.rpartition(" ")[2])


def test_a_query_has_one_result(client: SocketClient) -> None:
    assert client.connection.subprotocol == "graphql-transport-ws"
    client.init()
    client.subscribe("{ __typename }")

    assert client.result() == TYPENAME
    assert client.receive() == {"id": "1", "type": "complete"}


def test_a_mutation_is_executed(client: SocketClient) -> None:
    client.init()
    client.subscribe(SIGN_UP, variables={"name": "mia", "email": "mia@example.org"})

    assert client.result() == {"data": {"signUp": {"problems": []}}}
    assert client.receive() == {"id": "1", "type": "complete"}


def test_a_live_query_follows_the_data_until_the_client_ends_it(endpoint: str) -> None:
    with (
        a_table(endpoint) as name,
        serving(endpoint, name, changes="outbox") as served,
        socket_to(served.url) as client,
    ):
        client.init()
        client.subscribe(LIVE)
        assert client.result() == {"data": {"users": {"nodes": []}}}
        sign_up(served, "ada")
        assert client.result() == {"data": {"users": {"nodes": [{"username": "ada"}]}}}
        assert open_streams(served) == 1

        client.send("complete", id="1")
        until(lambda: open_streams(served) == 0)
        # The ID is free again.
        client.subscribe("{ __typename }")
        assert client.result() == TYPENAME


def test_operations_of_a_connection_do_not_wait_for_each_other(client: SocketClient) -> None:
    client.init()
    client.subscribe("query @live { __typename }", id="live")
    assert client.result("live") == TYPENAME
    client.subscribe("{ __typename }", id="once")

    assert client.result("once") == TYPENAME


@pytest.mark.parametrize(
    ("payload", "code"),
    [
        ({"query": "{ nothing }"}, "INVALID_QUERY"),
        ({"query": "{"}, "INVALID_QUERY"),
        ({}, "BAD_REQUEST"),
        ({"query": "{ __typename }", "variables": []}, "BAD_REQUEST"),
        ({"query": "{ __typename }", "extensions": {"idempotencyKey": 1}}, "BAD_REQUEST"),
        ({"query": "query @live(throttle: 1) { __typename }"}, "BAD_REQUEST"),
    ],
)
def test_an_operation_that_cannot_be_executed_gets_its_errors(
    client: SocketClient, payload: dict[str, Any], code: str
) -> None:
    client.init()
    client.send("subscribe", id="1", payload=payload)
    answer = client.receive()

    assert (answer["id"], answer["type"]) == ("1", "error")
    assert [error["extensions"]["code"] for error in answer["payload"]] == [code]


def test_pings_are_answered_at_any_time(client: SocketClient) -> None:
    client.send("ping", payload={"sent": 1})
    assert client.receive() == {"type": "pong", "payload": {"sent": 1}}
    client.init()
    client.send("ping")
    assert client.receive() == {"type": "pong"}
    client.send("pong")
    client.subscribe("{ __typename }")
    assert client.result() == TYPENAME


def test_a_key_makes_a_mutation_idempotent(client: SocketClient) -> None:
    client.init()
    for number in "12":
        given = {"name": "ida", "email": "ida@example.org"}
        client.subscribe(SIGN_UP, id=number, variables=given, extensions={"idempotencyKey": "one-and-the-same"})
        assert client.result(number) == {"data": {"signUp": {"problems": []}}}
        client.receive()


# The viewer of a connection.


@pytest.mark.parametrize("name", ["authorization", "Authorization", "authToken", "token"])
def test_the_token_is_a_parameter_of_the_connection(served: Served, client: SocketClient, name: str) -> None:
    token = bearer(served)
    client.init(**{name: token.removeprefix("Bearer ") if "oken" in name else token})
    client.subscribe(CREATE_TENANT, variables={"id": f"acme-{name.encode().hex()}"})

    assert client.result() == {"data": {"createTenant": {"problems": []}}}


def test_headers_in_parameters_and_headers_of_the_handshake_count_too(served: Served) -> None:
    query = "{ viewer { username } }"
    with socket_to(served.url, headers={"authorization": "Bearer nonsense"}) as client:
        client.send("connection_init")
        assert client.closed() == (4403, tokens.NOT_OURS)
    with socket_to(served.url, headers={"authorization": "Bearer nonsense"}) as client:
        client.init(headers={"Authorization": bearer(served)})
        client.subscribe(query)
        assert client.result() == {"data": {"viewer": None}}


def test_a_connection_is_for_a_tenant(served: Served) -> None:
    served.add_tenant("tenant-of-sockets")
    for name in ("x-tenant-id", "tenantId"):
        with socket_to(served.url) as client:
            client.init(**{name: "tenant-of-sockets"})
    with socket_to(served.url) as client:
        client.send("connection_init", payload={"tenantId": "none"})
        reason = "there is no tenant 'none'; fix the header x-tenant-id, or leave it out"
        assert client.closed() == (4400, reason)


def test_nobody_is_signed_in_without_a_token(client: SocketClient) -> None:
    client.init(authorization=None, token="")
    client.subscribe("{ viewer { username } }")
    assert client.result() == {"data": {"viewer": None}}


def test_a_connection_ends_with_its_token(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_expiry, "LONGEST_WAIT", 0.05)
    with socket_to(served.url) as client:
        client.init(authorization=bearer(served, lifetime=60))
        client.subscribe("query @live { __typename }")
        assert client.result() == TYPENAME
        monkeypatch.setattr(token_expiry, "LEEWAY", -60)
        assert client.closed() == (4403, tokens.EXPIRED)


def test_signing_out_everywhere_ends_connections(served: Served) -> None:
    given = {"name": "zoe", "email": "zoe@example.org"}
    query = SIGN_UP.replace("{ problems", "{ token problems")
    token = served.post(query, variables=given).json()["data"]["signUp"]["token"]
    with socket_to(served.url) as client:
        client.init(authorization=f"Bearer {token}")
        client.subscribe("query @live { viewer { username } }")
        assert client.result() == {"data": {"viewer": {"username": "zoe"}}}
        out = served.post("mutation { signOutEverywhere { problems { code } } }", {"authorization": f"Bearer {token}"})
        assert out.json() == {"data": {"signOutEverywhere": {"problems": []}}}
        assert client.closed() == (4403, ENDED)


# Close codes.


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("nonsense", "the message is not JSON: fix line 1, column 1"),
        ("[]", NOT_A_TYPE),
        ('{"type": "start"}', NOT_A_TYPE),
        ('{"type": "ping", "payload": []}', "`payload` of a ping message must be a JSON object"),
        ('{"type": "subscribe", "payload": {}}', "`id` of a subscribe message must be a text of 1 to 200 characters"),
        ('{"type": "subscribe", "id": "1"}', "`payload` of a subscribe message must be a JSON object"),
        (
            '{"type": "connection_init", "payload": {"authorization": 1}}',
            "the connection parameter 'authorization' must be a text",
        ),
        ("[" * 100_000, "the message is nested too deeply; send less"),
    ],
)
def test_what_is_not_a_message_is_a_bad_request(client: SocketClient, message: str, reason: str) -> None:
    client.connection.send(message)

    assert client.closed() == (4400, reason)


def test_text_that_is_not_utf_8_is_a_bad_request(client: SocketClient) -> None:
    client.connection.send(b'{"type": "ping\xff"}', text=True)

    assert client.closed()[0] == 4400


def test_operations_need_a_connection(client: SocketClient) -> None:
    client.subscribe("{ __typename }")

    assert client.closed() == (4401, "Unauthorized; send connection_init first")


def test_another_protocol_is_not_acceptable(served: Served) -> None:
    for protocols in (("graphql-ws",), ("graphql-ws", "other")):
        with socket_to(served.url, protocols=protocols) as client:
            assert client.closed() == (4406, "Subprotocol not acceptable; use graphql-transport-ws")


def test_a_client_that_sends_nothing_is_disconnected(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websocket, "INIT_WITHIN", 0.1)
    with socket_to(served.url) as client:
        client.send("ping")
        assert client.closed() == (4408, "Connection initialization timeout")


def test_an_id_can_be_used_once_at_a_time(client: SocketClient) -> None:
    client.init()
    client.subscribe("query @live { __typename }")
    client.result()
    client.subscribe("{ __typename }")

    assert client.closed() == (4409, "Subscriber for 1 already exists")


def test_a_connection_is_opened_once(client: SocketClient) -> None:
    client.init()
    client.send("connection_init")

    assert client.closed() == (4429, "Too many initialization requests")


def test_an_accident_is_an_internal_error(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: Any) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr(type(served.services), "context", broken)
    with socket_to(served.url) as client:
        client.send("connection_init")
        assert client.closed() == (4500, "Internal server error")


def test_clients_connect_elsewhere_when_the_server_stops(tmp_path: Path) -> None:
    with launched("--no-demo", DATA_DIR=str(tmp_path)) as process:
        with socket_to(str(process.http.base_url).rstrip("/")) as client:
            client.init()
            client.subscribe("query @live { __typename }")
            client.result()
            process.process.terminate()
            assert client.closed() == (1012, "the server stops; connect again")
        assert process.process.wait() == 0


# Who may connect.


def test_pages_of_other_origins_may_not_connect(endpoint: str) -> None:
    with (
        a_table(endpoint) as name,
        serving(endpoint, name, cors_origins="https://app.example.org", trusted_proxies="10.0.0.0/8") as served,
    ):
        for origin in ("https://app.example.org", served.url):
            with socket_to(served.url, headers={"origin": origin}) as client:
                client.init()
        for origin in ("https://evil.example", "null", "http://localhost:1"):
            with pytest.raises(InvalidStatus) as refused, socket_to(served.url, headers={"origin": origin}):
                pass
            assert refused.value.response.status_code == 403
            assert b"add the origin to CORS_ORIGINS" in refused.value.response.body


def test_a_stream_ends_with_its_token_over_server_sent_events_too(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(token_expiry, "LONGEST_WAIT", 0.05)
    with events(served, "query @live { __typename }", authorization=bearer(served, lifetime=60)) as found:
        assert next(found) == ("next", TYPENAME)
        monkeypatch.setattr(token_expiry, "LEEWAY", -60)
        (name, result), end = list(found)

    assert (name, end) == ("next", ("complete", None))
    assert result["errors"][0]["extensions"]["code"] == "TOKEN_EXPIRED"
