"""Bearer tokens of an identity provider, and the provider's keys."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from resolvers.accounts.tokens import KEYS_WAITING, KeysUnavailable, Tokens, TokenSettings
from tests.conftest import SECRET
from tests.resolvers.accounts.bearers import PAYLOAD, REMOVE, RSA_KEY, SIGNATURE, ask, claims, is_refused, segment
from tests.support.serving import Served, a_table, nobody, serving

ISSUER = "https://login.example.org/"
AUDIENCE = "heartwood"
EC_KEY = ec.generate_private_key(ec.SECP256R1())
STRANGERS_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)


class Keys:
    """An identity provider's keys, and how often they were asked for."""

    def __init__(self) -> None:
        self.answer: Callable[[], tuple[int, bytes]] = lambda: (200, json.dumps(self.document()).encode())
        self.asked = 0
        self.url = ""

    def document(self) -> dict[str, Any]:
        rsa_key = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(RSA_KEY.public_key()))
        ec_key = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(EC_KEY.public_key()))
        return {
            "keys": [
                {**rsa_key, "kid": "rsa", "use": "sig", "alg": "RS256"},
                {**rsa_key, "kid": "rsa without alg", "use": "sig"},
                {**ec_key, "kid": "ec", "use": "sig", "alg": "ES256"},
            ]
        }


