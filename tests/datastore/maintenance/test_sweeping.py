"""Expired items are deleted where DynamoDB does not, and the change log says why."""

import time

import pytest

from datastore.accounts import KnownAddress, User
from datastore.changes.change import What, decoded
from datastore.changes.leases import Leases
from datastore.changes.outbox import Outbox
from datastore.changes.records import OutboxItem
from datastore.client.table import Table
from datastore.maintenance import sweeping
from datastore.maintenance.sweeping import EVERY, Sweeper, sweep
from datastore.notifications import NotificationKind, NotificationSource
from datastore.webhooks import WebhookDelivery

DAY = 24 * 3600


def over(days: float) -> int:
    return int(time.time() - days * DAY)


@pytest.fixture
def recording(table):
    return Table(table.transport, table.name, table.usage, Outbox())


def person(name: str, expires_at: int | None) -> User:
    return User(user_id=name, username=name, email=f"{name}@example.org", expires_at=expires_at)


async def names(table) -> set[str]:
    found = {}
    for name in ("gone", "soon", "just", "kept"):
        found[name] = await table.get(User.key(user_id=name), consistent=True)
    return {name for name, user in found.items() if user is not None}


async def test_only_what_has_expired_is_deleted(table):
    people = [person("gone", over(1)), person("just", over(0.001)), person("soon", over(-1)), person("kept", None)]
    await table.batch_write(puts=people)
    assert await sweep(table) == 1
    assert await names(table) == {"just", "soon", "kept"}


async def test_the_change_log_says_that_it_expired(table, recording):
    await table.batch_write(puts=[person("gone", over(1)), KnownAddress(subject="a", expires_at=over(1))])
    assert await sweep(recording) == 2
    (item,) = (await table.query(OutboxItem.within(), limit=10)).records
    (change,) = decoded(item.changes)
    assert (change.key, change.what, change.expired) == (User.key(user_id="gone"), What.REMOVED, True)


async def test_what_is_restored_meanwhile_stays(table, monkeypatch):
    await table.put(person("kept", over(1)))
    reading = sweeping._expired

    def restored_after_it_was_read(text, margin):
        item = reading(text, margin)
        if item is not None:
            item = {**item, "expiresAt": {"N": str(over(2))}}
        return item

    monkeypatch.setattr(sweeping, "_expired", restored_after_it_was_read)
    assert await sweep(table) == 0
    assert await names(table) == {"kept"}


async def test_one_server_sweeps_once_an_hour(table):
    one, other = (Sweeper(table, Leases(table)) for _ in range(2))
    await table.put(person("gone", over(1)))
    assert await one.sweep_if_due() == 1
    assert await other.sweep_if_due() is None
    await table.put(person("gone", over(1)))
    assert await other.sweep_if_due(time.time() + EVERY + 1) == 1
    assert await one.sweep_if_due(time.time() + EVERY + 2) is None


async def test_bookkeeping_expires_too(table):
    source = NotificationSource(
        source_id="s",
        kind=NotificationKind.LIKE,
        group_id="g",
        user_ids=["u"],
        caused_at="2026-01-01T00:00:00.000Z",
        noted_at="2026-01-01T00:00:00.000Z",
        expires_at=over(1),
    )
    await table.put(source)
    assert WebhookDelivery.fields["expires_at"].attribute == "expiresAt"
    assert await sweep(table) == 1
    assert await table.get(source.own_key, consistent=True) is None
