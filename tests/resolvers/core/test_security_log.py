"""Security events: what is logged of a failed sign-in, and what never is."""

import pytest

from resolvers.core.security_log import hint
from tests.resolvers.accounts.mutations import LOG_IN, sign_up


def events(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str | None, str | None]]:
    """Returns the name, the reason and the account of each security event."""
    return [
        (record.getMessage(), getattr(record, "reason", None), getattr(record, "account", None))
        for record in caplog.records
        if record.name == "heartwood.security"
    ]


async def test_a_failed_sign_in_is_an_event_without_secrets(graph, caplog):
    user = await sign_up(graph)
    caplog.clear()

    await graph.command(LOG_IN, login="ada", password="my secret guess")
    await graph.command(LOG_IN, login="nobody@example.org", password="my secret guess")

    (_, _, account), unknown = events(caplog)
    assert account is not None
    assert events(caplog)[0] == ("sign_in_failed", "password", account)
    assert unknown == ("sign_in_failed", "no account", None)
    assert [record.login for record in caplog.records if record.name == "heartwood.security"] == [
        "a…",
        "n…@example.org",
    ]
    assert not any("secret" in str(vars(record)) or "nobody@" in str(vars(record)) for record in caplog.records)
    assert user


async def test_a_sign_in_is_no_event(graph, caplog):
    await sign_up(graph)

    await graph.command(LOG_IN, login="ada", password="correct horse")

    assert events(caplog) == []


async def test_too_many_attempts_are_an_event(graph, caplog):
    await sign_up(graph)

    for _ in range(11):
        await graph.command(LOG_IN, login="ada", password="wrong")

    assert [name for name, _, _ in events(caplog)] == ["sign_in_failed"] * 10 + ["sign_in_limited"]


def test_a_hint_shows_no_whole_address():
    assert hint("maya@example.org") == "m…@example.org"
    assert hint("") == "…"
    assert len(hint("x@" + "y" * 10_000)) < 110
