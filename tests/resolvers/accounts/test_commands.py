"""Signing up, logging in, and changing an account."""

import asyncio
from collections import Counter

import pytest

from datastore.accounts import Unique, User
from loaders.viewer import Viewer
from resolvers.accounts.tokens import Tokens, TokenSettings
from tests.resolvers.accounts.mutations import (
    CHANGE_EMAIL,
    CHANGE_PASSWORD,
    CHANGE_USERNAME,
    DELETE,
    GOOD,
    LOG_IN,
    RESTORE,
    SIGN_UP,
    UPDATE,
    sign_up,
)
from tests.support.graph import problem, viewer_of


async def test_signing_up_gives_an_account_and_a_token_for_it(graph):
    payload = await graph.command(SIGN_UP, username=" Ada ", email=" Ada@Example.org ", password="correct horse")

    assert payload["user"] == {"username": "ada", "email": "ada@example.org"}
    assert payload["problems"] == []
    viewer = await graph.services.tokens.viewer(f"Bearer {payload['token']}")
    assert (await graph.ask("{ viewer { username email } }", viewer)).data["viewer"] == {
        "username": "ada",
        "email": "ada@example.org",
    }


async def test_signing_up_is_one_transaction(graph):
    asked = await graph.ask(SIGN_UP, input=GOOD)

    assert asked.data["signUp"]["problems"] == []
    assert asked.calls == {"TransactWriteItems": 1}


async def test_a_did_signs_up_with_its_token_and_is_the_key_of_the_account(graph):
    did = "did:plc:ewvi7nxzyoun6zhxrhs64oiz"
    viewer = await graph.services.tokens.viewer(f"Bearer {graph.services.tokens.issue(did)}")
    account = {"username": "ada", "email": "ada@example.org"}

    payload = await graph.command(SIGN_UP, viewer, **account)
    again = await graph.command(SIGN_UP, viewer, username="ada2", email="ada2@example.org")
    anonymous = await graph.command(SIGN_UP, username="ada3", email="ada3@example.org")

    found = await graph.ask("query ($by: UserBy!) { user(by: $by) { username databaseId } }", by={"databaseId": did})
    assert payload["problems"] == []
    assert found.data == {"user": {"username": "ada", "databaseId": did}}
    assert again["problems"] == [problem("CONFLICT", "this identity has an account already")]
    assert anonymous["problems"] == [problem("INVALID", "a password is required", "input", "password")]


async def test_a_password_is_kept_as_a_bcrypt_hash_only(graph):
    viewer = await sign_up(graph)

    user = await graph.table.get(User.key(user_id=viewer.user_id))

    assert user.password_hash.startswith("$2b$")
    assert "correct horse" not in repr(user)


async def test_every_problem_of_an_input_is_said_at_once(graph):
    payload = await graph.command(SIGN_UP, username="a", email="nobody", password="short", displayName="x" * 81)

    assert payload["user"] is None
    assert payload["token"] is None
    assert payload["problems"] == [
        problem(
            "INVALID",
            "a username is 3 to 30 letters a-z, digits, dots and underscores, with a letter or digit at each end",
            "input",
            "username",
        ),
        problem(
            "INVALID",
            "this is not an email address we can use; write it like ada@example.org, without '#'",
            "input",
            "email",
        ),
        problem("INVALID", "a password has at least 8 characters", "input", "password"),
        problem("INVALID", "this has 81 characters; at most 80 are allowed", "input", "displayName"),
    ]


@pytest.mark.parametrize("username", ["ab", "a" * 31, "a#b", "_ab", "ab.", "a b", "ädä", "a\x00b", "ada\n#x", ""])
async def test_usernames_that_are_refused(graph, username):
    payload = await graph.command(SIGN_UP, **{**GOOD, "username": username})

    assert [entry["path"] for entry in payload["problems"]] == [["input", "username"]]


@pytest.mark.parametrize(
    "email", ["", "a", "a@b", "@b.org", "a#b@c.org", "a b@c.org", f"{'a' * 250}@b.org", "a@b..org"]
)
async def test_emails_that_are_refused(graph, email):
    payload = await graph.command(SIGN_UP, **{**GOOD, "email": email})

    assert [entry["path"] for entry in payload["problems"]] == [["input", "email"]]


@pytest.mark.parametrize("password", ["1234567", "ä" * 37, "12345678\x00", ""])
async def test_passwords_that_are_refused(graph, password):
    payload = await graph.command(SIGN_UP, **{**GOOD, "password": password})

    assert [entry["path"] for entry in payload["problems"]] == [["input", "password"]]


