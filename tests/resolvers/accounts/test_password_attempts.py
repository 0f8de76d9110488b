"""Limits on guessing passwords."""

import asyncio
import time
from collections import Counter
from types import SimpleNamespace

import pytest

from datastore.accounts import KnownAddress, SignInFailures
from resolvers.accounts import password_attempts
from resolvers.core import rate_limit
from tests.resolvers.accounts.mutations import CHANGE_PASSWORD, LOG_IN, sign_up
from tests.support.graph import PROBLEMS

WRONG, RIGHT = "wrong horse", "correct horse"


@pytest.fixture(autouse=True)
def one_window(monkeypatch):
    """Keeps all attempts of a test in one window."""
    now = time.time()
    monkeypatch.setattr(rate_limit, "time", SimpleNamespace(time=lambda: now))


async def guess(graph, password, login="ada", address="192.0.2.1"):
    """Returns the codes of the problems; none for a success."""
    graph.address = address
    payload = await graph.command(LOG_IN, login=login, password=password)
    return [problem["code"] for problem in payload["problems"]]


async def guess_from_everywhere(graph, times):
    """Uses up the limit of the account, from addresses that stay within theirs."""
    for number in range(times):
        await guess(graph, WRONG, address=f"198.51.100.{number // 10}")


async def test_after_ten_failures_even_the_right_password_has_to_wait(graph):
    await sign_up(graph)
    for _ in range(10):
        await graph.command(LOG_IN, login="ada", password="wrong horse")

    payload = await graph.command(LOG_IN, login="ada", password="correct horse")

    (refusal,) = payload["problems"]
    assert refusal["code"] == "RATE_LIMITED"
    assert payload["token"] is None


async def test_guesses_sent_all_at_once_are_counted_too(graph):
    await sign_up(graph)

    payloads = await asyncio.gather(
        *(graph.command(LOG_IN, login="ada", password=f"wrong horse {n}") for n in range(30))
    )

    codes = Counter(payload["problems"][0]["code"] for payload in payloads)
    assert codes == {"INVALID": 10, "RATE_LIMITED": 20}


async def test_a_success_forgets_the_failures(graph):
    await sign_up(graph)
    for _ in range(9):
        await graph.command(LOG_IN, login="ada", password="wrong horse")
    await graph.command(LOG_IN, login="ada", password="correct horse")

    for _ in range(9):
        await graph.command(LOG_IN, login="ada", password="wrong horse")
    payload = await graph.command(LOG_IN, login="ada", password="correct horse")

    assert payload["problems"] == []


async def test_counters_of_failures_expire(graph):
    await graph.command(LOG_IN, login="ada", password="wrong horse")

    kept = [item for item in await graph.items() if item["entityType"]["S"] == SignInFailures.__name__]

    assert len(kept) == 3
    assert all(time.time() < int(item["expiresAt"]["N"]) <= time.time() + password_attempts.WINDOW for item in kept)


async def test_the_username_and_the_email_address_are_one_account(graph):
    await sign_up(graph)
    for _ in range(5):
        await guess(graph, WRONG, login="ada")
        await guess(graph, WRONG, login=" Ada@Example.org")

    assert await guess(graph, RIGHT, login="ada") == ["RATE_LIMITED"]
    assert await guess(graph, RIGHT, login="ada@example.org") == ["RATE_LIMITED"]


async def test_a_refusal_says_how_many_seconds_to_wait(graph, monkeypatch):
    now = 1_000 * password_attempts.WINDOW + 60.5
    monkeypatch.setattr(rate_limit, "time", SimpleNamespace(time=lambda: now))
    for _ in range(10):
        await guess(graph, WRONG)

    query = LOG_IN.replace(PROBLEMS, "problems { code message retryAfter }")
    payload = await graph.command(query, login="ada", password=WRONG)

    message = "too many failed attempts; try again in 840 seconds"
    assert payload["problems"] == [{"code": "RATE_LIMITED", "message": message, "retryAfter": 840}]


async def test_an_unknown_login_is_limited_like_an_account(graph):
    codes = [await guess(graph, WRONG, login="nobody") for _ in range(11)]

    assert codes == [["INVALID"]] * 10 + [["RATE_LIMITED"]]


