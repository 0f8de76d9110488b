"""Verification codes that are refused."""

import time

import jwt
import pytest

from resolvers.accounts import email_codes
from resolvers.accounts.email_codes import EmailCodes
from resolvers.accounts.tokens import BadToken
from tests.conftest import SECRET
from tests.resolvers.accounts.verification import CHANGE_EMAIL, PROBLEMS, VERIFY, code_in, request, stored
from tests.support.graph import problem, viewer_of

DELETE = f"mutation {{ deleteAccount {{ {PROBLEMS} }} }}"
NO_CODE = problem(
    "INVALID",
    "this code is invalid or incomplete; requestEmailVerification sends a new one",
    "input",
    "code",
)


async def test_a_code_for_an_address_that_was_changed_is_refused(graph, mailbox):
    ada = await graph.add_user("ada")
    await request(graph, viewer_of(ada))
    await graph.command(CHANGE_EMAIL, viewer_of(ada), email="countess@example.org")

    payload = await graph.command(VERIFY, viewer_of(ada), code=code_in(mailbox.text()))

    message = "this code is for a previous address of the account; requestEmailVerification sends a new one"
    assert payload == {"user": None, "problems": [problem("INVALID", message, "input", "code")]}
    assert (await stored(graph, ada)).email_verified_at is None


async def test_a_code_for_a_deleted_account_is_refused(graph, mailbox):
    ada = await graph.add_user("ada")
    await request(graph, viewer_of(ada))
    await graph.ask(DELETE, viewer_of(ada))

    payload = await graph.command(VERIFY, viewer_of(ada), code=code_in(mailbox.text()))
    requested = await request(graph, viewer_of(ada))

    refusal = problem("NOT_FOUND", "there is no open account for this code", "input", "code")
    assert payload == {"user": None, "problems": [refusal]}
    assert requested["problems"] == [
        problem("NOT_FOUND", "this account is deleted; use restoreAccount to bring it back")
    ]


async def test_a_code_is_valid_for_a_day(graph, monkeypatch):
    ada = await graph.add_user("ada")
    monkeypatch.setattr(email_codes, "LIFETIME", -1)
    old = graph.services.email_codes.write(ada.user_id, ada.email)
    monkeypatch.undo()
    claims = jwt.decode(graph.services.email_codes.write(ada.user_id, ada.email), options={"verify_signature": False})

    payload = await graph.command(VERIFY, viewer_of(ada), code=old)

    message = "this code has expired; requestEmailVerification sends a new one"
    assert payload["problems"] == [problem("INVALID", message, "input", "code")]
    assert abs(claims["exp"] - time.time() - 24 * 3600) < 60


def others_code() -> str:
    return EmailCodes("another secret, of at least 32 characters").write("id-ada", "ada@example.org")


GENUINE = EmailCodes(SECRET).write("id-ada", "ada@example.org")
HEAD, PAYLOAD, SIGNATURE = GENUINE.split(".")
CLAIMS = {"sub": "id-ada", "email": "ada@example.org", "exp": 4102444800}


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("", id="nothing"),
        pytest.param("123456", id="a number"),
        pytest.param("\0" * 100, id="control characters"),
        pytest.param("\N{DECIDUOUS TREE}.a.b", id="not ASCII"),
        pytest.param("x" * 200_000, id="long"),
        pytest.param("W" * 100_000 + ".e30.x", id="a long head"),
        pytest.param(f"{HEAD}.{PAYLOAD}", id="two parts"),
        pytest.param(f"{HEAD}.{PAYLOAD}.", id="no signature"),
        pytest.param(f"{HEAD}.{PAYLOAD}.{SIGNATURE[::-1]}", id="another signature"),
        pytest.param(GENUINE[:-4], id="not all of it"),
        pytest.param(others_code(), id="another secret"),
        pytest.param(jwt.encode(CLAIMS, None, "none"), id="no algorithm"),
        pytest.param(jwt.encode(CLAIMS, SECRET, "HS256"), id="the bearer tokens' key"),
        pytest.param(jwt.encode({"sub": "id-ada", "exp": 4102444800}, SECRET, "HS256"), id="a bearer token"),
    ],
)
async def test_what_is_no_code_of_ours_is_refused(graph, code):
    ada = await graph.add_user("ada")

    asked = await graph.ask(VERIFY, viewer_of(ada), input={"code": code})

    assert asked.data["verifyEmail"] == {"user": None, "problems": [NO_CODE]}
    assert asked.calls == {}
    assert (await stored(graph, ada)).email_verified_at is None


async def test_a_bearer_token_is_no_code_and_a_code_no_bearer_token(graph):
    ada = await graph.add_user("ada")

    payload = await graph.command(VERIFY, code=graph.services.tokens.issue(ada.user_id))

    assert payload["problems"] == [NO_CODE]
    with pytest.raises(BadToken):
        await graph.services.tokens.viewer(f"Bearer {GENUINE}")