async def test_a_taken_name_and_address_are_both_said(graph):
    await sign_up(graph)

    payload = await graph.command(SIGN_UP, **GOOD)

    assert payload["problems"] == [
        problem("TAKEN", "this username is taken", "input", "username"),
        problem("TAKEN", "this email is taken", "input", "email"),
    ]


async def test_fifty_concurrent_sign_ups_for_one_name_give_one_account(graph):
    payloads = await asyncio.gather(
        *(graph.command(SIGN_UP, **{**GOOD, "email": f"ada{n}@example.org"}) for n in range(50))
    )

    outcomes = Counter("account" if not p["problems"] else p["problems"][0]["code"] for p in payloads)
    assert outcomes == {"account": 1, "TAKEN": 49}
    assert len((await graph.ask("{ users { nodes { username } } }")).data["users"]["nodes"]) == 1


async def test_logging_in_by_name_or_address(graph):
    await sign_up(graph)

    by_name = await graph.command(LOG_IN, login="ADA", password="correct horse")
    by_address = await graph.command(LOG_IN, login="Ada@example.org", password="correct horse")

    assert by_name["user"] == by_address["user"] == {"username": "ada"}
    assert (await graph.services.tokens.viewer(f"Bearer {by_name['token']}")).user_id is not None


async def test_an_unknown_user_and_a_wrong_password_get_the_same_answer_by_the_same_work(graph):
    await sign_up(graph)

    wrong = await graph.ask(LOG_IN, input={"login": "ada", "password": "wrong horse"})
    unknown = await graph.ask(LOG_IN, input={"login": "nobody", "password": "wrong horse"})

    expected = problem("INVALID", "the name or the password is wrong", "input")
    assert wrong.data == unknown.data == {"logIn": {"user": None, "token": None, "problems": [expected]}}
    # One transaction counts the attempt, the other one notes the security event.
    assert wrong.calls == unknown.calls == {"GetItem": 1, "BatchGetItem": 1, "TransactWriteItems": 2}


@pytest.mark.parametrize("login", ["", "#", "a#b", "\x00", "x" * 5000, "ada\n", "a@b#c"])
async def test_a_hostile_login_is_only_wrong(graph, login):
    payload = await graph.command(LOG_IN, login=login, password="x" * 5000)

    assert payload["problems"] == [problem("INVALID", "the name or the password is wrong", "input")]


async def test_a_profile_changes_only_where_it_was_told_to(graph):
    viewer = await sign_up(graph)
    await graph.command(UPDATE, viewer, displayName="Ada", bio="Countess.", avatarUrl="https://example.org/a.png")

    payload = await graph.command(UPDATE, viewer, displayName=None, bio=" Poet of numbers. ")

    assert payload["problems"] == []
    assert payload["user"] == {
        "displayName": None,
        "bio": "Poet of numbers.",
        "profileImages": {"avatar": {"url": "https://example.org/a.png"}},
    }


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"bio": "x" * 501}, "bio"),
        ({"bio": "a\x07b"}, "bio"),
        ({"avatarUrl": "http://example.org/a.png"}, "avatarUrl"),
        ({"avatarUrl": "https://user:secret@example.org/a.png"}, "avatarUrl"),
        ({"avatarUrl": "javascript:alert(1)"}, "avatarUrl"),
        ({"avatarUrl": "https://"}, "avatarUrl"),
        ({"avatarUrl": "https://example.org/" + "a" * 2048}, "avatarUrl"),
        ({"avatarUrl": "https://example.org/a b"}, "avatarUrl"),
        ({"avatarUrl": "https://[::1"}, "avatarUrl"),
    ],
)
async def test_a_bad_profile_changes_nothing(graph, change, path):
    viewer = await sign_up(graph)

    payload = await graph.command(UPDATE, viewer, **{"displayName": "New", **change})

    assert [entry["path"] for entry in payload["problems"]] == [["input", path]]
    assert (await graph.ask("{ viewer { displayName } }", viewer)).data == {"viewer": {"displayName": None}}


@pytest.mark.parametrize("command", [UPDATE, CHANGE_USERNAME, CHANGE_EMAIL, CHANGE_PASSWORD, DELETE, RESTORE])
async def test_nobody_in_particular_changes_nothing(graph, command):
    inputs = {
        UPDATE: {"bio": "x"},
        CHANGE_USERNAME: {"username": "grace"},
        CHANGE_EMAIL: {"email": "grace@example.org"},
        CHANGE_PASSWORD: {"currentPassword": "correct horse", "newPassword": "battery staple"},
    }

    asked = await graph.ask(command, **({"input": inputs[command]} if command in inputs else {}))

    (payload,) = asked.data.values()
    assert payload["problems"] == [problem("UNAUTHENTICATED", "sign in first: send `Authorization: Bearer <token>`")]
    assert asked.calls == {}


