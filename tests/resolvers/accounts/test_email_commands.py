"""Verifying an email address by a code sent to it."""

import asyncio
import logging
import re
import time
from collections import Counter

import pytest

from datastore.accounts import SignInFailures, User
from datastore.local.endpoint import LOCAL_REGION, Place
from datastore.model.times import now
from loaders.viewer import Viewer
from resolvers.accounts.edges import email_is_verified
from resolvers.background.mail import Mail, MailSettings
from schema.http.services import Services
from schema.http.settings import Settings
from tests.conftest import SECRET
from tests.resolvers.accounts.verification import CHANGE_EMAIL, REQUEST, VERIFY, code_in, request, stored
from tests.support.graph import problem, viewer_of
from tests.support.mailbox import Mailbox, text_of
from tests.support.serving import free_port

SEEN = 'query { user(by: {username: "ada"}) { emailVerifiedAt } }'


async def test_a_code_is_sent_to_the_address_and_verifies_it(graph, mailbox):
    ada = await graph.add_user("ada")

    requested = await request(graph, viewer_of(ada))
    code = code_in(mailbox.text())
    payload = await graph.command(VERIFY, viewer_of(ada), code=f" {code}\n")

    assert requested == {"user": {"username": "ada", "emailVerifiedAt": None}, "problems": []}
    assert mailbox.arrived[0]["To"] == "ada@example.org"
    assert mailbox.arrived[0]["Subject"] == "Your code for Heartwood"
    assert mailbox.text() == (
        f"Hello ada,\n\nuse this code to verify your email address:\n\n{code}\n\n"
        "It is valid for 24 hours. If you did not request it, ignore this message.\n"
    )
    verified_at = (await stored(graph, ada)).email_verified_at
    assert verified_at is not None
    assert payload == {
        "user": {"username": "ada", "email": "ada@example.org", "emailVerifiedAt": verified_at},
        "problems": [],
    }


async def test_what_it_costs(graph, mailbox):
    ada = await graph.add_user("ada")

    requested = await graph.ask(REQUEST, viewer_of(ada))
    input = {"code": code_in(mailbox.text())}
    verified = await graph.ask(VERIFY, input=input)
    again = await graph.ask(VERIFY, input=input)
    requested_again = await graph.ask(REQUEST, viewer_of(ada))

    assert requested.calls == {"GetItem": 1, "TransactWriteItems": 1}
    assert verified.calls == {"GetItem": 1, "TransactWriteItems": 1}
    assert again.calls == requested_again.calls == {"GetItem": 1}


async def test_the_code_works_in_another_browser_and_signs_nobody_in(graph, mailbox):
    ada = await graph.add_user("ada")
    await request(graph, viewer_of(ada))

    payload = await graph.command(VERIFY, code=code_in(mailbox.text()))

    assert payload == {"user": {"username": "ada", "email": None, "emailVerifiedAt": None}, "problems": []}
    assert (await stored(graph, ada)).email_verified_at is not None


async def test_a_code_is_for_its_account_whoever_brings_it(graph, mailbox):
    ada, bob = await graph.add_user("ada"), await graph.add_user("bob")
    await request(graph, viewer_of(ada))

    payload = await graph.command(VERIFY, viewer_of(bob), code=code_in(mailbox.text()))

    assert payload["user"] == {"username": "ada", "email": None, "emailVerifiedAt": None}
    assert (await stored(graph, ada)).email_verified_at is not None
    assert (await stored(graph, bob)).email_verified_at is None


async def test_using_a_code_twice_changes_nothing(graph, mailbox):
    ada = await graph.add_user("ada")
    await request(graph, viewer_of(ada))
    code = code_in(mailbox.text())

    first = await graph.command(VERIFY, viewer_of(ada), code=code)
    after_first = await stored(graph, ada)
    second = await graph.command(VERIFY, viewer_of(ada), code=code)

    assert first == second
    assert await stored(graph, ada) == after_first


async def test_a_code_used_many_times_at_once_is_no_problem(graph):
    ada = await graph.add_user("ada")
    code = graph.services.email_codes.write(ada.user_id, ada.email)

    payloads = await asyncio.gather(*(graph.command(VERIFY, code=code) for _ in range(10)))

    assert [payload["problems"] for payload in payloads] == [[]] * 10
    assert (await stored(graph, ada)).email_verified_at is not None