@contextmanager
def serving_keys() -> Iterator[Keys]:
    keys = Keys()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            keys.asked += 1
            status, body = keys.answer()
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as provider:
        thread = threading.Thread(target=provider.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        keys.url = f"http://127.0.0.1:{provider.server_port}/keys.json"
        try:
            yield keys
        finally:
            provider.shutdown()
            thread.join()


@contextmanager
def trusting(endpoint: str, table_name: str, url: str) -> Iterator[Served]:
    with serving(
        endpoint, table_name, auth_jwks_url=url, auth_issuer=ISSUER, auth_audience=AUDIENCE, request_timeout=5
    ) as served:
        yield served


@pytest.fixture(scope="module")
def with_provider(endpoint: str) -> Iterator[Served]:
    with (
        a_table(endpoint) as table_name,
        serving_keys() as keys,
        trusting(endpoint, table_name, keys.url) as served,
    ):
        yield served


def provided(key: Any = RSA_KEY, algorithm: str = "RS256", kid: Any = "rsa", **changes: Any) -> str:
    headers = {} if kid is None else {"kid": kid}
    return jwt.encode(claims(**{"iss": ISSUER, "aud": AUDIENCE, **changes}), key, algorithm, headers=headers)


@pytest.mark.parametrize(
    "token",
    [
        pytest.param(provided(), id="RS256"),
        pytest.param(provided(EC_KEY, "ES256", "ec"), id="ES256"),
        pytest.param(provided(kid="rsa without alg"), id="a key without alg"),
        pytest.param(provided(aud=["others", AUDIENCE]), id="several audiences"),
    ],
)
def test_the_identity_providers_token_opens_an_account_of_its_subject(with_provider: Served, token: str) -> None:
    bearer = {"authorization": f"Bearer {token}"}
    sign_up = 'mutation { signUp(input: {username: "maya", email: "maya@example.org"}) { token problems { code } } }'
    with_provider.post(sign_up, bearer)

    answer = with_provider.post("{ viewer { databaseId username email } }", bearer)

    assert answer.json() == {
        "data": {"viewer": {"databaseId": "maya", "username": "maya", "email": "maya@example.org"}},
    }


@pytest.mark.parametrize(
    ("said", "is_verified"),
    [
        ({"email": "Vera@Example.org", "email_verified": True}, True),
        ({"email": "vera@example.org", "email_verified": "true"}, True),
        ({"email": "vera@example.org", "email_verified": False}, False),
        ({"email": "vera@example.org", "email_verified": "false"}, False),
        ({"email": "vera@example.org", "email_verified": 1}, False),
        ({"email": "vera@example.org", "email_verified": [True]}, False),
        ({"email": "vera@example.org"}, False),
        ({"email": "eve@example.org", "email_verified": True}, False),
        ({"email": ["vera@example.org"], "email_verified": True}, False),
        ({"email": None, "email_verified": True}, False),
        ({"email_verified": True}, False),
    ],
)
def test_an_address_that_the_identity_provider_vouches_for_is_verified(
    endpoint: str, table_name: str, said: dict[str, Any], is_verified: bool
) -> None:
    sign_up = """mutation { signUp(input: {username: "vera", email: "Vera@example.org"}) {
        user { email emailVerifiedAt } problems { code } } }"""
    with serving_keys() as keys, trusting(endpoint, table_name, keys.url) as server:
        answer = server.post(sign_up, {"authorization": f"Bearer {provided(sub='vera', **said)}"})

    signed_up = answer.json()["data"]["signUp"]
    assert (signed_up["problems"], signed_up["user"]["email"]) == ([], "vera@example.org")
    assert (signed_up["user"]["emailVerifiedAt"] is not None) is is_verified


async def test_our_own_tokens_vouch_for_no_address() -> None:
    said = claims(email="maya@example.org", email_verified=True)

    viewer = await Tokens(TokenSettings(SECRET)).viewer(f"Bearer {jwt.encode(said, SECRET, 'HS256')}")

    assert (viewer.user_id, viewer.verified_email) == ("maya", None)


@pytest.mark.parametrize(
    "token",
    [
        pytest.param(provided(iss="https://login.example.com/"), id="another issuer"),
        pytest.param(provided(iss=REMOVE), id="no issuer"),
        pytest.param(provided(aud="others"), id="another audience"),
        pytest.param(provided(aud=REMOVE), id="no audience"),
        pytest.param(provided(aud=[]), id="no audience in the list"),
        pytest.param(provided(exp=1), id="expired"),
        pytest.param(provided(exp=REMOVE), id="no end"),
        pytest.param(provided(sub=REMOVE), id="no subject"),
        pytest.param(provided(sub="a#b"), id="a subject that cannot be in a key"),
        pytest.param(provided(kid="unknown"), id="unknown key"),
        pytest.param(provided(kid=None), id="no key id"),
        pytest.param(provided(STRANGERS_KEY), id="a stranger's signature"),
        pytest.param(provided(STRANGERS_KEY, kid="rsa without alg"), id="a stranger's signature, no alg"),
        pytest.param(provided(EC_KEY, "ES256", "rsa"), id="the other key's signature"),
        pytest.param(provided(EC_KEY, "ES256", "rsa without alg"), id="the other key's signature, no alg"),
        pytest.param(provided(RSA_KEY, "RS256", "ec"), id="the other key's signature, the other way"),
        pytest.param(provided(RSA_KEY, "RS512"), id="another algorithm"),
        pytest.param(provided(RSA_KEY, "PS256"), id="another padding"),
        pytest.param(provided(SECRET, "HS256"), id="our own secret"),
        pytest.param(provided(None, "none"), id="no algorithm"),
        pytest.param("x", id="one letter"),
        pytest.param("a.b.c", id="three letters"),
        pytest.param(f"{segment({'alg': 'RS256', 'kid': ['rsa']})}.{PAYLOAD}.{SIGNATURE}", id="a list of keys"),
        pytest.param(f"{segment({'alg': 'RS256', 'kid': {}})}.{PAYLOAD}.{SIGNATURE}", id="an object for a key"),
    ],
)
def test_other_tokens_than_the_identity_providers_are_401(with_provider: Served, token: str) -> None:
    assert is_refused(ask(with_provider, f"Bearer {token}"))


@pytest.mark.parametrize("encoding", [Encoding.PEM, Encoding.DER])
@pytest.mark.parametrize(("key", "kid"), [(RSA_KEY, "rsa"), (RSA_KEY, "rsa without alg"), (EC_KEY, "ec")])
def test_a_public_key_is_no_secret(with_provider: Served, encoding: Encoding, key: Any, kid: str) -> None:
    public = key.public_key().public_bytes(encoding, PublicFormat.SubjectPublicKeyInfo)
    payload = json.dumps(claims(iss=ISSUER, aud=AUDIENCE)).encode()
    signed = f"{segment({'alg': 'HS256', 'typ': 'JWT', 'kid': kid})}.{segment(payload)}"
    mac = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256)

    assert is_refused(ask(with_provider, f"Bearer {signed}.{segment(mac.sign(signed.encode(), public))}"))


