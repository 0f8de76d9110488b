"""Commands of accounts leave security events in their own transactions, and refusals are counted by the hour."""

import asyncio
import time

import pytest

from datastore.accounts import User
from datastore.cms import AuditEntry
from datastore.security import SHARDS, AuditActor, AuditTarget, SecurityEvent
from loaders.viewer import Viewer
from resolvers.accounts import security_counts
from resolvers.core.security_events import this_hour
from tests.resolvers.accounts.mutations import (
    CHANGE_EMAIL,
    CHANGE_PASSWORD,
    CHANGE_USERNAME,
    DELETE,
    GOOD,
    LOG_IN,
    RESTORE,
    SIGN_UP,
    log_in,
    sign_up,
)
from tests.support.cms import VISITOR, audited, command
from tests.support.cms import staff as staff_of
from tests.support.fault_proxy import cut_after
from tests.support.graph import Graph, viewer_of

SIGN_OUT = "mutation { signOutEverywhere { user { username } problems { code message path } } }"
YEAR = 365 * 24 * 3600


async def events(graph: Graph) -> list[SecurityEvent]:
    """Returns the security log, oldest first."""
    pages = [await graph.table.query(SecurityEvent.within(shard=shard), limit=100) for shard in range(SHARDS)]
    return sorted((event for page in pages for event in page.records), key=lambda event: event.created_at)


async def test_signing_in_is_an_event_in_the_same_transaction(graph):
    await sign_up(graph)

    asked = await graph.ask(LOG_IN, input={"login": "ada", "password": "correct horse"})

    # The second transaction takes the attempt back, as it did before there were events.
    assert asked.calls == {"GetItem": 1, "BatchGetItem": 1, "TransactWriteItems": 2}
    signed_up, signed_in = await events(graph)
    assert (signed_up.action, signed_in.action) == ("signUp", "logIn")
    user_id = signed_in.actor.user_id
    assert signed_in.actor == AuditActor(user_id=user_id, email="ada@example.org")
    assert signed_in.target == AuditTarget(type="User", id=user_id, title="ada")
    assert (signed_in.client_address, signed_in.tenant_id, signed_in.count) == ("192.0.2.1", None, 1)
    assert abs(signed_in.expires_at - time.time() - YEAR) < 600


async def test_every_change_of_an_account_is_an_event(graph):
    viewer = await sign_up(graph)
    await graph.command(CHANGE_USERNAME, viewer, username="lovelace")
    await graph.command(CHANGE_EMAIL, viewer, email="new@example.org")
    await graph.command(CHANGE_PASSWORD, viewer, currentPassword="correct horse", newPassword="battery staple")
    viewer = await log_in(graph, "lovelace", "battery staple")
    await graph.ask(SIGN_OUT, viewer)
    viewer = await log_in(graph, "lovelace", "battery staple")
    await graph.ask(DELETE, viewer)
    await graph.ask(RESTORE, await log_in(graph, "lovelace", "battery staple"))

    found = [(event.action, event.details) for event in await events(graph)]

    assert found == [
        ("signUp", None),
        ("changeUsername", {"before": "ada", "after": "lovelace"}),
        ("changeEmail", {"before": "ada@example.org", "after": "new@example.org"}),
        ("changePassword", None),
        ("logIn", None),
        ("signOutEverywhere", None),
        ("logIn", None),
        ("deleteAccount", None),
        ("logIn", None),
        ("restoreAccount", None),
    ]


async def test_a_code_from_a_mail_is_enough_to_verify_so_the_actor_is_not_known(graph):
    user = await graph.add_user("ada")
    code = graph.services.email_codes.write(user.user_id, user.email)

    await graph.command(command("verifyEmail", "user { username }"), code=code)

    (event,) = await events(graph)
    assert (event.action, event.actor, event.target.title) == ("verifyEmail", AuditActor(), "ada")


async def test_what_is_refused_or_repeated_is_no_event(graph):
    viewer = await sign_up(graph)

    await graph.command(SIGN_UP, **GOOD)
    await graph.command(CHANGE_EMAIL, viewer, email="ada@example.org")
    for _ in range(3):
        await graph.with_key("once").command(CHANGE_USERNAME, viewer, username="lovelace")

    assert [event.action for event in await events(graph)] == ["signUp", "changeUsername"]


async def test_wrong_passwords_are_counted_by_the_hour(graph):
    await sign_up(graph)

    for login in ("ada", "ada@example.org", "ada", "nobody", "nobody@example.org"):
        asked = await graph.ask(LOG_IN, input={"login": login, "password": "secret guess"})
        assert asked.calls == {"GetItem": 1, "BatchGetItem": 1, "TransactWriteItems": 2}

    failed = [event for event in await events(graph) if event.action == "signInFailed"]
    assert {(event.count, event.target and event.target.title, event.details["reason"]) for event in failed} == {
        (3, "ada", "password"),
        (2, None, "no account"),
    }
    assert all(event.created_at == this_hour() and event.actor == AuditActor() for event in failed)
    assert not any(text in str(vars(event)) for event in failed for text in ("secret", "nobody"))