async def test_where_it_is_verified_nothing_is_sent(graph, mailbox):
    ada = await graph.add_user("ada", email_verified_at=now())

    payload = await request(graph, viewer_of(ada))

    assert payload == {"user": {"username": "ada", "emailVerifiedAt": ada.email_verified_at}, "problems": []}
    assert mailbox.arrived == []


async def test_oneself_and_administrators_see_when_it_was_verified(graph):
    ada, bob = await graph.add_user("ada", email_verified_at=now()), await graph.add_user("bob")

    seen = [await graph.ask(SEEN, viewer) for viewer in (viewer_of(ada), viewer_of(bob, "admin"), viewer_of(bob))]

    assert [asked.data["user"]["emailVerifiedAt"] for asked in seen] == [
        ada.email_verified_at,
        ada.email_verified_at,
        None,
    ]
    assert [asked.calls for asked in seen] == [{"Query": 1}] * 3


async def test_a_new_address_has_to_be_verified_anew(graph, mailbox):
    ada = await graph.add_user("ada", email_verified_at=now())

    payload = await graph.command(CHANGE_EMAIL, viewer_of(ada), email="countess@example.org")
    await request(graph, viewer_of(ada))

    assert payload == {"user": {"email": "countess@example.org", "emailVerifiedAt": None}, "problems": []}
    assert mailbox.recipients == [["countess@example.org"]]


async def test_a_changed_address_does_not_take_over_what_was_verified(graph):
    """Racing: whichever comes first, a new address never counts as verified by a code for the old one."""
    people = [await graph.add_user(f"person{n}") for n in range(20)]
    codes = [graph.services.email_codes.write(person.user_id, person.email) for person in people]

    await asyncio.gather(
        *(graph.command(VERIFY, code=code) for code in codes),
        *(graph.command(CHANGE_EMAIL, viewer_of(person), email=f"new-{person.email}") for person in people),
    )

    after = [await stored(graph, person) for person in people]
    assert [user.email for user in after if user.email.startswith("new-") and user.email_verified_at is not None] == []


async def test_it_takes_an_account_to_ask_for_a_code(graph, mailbox):
    nobody = await graph.ask(REQUEST)
    stranger = await request(graph, Viewer("did:plc:stranger"))

    assert nobody.data["requestEmailVerification"]["problems"] == [
        problem("UNAUTHENTICATED", "sign in first: send `Authorization: Bearer <token>`")
    ]
    assert nobody.calls == {}
    assert stranger["problems"] == [
        problem("NOT_FOUND", "there is no account for this token; use signUp to create one")
    ]
    assert mailbox.arrived == []


async def test_five_mails_an_hour_are_enough_even_if_asked_for_all_at_once(graph, mailbox):
    ada, bob = await graph.add_user("ada"), await graph.add_user("bob")

    payloads = await asyncio.gather(*(request(graph, viewer_of(ada)) for _ in range(12)))
    others = await request(graph, viewer_of(bob))

    (refusal,) = {tuple(p["code"] for p in payload["problems"]) for payload in payloads} - {()}
    assert refusal == ("RATE_LIMITED",)
    assert Counter(tuple(recipients) for recipients in mailbox.recipients) == {
        ("ada@example.org",): 5,
        ("bob@example.org",): 1,
    }
    assert others["problems"] == []


async def test_the_refusal_says_how_long_to_wait(graph, mailbox):
    ada = await graph.add_user("ada")
    for _ in range(5):
        await request(graph, viewer_of(ada))

    (refusal,) = (await request(graph, viewer_of(ada)))["problems"]

    seconds = re.fullmatch(r"too many mails were requested; try again in (\d+) seconds", refusal["message"])
    assert 1 <= int(seconds[1]) <= 3600
    assert refusal["path"] == []


async def test_an_address_that_is_passed_on_gets_no_more_mail_either(graph, mailbox):
    ada, bob = await graph.add_user("ada", email="victim@example.org"), await graph.add_user("bob")
    for _ in range(5):
        await request(graph, viewer_of(ada))
    await graph.command(CHANGE_EMAIL, viewer_of(ada), email="ada@example.org")
    await graph.command(CHANGE_EMAIL, viewer_of(bob), email="victim@example.org")

    payload = await request(graph, viewer_of(bob))

    assert payload["problems"][0]["code"] == "RATE_LIMITED"
    assert mailbox.recipients == [["victim@example.org"]] * 5


async def test_counters_of_mails_expire(graph, mailbox):
    ada = await graph.add_user("ada")
    await request(graph, viewer_of(ada))

    kept = [item for item in await graph.items() if item["entityType"]["S"] == SignInFailures.__name__]

    assert len(kept) == 3
    assert all(time.time() < int(item["expiresAt"]["N"]) <= time.time() + 3600 for item in kept)
    assert "ada@example.org" not in str(kept)


