"""Requests with bearer tokens, and the keys that sign them."""

import base64
import json
import time
from typing import Any

import httpx
import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

from resolvers.accounts.tokens import EXPIRED, NOT_OF_THE_PROVIDER, NOT_OURS
from tests.conftest import SECRET
from tests.support.serving import Served

RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
REMOVE = object()
REFUSALS = {
    ("write the header as `Authorization: Bearer <token>`", "TOKEN_INVALID"),
    (NOT_OURS, "TOKEN_INVALID"),
    (NOT_OF_THE_PROVIDER, "TOKEN_INVALID"),
    (EXPIRED, "TOKEN_EXPIRED"),
}


def claims(**changes: Any) -> dict[str, Any]:
    whole = {"sub": "maya", "exp": int(time.time()) + 86_400, **changes}
    return {name: value for name, value in whole.items() if value is not REMOVE}


def segment(value: Any) -> str:
    return (
        base64.urlsafe_b64encode(value if isinstance(value, bytes) else json.dumps(value).encode()).decode().rstrip("=")
    )


def ask(server: Served, authorization: str) -> httpx.Response:
    return server.post('{ __typename user(by: {email: "maya@example.org"}) { id } }', {"authorization": authorization})


def is_refused(answer: httpx.Response) -> bool:
    """401 with a reason and nothing else: a bad token does not make its bearer anonymous."""
    (error,) = answer.json()["errors"]
    challenge = f'Bearer error="invalid_token", error_description="{error["message"]}"'
    assert (answer.status_code, answer.headers.get("www-authenticate")) == (401, challenge), answer.text
    assert set(answer.json()) == {"errors"}
    assert (error["message"], error["extensions"]["code"]) in REFUSALS
    return True


GOOD = jwt.encode({"sub": "maya", "exp": 4102444800}, SECRET, "HS256")
HEAD, PAYLOAD, SIGNATURE = GOOD.split(".")