def test_with_an_identity_provider_nobody_needs_a_token_to_look_around(with_provider: Served) -> None:
    assert with_provider.post("{ __typename }").json() == {"data": {"__typename": "Query"}}


def test_no_answer_from_the_identity_provider_is_503(endpoint: str, table_name: str) -> None:
    with nobody() as address, trusting(endpoint, table_name, f"http://{address}/keys.json") as server:
        answer = ask(server, f"Bearer {provided()}")

        assert (answer.status_code, answer.headers.get("www-authenticate")) == (503, None)
        assert answer.json() == {
            "errors": [
                {
                    "message": "the identity provider's keys cannot be read now; try again",
                    "extensions": {"code": "UNAVAILABLE", "retryable": True, "retryAfter": 5},
                }
            ]
        }
        assert server.post("{ __typename }").status_code == 200

        token = {"authorization": f"Bearer {provided()}"}
        files = [server.http.get(path, headers=token) for path in ("/schema.graphql", "/trees/none.svg")]
        assert [file.status_code for file in files] == [503, 503]
        assert [each.headers["retry-after"] for each in (answer, *files)] == ["5"] * 3


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (500, b"{}"),
        (404, b"not here"),
        (200, b"<html>maintenance</html>"),
        (200, b""),
        (200, b"\xff"),
        (200, b"[]"),
        (200, b"{}"),
        (200, b'{"keys": []}'),
        (200, b'{"keys": "x"}'),
        (200, b'{"keys": [{"kty": "RSA"}]}'),
    ],
)
def test_a_bad_answer_from_the_identity_provider_is_503(
    endpoint: str, table_name: str, status: int, body: bytes
) -> None:
    with serving_keys() as keys, trusting(endpoint, table_name, keys.url) as server:
        keys.answer = lambda: (status, body)

        assert ask(server, f"Bearer {provided()}").status_code == 503


def test_keys_are_asked_for_once_and_kept(endpoint: str, table_name: str) -> None:
    with serving_keys() as keys, trusting(endpoint, table_name, keys.url) as server:
        for token in (provided(), provided(EC_KEY, "ES256", "ec"), provided()):
            assert ask(server, f"Bearer {token}").status_code == 200
        assert keys.asked == 1


def test_unknown_keys_do_not_make_us_ask_again_and_again(endpoint: str, table_name: str) -> None:
    with serving_keys() as keys, trusting(endpoint, table_name, keys.url) as server:
        for number in range(20):
            assert is_refused(ask(server, f"Bearer {provided(kid=f'unknown {number}')}"))
        assert keys.asked <= 2


async def test_a_provider_that_hangs_holds_up_a_bounded_number_of_requests():
    hung = threading.Event()
    with serving_keys() as keys:
        document = json.dumps(keys.document()).encode()
        keys.answer = lambda: (hung.wait(60) and 200, document)
        tokens = Tokens(TokenSettings(SECRET, jwks_url=keys.url, issuer=ISSUER, audience=AUDIENCE))
        token = jwt.encode(claims(iss=ISSUER, aud=AUDIENCE), RSA_KEY, "RS256", headers={"kid": "rsa"})

        asking = [asyncio.create_task(tokens.viewer(f"Bearer {token}")) for _ in range(2 + KEYS_WAITING + 5)]
        done, waiting = await asyncio.wait(asking, return_when=asyncio.FIRST_COMPLETED)
        refused = [task.exception() for task in done]
        hung.set()

        assert {type(error) for error in refused} == {KeysUnavailable}
        assert {(await task).user_id for task in waiting} == {"maya"}
        assert (len(refused), len(waiting)) == (5, 2 + KEYS_WAITING)
        assert keys.asked <= 2
