"""Bearer tokens over HTTP: a valid one identifies the user, an invalid one is rejected."""

import json
import time
from typing import Any

import jwt
import pytest

from resolvers.accounts.tokens import LEEWAY, Tokens, TokenSettings
from tests.conftest import SECRET
from tests.resolvers.accounts.bearers import (
    GOOD,
    HEAD,
    PAYLOAD,
    REMOVE,
    RSA_KEY,
    SIGNATURE,
    ask,
    claims,
    is_refused,
    segment,
)
from tests.support.serving import Served


def test_a_good_token_is_its_user_and_no_token_is_nobody(server: Served) -> None:
    sign_up = """mutation {
        signUp(input: {username: "tove", email: "tove@example.org", password: "a long secret"}) { token user { id } }
    }"""
    signed_up = server.post(sign_up).json()["data"]["signUp"]
    bearer = {"authorization": f"Bearer {signed_up['token']}"}

    assert server.post("{ viewer { id email } }", bearer).json() == {
        "data": {"viewer": {"id": signed_up["user"]["id"], "email": "tove@example.org"}}
    }
    assert server.post("{ viewer { id } }").json() == {"data": {"viewer": None}}


@pytest.mark.parametrize("scheme", ["Bearer ", "bearer ", "BEARER ", "Bearer   "])
def test_the_scheme_is_read_in_any_case(server: Served, scheme: str) -> None:
    token = jwt.encode(claims(), SECRET, "HS256")

    assert ask(server, scheme + token).json() == {"data": {"__typename": "Query", "user": None}}


@pytest.mark.parametrize(
    "changes",
    [
        {"roles": []},
        {"roles": ["admin"]},
        {"exp": 4102444800},
        {"iat": 1},
        {"iss": "anybody"},
        {"nbf": 1},
        {"sub": "did:plc:abc123"},
        {"anything": {"else": [1]}},
    ],
)
def test_claims_that_are_fine(server: Served, changes: dict[str, Any]) -> None:
    assert ask(server, f"Bearer {jwt.encode(claims(**changes), SECRET, 'HS256')}").status_code == 200


@pytest.mark.parametrize(
    "changes",
    [
        {"exp": 1},
        {"exp": REMOVE},
        {"exp": None},
        {"exp": "soon"},
        {"nbf": 4102444800},
        {"iat": 4102444800},
        {"sub": REMOVE},
        {"sub": None},
        {"sub": ""},
        {"sub": 7},
        {"sub": ["maya"]},
        {"sub": "maya#x"},
        {"sub": "maya\n"},
        {"sub": "\x00"},
        {"roles": None},
        {"roles": "admin"},
        {"roles": {"admin": True}},
        {"roles": [1]},
        {"roles": ["admin", None]},
    ],
)
def test_claims_that_are_not_fine_are_401(server: Served, changes: dict[str, Any]) -> None:
    token = jwt.PyJWS().encode(json.dumps(claims(**changes)).encode(), SECRET, "HS256")

    assert is_refused(ask(server, f"Bearer {token}"))


def test_a_subject_too_long_for_a_key_is_a_clear_error(server: Served) -> None:
    token = jwt.encode(claims(sub="x" * 3_000), SECRET, "HS256")

    assert is_refused(server.post("{ viewer { id } }", {"authorization": f"Bearer {token}"}))