async def test_guesses_from_many_addresses_use_up_the_limit_of_the_account(graph, monkeypatch):
    monkeypatch.setattr(password_attempts, "PER_ACCOUNT", 30)
    await sign_up(graph)
    await guess_from_everywhere(graph, 30)

    assert await guess(graph, RIGHT, address="203.0.113.1") == ["RATE_LIMITED"]
    assert await guess(graph, WRONG, login="bob", address="203.0.113.1") == ["INVALID"]


async def test_guesses_from_many_addresses_do_not_lock_out_an_address_that_has_signed_in(graph, monkeypatch):
    monkeypatch.setattr(password_attempts, "PER_ACCOUNT", 30)
    await sign_up(graph)
    await guess(graph, RIGHT, address="2001:db8:1:1::1")
    await guess_from_everywhere(graph, 30)

    known = [await guess(graph, WRONG, address="2001:db8:1:1::2") for _ in range(9)]

    assert known == [["INVALID"]] * 9
    assert await guess(graph, RIGHT, address="2001:db8:1:1::3") == []
    assert await guess(graph, RIGHT, address="2001:db8:1:2::1") == ["RATE_LIMITED"]


async def test_an_address_is_known_for_ninety_days_after_a_sign_in(graph, monkeypatch):
    monkeypatch.setattr(password_attempts, "PER_ACCOUNT", 30)
    await sign_up(graph)
    now = time.time()
    monkeypatch.setattr(password_attempts, "time", SimpleNamespace(time=lambda: now - password_attempts.KNOWN_FOR))
    await guess(graph, RIGHT)
    monkeypatch.setattr(password_attempts, "time", SimpleNamespace(time=lambda: now))
    await guess_from_everywhere(graph, 30)

    assert await guess(graph, RIGHT) == ["RATE_LIMITED"]
    kept = [item for item in await graph.items() if item["SK"]["S"] == "KNOWN"]
    assert [item["entityType"]["S"] for item in kept] == [KnownAddress.__name__]
    assert int(kept[0]["expiresAt"]["N"]) == int(now - password_attempts.KNOWN_FOR) + password_attempts.KNOWN_FOR


async def test_signing_in_takes_four_calls(graph):
    await sign_up(graph)

    asked = await graph.ask(LOG_IN, input={"login": "ada", "password": RIGHT})

    assert asked.data["logIn"]["problems"] == []
    assert asked.calls == {"GetItem": 1, "BatchGetItem": 1, "TransactWriteItems": 2}


async def test_each_alias_of_a_document_is_an_attempt(graph):
    await sign_up(graph)
    field = 'logIn(input: {login: "ada", password: "wrong horse"}) { problems { code } }'
    document = "mutation { " + " ".join(f"g{number}: {field}" for number in range(12)) + " }"

    payloads = (await graph.ask(document)).data.values()

    codes = Counter(payload["problems"][0]["code"] for payload in payloads)
    assert codes == {"INVALID": 10, "RATE_LIMITED": 2}


async def test_guesses_with_a_stolen_token_are_counted_across_addresses(graph):
    viewer = await sign_up(graph)
    for number in range(10):
        graph.address = f"198.51.100.{number}"
        await graph.command(CHANGE_PASSWORD, viewer, currentPassword=WRONG, newPassword="another horse")

    payload = await graph.command(CHANGE_PASSWORD, viewer, currentPassword=RIGHT, newPassword="another horse")

    assert [problem["code"] for problem in payload["problems"]] == ["RATE_LIMITED"]
    assert await guess(graph, RIGHT) == []


async def test_an_attempt_that_the_server_is_too_busy_to_check_does_not_count(graph):
    await sign_up(graph)
    lane = graph.services.passwords._lane
    places, lane.places = lane.places, 0
    busy = [await graph.ask(LOG_IN, input={"login": "ada", "password": RIGHT}) for _ in range(12)]
    lane.places = places

    assert [asked.error["extensions"]["code"] for asked in busy] == ["UNAVAILABLE"] * 12
    assert await guess(graph, RIGHT) == []
