"""The use of roles is noted once an hour, and refusals are counted in memory until the next flush."""

from dataclasses import replace

import pytest

from datastore.client.errors import DatastoreError
from datastore.security import AuditActor
from loaders.viewer import Viewer
from resolvers.accounts import security_counts
from resolvers.accounts.security_counts import SecurityCounts
from resolvers.core import security_events
from resolvers.core.security_events import hourly_event
from tests.resolvers.accounts.test_security_writes import events
from tests.support.cms import EDITOR, audited
from tests.support.fault_proxy import FOR_EVER, cut_after, error_500

BOTH = Viewer("root", roles=frozenset({"admin", "builder", "made up"}))


async def test_the_use_of_a_role_is_noted_once_for_each_viewer_role_tenant_and_hour(graph, website):
    await website.tenant()
    counts, other_server = graph.services.security_counts, SecurityCounts(graph.services.table)
    for server in (counts, counts, other_server):
        for viewer in (BOTH, BOTH, EDITOR, replace(EDITOR, roles=frozenset({"admin"}))):
            server.use_roles(viewer, f"{viewer.user_id}@example.org")
        await server.flush()

    found = sorted((event.actor.user_id, event.tenant_id, *event.details.items()) for event in await events(graph))
    assert found == [
        ("id-ada", "acme", ("role", "admin")),
        ("id-ada", "acme", ("tenantRole", "editor")),
        ("root", None, ("role", "admin")),
        ("root", None, ("role", "builder")),
    ]
    assert {event.count for event in await events(graph)} == {1}
    (entry,) = await audited(graph)
    assert (entry.action, entry.details, entry.count) == ("roleUsed", {"tenantRole": "editor"}, 1)
    assert entry.actor == AuditActor(user_id="id-ada", email="id-ada@example.org")


async def test_a_new_hour_begins_anew(graph, monkeypatch):
    counts = graph.services.security_counts
    for hour in ("2026-01-01T10:00:00.000Z", "2026-01-01T11:00:00.000Z"):
        monkeypatch.setattr(security_events, "this_hour", lambda hour=hour: hour)
        monkeypatch.setattr(security_counts, "this_hour", lambda hour=hour: hour)
        counts.use_roles(replace(BOTH, roles=frozenset({"admin"})), None)
        counts.refuse(hourly_event("tokenRefused", address="192.0.2.1"), None)
    await counts.flush()

    assert [event.created_at[11:13] for event in await events(graph)] == ["10", "10", "11", "11"]


async def test_a_thousand_refusals_are_one_write(graph, website):
    await website.tenant()
    counts = graph.services.security_counts
    for _ in range(1_000):
        counts.refuse(hourly_event("tokenRefused", tenant_id="acme", address="192.0.2.1"), "acme")

    assert counts.count == 2
    await counts.flush()
    counts.refuse(hourly_event("tokenRefused", tenant_id="acme", address="192.0.2.1"), "acme")
    await counts.flush()

    (event,), (entry,) = await events(graph), await audited(graph)
    assert (event.count, entry.count) == (1_001, 1_001)


async def test_what_cannot_be_written_waits_and_is_counted_once(graph, faulty_graph, proxy, monkeypatch, engine_name):
    if engine_name == "moto":
        pytest.skip("moto ignores ClientRequestToken, so there a lost answer counts twice")
    monkeypatch.setattr(security_counts, "TIME_FOR_ONE", 1.0)
    counts = faulty_graph.services.security_counts
    refused = hourly_event("tokenRefused", address="192.0.2.1")
    counts.refuse(refused, None)
    proxy.will("TransactWriteItems", cut_after, 1)
    proxy.will("TransactWriteItems", error_500, FOR_EVER)
    with pytest.raises(DatastoreError):
        await counts.flush()

    counts.refuse(refused, None)
    assert counts.count == 2
    proxy.recover()
    await counts.drain()
    await counts.drain()

    (event,) = await events(graph)
    assert (event.count, counts.count) == (2, 0)


async def test_a_full_buffer_says_what_is_lost(graph, monkeypatch, caplog):
    monkeypatch.setattr(security_counts, "MOST_REMEMBERED", 1)
    counts = SecurityCounts(graph.services.table)

    for name in ("ada", "bob"):
        counts.use_roles(Viewer(name, roles=frozenset({"admin"})), None)

    assert counts.count == 1
    assert "bob" in caplog.text