async def test_a_token_without_an_account_is_told_to_sign_up(graph):
    payload = await graph.command(UPDATE, Viewer("did:plc:stranger"), bio="x")

    assert payload["problems"] == [problem("NOT_FOUND", "there is no account for this token; use signUp to create one")]


async def test_changing_a_username_moves_its_guard_and_its_index(graph):
    viewer = await sign_up(graph)

    payload = await graph.command(CHANGE_USERNAME, viewer, username="Countess")

    assert payload == {"user": {"username": "countess"}, "problems": []}
    found = await graph.ask(
        '{ new: user(by: {username: "countess"}) { username } old: user(by: {username: "ada"}) { username } }'
    )
    assert found.data == {"new": {"username": "countess"}, "old": None}
    assert await graph.table.get(Unique.key(kind="username", value="ada")) is None
    await sign_up(graph, email="other@example.org")


async def test_changing_an_email_moves_its_guard(graph):
    viewer = await sign_up(graph)

    payload = await graph.command(CHANGE_EMAIL, viewer, email="countess@example.org")

    assert payload == {"user": {"email": "countess@example.org"}, "problems": []}
    assert (await graph.command(LOG_IN, login="countess@example.org", password="correct horse"))["problems"] == []
    assert (await graph.command(LOG_IN, login="ada@example.org", password="correct horse"))["token"] is None


async def test_a_taken_username_leaves_everything_as_it_was(graph):
    viewer = await sign_up(graph)
    await sign_up(graph, username="grace", email="grace@example.org")

    payload = await graph.command(CHANGE_USERNAME, viewer, username="grace")

    assert payload == {"user": None, "problems": [problem("TAKEN", "this username is taken", "input", "username")]}
    assert (await graph.ask("{ viewer { username } }", viewer)).data == {"viewer": {"username": "ada"}}


async def test_changing_to_the_name_one_has_changes_nothing(graph):
    viewer = await sign_up(graph)

    assert await graph.command(CHANGE_USERNAME, viewer, username="ADA") == {"user": {"username": "ada"}, "problems": []}


async def test_racing_for_one_name_leaves_one_guard_per_account(graph):
    people = [await graph.add_user(f"person{n}") for n in range(10)]

    payloads = await asyncio.gather(
        *(graph.command(CHANGE_USERNAME, viewer_of(person), username="wanted") for person in people)
    )

    assert sum(not payload["problems"] for payload in payloads) == 1
    guards = [
        (item["value"]["S"], item["ownerId"]["S"])
        for item in await graph.items()
        if item["entityType"]["S"] == "Unique" and item["kind"]["S"] == "username"
    ]
    users = [
        (item["username"]["S"], item["userId"]["S"])
        for item in await graph.items()
        if item["entityType"]["S"] == "User"
    ]
    assert sorted(guards) == sorted(users)


async def test_changing_a_password(graph):
    viewer = await sign_up(graph)

    wrong = await graph.command(CHANGE_PASSWORD, viewer, currentPassword="wrong horse", newPassword="battery staple")
    right = await graph.command(CHANGE_PASSWORD, viewer, currentPassword="correct horse", newPassword="battery staple")

    assert wrong["problems"] == [problem("INVALID", "the current password is wrong", "input", "currentPassword")]
    assert right["problems"] == []
    assert (await graph.command(LOG_IN, login="ada", password="correct horse"))["token"] is None
    assert (await graph.command(LOG_IN, login="ada", password="battery staple"))["problems"] == []


async def test_with_an_identity_provider_the_account_belongs_to_whom_its_token_names(graph):
    graph.services.tokens = Tokens(TokenSettings(secret="x" * 32, jwks_url="https://id.example.org/keys"))
    viewer = Viewer("did:plc:abc123")
    external = {"username": "ada", "email": "ada@example.org"}

    anonymous = await graph.command(SIGN_UP, **external)
    with_password = await graph.command(SIGN_UP, viewer, **GOOD)
    payload = await graph.command(SIGN_UP, viewer, **external)
    again = await graph.command(SIGN_UP, viewer, username="other", email="other@example.org")
    log_in = await graph.command(LOG_IN, login="ada", password="correct horse")

    assert anonymous["problems"][0]["code"] == "UNAUTHENTICATED"
    assert with_password["problems"][0]["path"] == ["input", "password"]
    assert payload == {"user": {"username": "ada", "email": "ada@example.org"}, "token": None, "problems": []}
    assert (await graph.table.get(User.key(user_id="did:plc:abc123"))).external_subject == "did:plc:abc123"
    assert again["problems"][0]["code"] == "CONFLICT"
    assert log_in["problems"][0]["code"] == "FORBIDDEN"