@pytest.mark.parametrize(
    "token",
    [
        pytest.param(jwt.encode(claims(), "x" * 40, "HS256"), id="another secret"),
        pytest.param(jwt.encode(claims(), SECRET + "x" * 64, "HS512"), id="another algorithm and secret"),
        pytest.param(jwt.encode(claims(), SECRET.ljust(64), "HS384"), id="another algorithm"),
        pytest.param(jwt.encode(claims(), None, "none"), id="no algorithm"),
        pytest.param(f"{segment({'alg': 'NONE', 'typ': 'JWT'})}.{PAYLOAD}.", id="no algorithm, in capitals"),
        pytest.param(f"{segment({'alg': 'none'})}.{PAYLOAD}.{SIGNATURE}", id="no algorithm but a signature"),
        pytest.param(jwt.encode(claims(), RSA_KEY, "RS256"), id="a public key's"),
        pytest.param(f"{HEAD}.{PAYLOAD}.", id="no signature"),
        pytest.param(f"{HEAD}.{PAYLOAD}", id="two parts"),
        pytest.param(f"{HEAD}.{PAYLOAD}.{SIGNATURE}.x", id="four parts"),
        pytest.param(f"{HEAD}.{segment({'sub': 'other', 'exp': 4102444800})}.{SIGNATURE}", id="other claims"),
        pytest.param(f"{HEAD}.{segment(b'not JSON')}.{SIGNATURE}", id="no JSON"),
        pytest.param(f"{segment(b'x')}.{PAYLOAD}.{SIGNATURE}", id="no header"),
        pytest.param(f"{segment({'alg': 'HS256', 'crit': ['x'], 'x': 1})}.{PAYLOAD}.{SIGNATURE}", id="critical header"),
        pytest.param(f"{segment({'alg': ['HS256']})}.{PAYLOAD}.{SIGNATURE}", id="list of algorithms"),
        pytest.param(f"{segment({'alg': 'HS256', 'kid': 7})}.{PAYLOAD}.{SIGNATURE}", id="key id of a wrong type"),
        pytest.param(jwt.PyJWS().encode(b"[1]", SECRET, "HS256"), id="signed list"),
        pytest.param(jwt.PyJWS().encode(b"not JSON", SECRET, "HS256"), id="signed text"),
        pytest.param("x", id="one letter"),
        pytest.param("...", id="dots"),
        pytest.param("null", id="null"),
        pytest.param("x" * 20_000, id="long"),
    ],
)
def test_a_token_that_proves_nothing_is_401(server: Served, token: str) -> None:
    assert is_refused(ask(server, f"Bearer {token}"))


@pytest.mark.parametrize(
    "authorization",
    ["", "Bearer", f"Basic {GOOD}", "Basic dXNlcjpwYXNz", GOOD, f"Token {GOOD}", f"Bearer{GOOD}", f"Bearer:{GOOD}"],
)
def test_a_header_of_another_form_is_401(server: Served, authorization: str) -> None:
    assert is_refused(ask(server, authorization))


def test_a_bad_token_is_401_for_reading_by_get_too(server: Served) -> None:
    parameters = {"query": "{ __typename }"}

    assert is_refused(server.http.get("/graphql", params=parameters, headers={"authorization": "Bearer x"}))


def test_a_secret_is_in_no_message(server: Served) -> None:
    assert SECRET not in ask(server, f"Bearer {jwt.encode(claims(), 'x' * 40, 'HS256')}").text


async def test_a_token_is_verified_once_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = Tokens(TokenSettings(secret=SECRET))
    header = f"Bearer {tokens.issue('maya')}"
    decoded = []
    decode = jwt.decode
    monkeypatch.setattr(jwt, "decode", lambda *given, **named: decoded.append(given) or decode(*given, **named))

    viewers = [await tokens.viewer(header) for _ in range(3)]
    ((_, until),) = tokens._verified.values()

    assert [viewer.user_id for viewer in viewers] == ["maya"] * 3
    assert len(decoded) == 1
    assert until <= time.time() + 60

    monkeypatch.setattr(time, "time", lambda: until)
    await tokens.viewer(header)
    assert len(decoded) == 2


async def test_a_token_that_expires_is_not_remembered_longer() -> None:
    tokens = Tokens(TokenSettings(secret=SECRET))
    header = f"Bearer {tokens.issue('maya', lifetime=1)}"
    expiry = int(time.time()) + 1 + LEEWAY
    await tokens.viewer(header)

    ((_, until),) = tokens._verified.values()

    assert until <= expiry + 1


async def test_only_so_many_verified_tokens_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resolvers.accounts.tokens.MOST_VERIFIED", 3)
    tokens = Tokens(TokenSettings(secret=SECRET))

    for number in range(5):
        await tokens.viewer(f"Bearer {tokens.issue(f'user-{number}')}")

    assert [viewer.user_id for viewer, _ in tokens._verified.values()] == ["user-2", "user-3", "user-4"]


@pytest.mark.parametrize("epoch", ["1", 1.5, True, [1]])
def test_an_epoch_is_a_number(server: Served, epoch: Any) -> None:
    assert is_refused(ask(server, f"Bearer {jwt.encode(claims(epoch=epoch), SECRET, 'HS256')}"))