async def test_concurrent_refusals_are_all_counted(graph):
    await sign_up(graph)

    await asyncio.gather(*(graph.command(LOG_IN, login="ada", password="wrong") for _ in range(8)))

    (failed,) = [event for event in await events(graph) if event.action == "signInFailed"]
    assert failed.count == 8


async def test_a_refusal_whose_answer_was_lost_is_counted_once(graph, faulty_graph, proxy, engine_name):
    if engine_name == "moto":
        pytest.skip("moto ignores ClientRequestToken, so there a lost answer counts twice")
    await sign_up(graph)
    proxy.will("TransactWriteItems", cut_after, 1, when=lambda request: "SECURITY#" in str(request))

    await faulty_graph.command(LOG_IN, login="ada", password="wrong")

    (failed,) = [event for event in await events(graph) if event.action == "signInFailed"]
    assert failed.count == 1


async def test_a_wrong_current_password_is_counted(graph):
    viewer = await sign_up(graph)

    await graph.command(CHANGE_PASSWORD, viewer, currentPassword="wrong", newPassword="battery staple")

    _, failed = sorted(await events(graph), key=lambda event: event.action == "passwordChangeFailed")
    assert (failed.action, failed.actor) == ("passwordChangeFailed", AuditActor(user_id=viewer.user_id))
    assert failed.target.title == "ada"


async def test_attempts_over_the_limit_are_counted_without_a_call(graph):
    await sign_up(graph)
    for _ in range(10):
        await graph.command(LOG_IN, login="ada", password="wrong")

    asked = [await graph.ask(LOG_IN, input={"login": "ada", "password": "wrong"}) for _ in range(3)]
    await graph.services.security_counts.flush()

    assert [each.calls for each in asked] == [{"GetItem": 1, "BatchGetItem": 1, "TransactWriteItems": 1}] * 3
    counts = {event.action: event.count for event in await events(graph)}
    assert counts == {"signUp": 1, "signInFailed": 10, "signInLimited": 3}


async def test_strangers_cannot_fill_the_log(graph, monkeypatch):
    monkeypatch.setattr(security_counts, "MOST_AN_HOUR", 3)
    await sign_up(graph)

    for number in range(8):
        graph.address = f"192.0.2.{number}"
        await graph.command(LOG_IN, login="ada", password="wrong")
    await graph.services.security_counts.flush()

    failed = [event for event in await events(graph) if event.action == "signInFailed"]
    assert sorted((event.count, event.client_address) for event in failed if event.client_address) == [
        (1, "192.0.2.0"),
        (1, "192.0.2.1"),
        (1, "192.0.2.2"),
    ]
    (others,) = [event for event in failed if event.client_address is None]
    assert (others.count, others.target) == (5, None)


async def test_a_tenant_has_the_events_of_its_requests_counted_by_the_hour(graph, website):
    await website.tenant()
    await sign_up(graph)
    for password in ("wrong", "wrong", "correct horse", "correct horse"):
        await graph.command(LOG_IN, VISITOR, login="ada", password=password)

    in_tenant = {entry.action: entry for entry in await audited(graph)}

    assert {action: entry.count for action, entry in in_tenant.items()} == {"signInFailed": 2, "logIn": 2}
    # A tenant learns the address of its staff only.
    (user,) = (await graph.table.query(User.by_username(username="ada"), limit=1)).records
    assert in_tenant["logIn"].actor == AuditActor(user_id=user.user_id)
    assert in_tenant["logIn"].target == AuditTarget(type="User", id=user.user_id, title="ada")
    assert in_tenant["signInFailed"].target == AuditTarget(type="Tenant", id="acme", title="acme")
    assert {event.tenant_id for event in await events(graph) if event.action != "signUp"} == {"acme"}


async def test_a_tenant_learns_the_address_of_its_staff(graph, website):
    await website.tenant()
    await graph.add_user("ada")

    await graph.ask(SIGN_OUT, staff_of("editor"))

    (entry,) = await audited(graph)
    assert (entry.action, entry.actor.email) == ("signOutEverywhere", "ada@example.org")


async def test_what_administrators_do_to_tenants_is_an_event(graph):
    root = viewer_of(await graph.add_user("root"), "admin")
    create = command("createTenant", "tenant { id }")
    made = await graph.command(create, root, databaseId="acme", name="Acme")
    await graph.command(create, root, databaseId="acme", name="Again")
    update = command("updateTenant", "tenant { name }")
    await graph.command(update, root, tenantId=made["tenant"]["id"], name="Acme Ltd.")
    await graph.command(create, Viewer("id-eve"), databaseId="other", name="Other")

    created, updated = await events(graph)

    assert (created.action, created.target) == ("createTenant", AuditTarget(type="Tenant", id="acme", title="Acme"))
    assert (updated.action, updated.target.title) == ("updateTenant", "Acme Ltd.")
    assert created.actor == updated.actor == AuditActor(user_id="id-root", email="root@example.org")
    within = AuditEntry.within(tenant_id="acme")
    assert [entry.action for entry in (await graph.table.query(within, limit=5)).records] == [
        "createTenant",
        "updateTenant",
    ]