async def test_a_mail_server_that_fails_is_a_refusal(graph):
    ada = await graph.add_user("ada")
    graph.services.mail = Mailbox(port=free_port()).mail()

    payload = await request(graph, viewer_of(ada))

    assert payload == {
        "user": None,
        "problems": [problem("UNAVAILABLE", "the email could not be sent; try again later")],
    }


@pytest.mark.parametrize("email", ["ada,eve@example.org", "ada(x)@example.org", "ädä@example.org"])
async def test_an_address_that_no_mail_can_be_sent_to_is_said(graph, mailbox, email):
    """Sign-up takes such addresses: identity providers may know them."""
    ada = await graph.add_user("ada", email=email)

    payload = await request(graph, viewer_of(ada))

    assert payload["problems"] == [
        problem("INVALID", "this address cannot receive email; set another one with `changeEmail`")
    ]
    assert mailbox.arrived == []


async def test_at_home_the_code_is_in_the_log(graph, caplog):
    caplog.set_level(logging.INFO, "heartwood.mail")
    ada = await graph.add_user("ada")

    await request(graph, viewer_of(ada))
    (logged,) = [record.getMessage() for record in caplog.records if record.name == "heartwood.mail"]
    await graph.command(VERIFY, code=code_in(logged))

    assert (await stored(graph, ada)).email_verified_at is not None


async def test_elsewhere_a_server_without_mail_says_so_and_logs_no_code(graph, caplog):
    caplog.set_level(logging.DEBUG)
    ada = await graph.add_user("ada")
    graph.services.mail = Mail(MailSettings())

    asked = await graph.ask(REQUEST, viewer_of(ada))

    message = "this server sends no mail, so it cannot verify addresses"
    assert asked.data["requestEmailVerification"] == {"user": None, "problems": [problem("FORBIDDEN", message)]}
    assert asked.calls == {"GetItem": 1}
    assert re.findall(r"\S{100,}", caplog.text) == []


@pytest.mark.parametrize(
    ("address", "expected"),
    [("http://127.0.0.1:8000", True), ("http://dynamodb.example.org:8000", False), (None, False)],
)
async def test_only_at_home_mail_goes_into_the_log(monkeypatch, address, expected):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    services = Services.at(Place(address, LOCAL_REGION, keeps_data=True), Settings(), SECRET)

    assert services.mail.can_send is expected

    await services.table.transport.close()
    services.passwords.close()


async def test_what_the_identity_provider_vouches_for_takes_no_mail(graph, mailbox):
    ada = await graph.add_user("ada")
    viewer = Viewer(ada.user_id, verified_email="ada@example.org")

    payload = await request(graph, viewer)

    assert payload["problems"] == []
    assert payload["user"]["emailVerifiedAt"] == (await stored(graph, ada)).email_verified_at
    assert payload["user"]["emailVerifiedAt"] is not None
    assert mailbox.arrived == []


@pytest.mark.parametrize(
    ("verified_at", "viewer", "expected"),
    [
        ("2026-01-01T00:00:00.000Z", Viewer(), True),
        (None, Viewer("id-ada", verified_email="ada@example.org"), True),
        (None, Viewer("id-ada", verified_email="eve@example.org"), False),
        (None, Viewer("id-ada"), False),
        (None, Viewer("id-bob", verified_email="ada@example.org"), False),
        (None, Viewer("id-bob", frozenset({"admin"})), False),
        (None, Viewer(), False),
    ],
)
def test_an_address_is_verified_by_the_account_or_by_its_owners_token(verified_at, viewer, expected):
    ada = User(user_id="id-ada", username="ada", email="ada@example.org", email_verified_at=verified_at)

    assert email_is_verified(ada, viewer) is expected


async def test_each_mail_has_a_code_of_its_own_address(graph, mailbox):
    ada = await graph.add_user("ada")
    await request(graph, viewer_of(ada))
    await graph.command(CHANGE_EMAIL, viewer_of(ada), email="countess@example.org")
    await request(graph, viewer_of(ada))
    old, new = (code_in(text_of(mail)) for mail in mailbox.arrived)

    refused = await graph.command(VERIFY, code=old)
    verified = await graph.command(VERIFY, code=new)

    assert [entry["code"] for entry in refused["problems"]] == ["INVALID"]
    assert verified["problems"] == []
