"""Old items are rewritten without losing anything, and upgrades cannot be removed too early."""

import asyncio

import pytest

from datastore.accounts import User
from datastore.client.writes import Update
from datastore.maintenance import migrating
from datastore.maintenance.migrating import Migrating, UpgradeMissing, begin, check_upgrades, confirm, pause, rewrite
from datastore.maintenance.records import MigrationStatus, SchemaState
from datastore.model.entity import REGISTRY, Entity, field
from datastore.model.ownership import nobody

OLD = {"schemaVersion": {"N": "1"}, "avatarUrl": {"S": "https://example.org/a.png"}, "profileImages": None}


def person(number: int) -> User:
    return User(user_id=f"u{number}", username=f"user{number}", email=f"user{number}@example.org")


async def put(table, record, **attributes):
    item = {name: value for name, value in {**record.encode(), **attributes}.items() if value is not None}
    await table._write_batch([{"PutRequest": {"Item": item}}])
    return item


@pytest.fixture
def stored_always(monkeypatch):
    monkeypatch.setattr(migrating, "STORED_EVERY", -1.0)


@pytest.fixture
def young():
    """An entity whose first upgrade was removed."""

    class Young(Entity, pk="YOUNG#{young_id}", sk="YOUNG", owner=nobody("a test"), upgrades_from=2):
        """An entity of which version 1 is gone."""

        young_id: str = field("ID.")

    yield Young
    del REGISTRY["Young"]


async def test_an_old_item_is_rewritten_as_it_would_be_written_today(table):
    before = await put(table, person(1), **OLD, note={"S": "of another program"}, GSI4PK=None, GSI4SK=None)

    done = await Migrating(table, await begin(table, None)).run()

    assert done.status is MigrationStatus.DONE
    assert done.counts["User"] == {"read": 1, "old": 1, "rewritten": 1}
    after = await table.stored_item(person(1).own_key)
    gone = {"avatarUrl", "schemaVersion"}
    assert after == {
        **{name: value for name, value in before.items() if name not in gone},
        "schemaVersion": {"N": "2"},
        "profileImages": {"M": {"avatar": {"M": {"url": {"S": "https://example.org/a.png"}}}}},
        "GSI4PK": {"S": "TYPE#USER"},
        "GSI4SK": {"S": f"{before['createdAt']['S']}#u1"},
    }


async def test_an_item_of_a_renamed_entity_gets_the_new_name(table):
    context = REGISTRY["EditorialContext"](tenant_id="acme", context_id="c", title="Voice")
    await put(table, context, entityType={"S": "Context"})
    await Migrating(table, await begin(table, None)).run()
    assert (await table.stored_item(context.own_key))["entityType"] == {"S": "EditorialContext"}


async def test_current_items_are_not_written(table):
    await table.batch_write(puts=map(person, range(5)))
    table.usage.calls.clear()
    done = await Migrating(table, await begin(table, None)).run()
    assert done.counts["User"] == {"read": 5}
    assert table.usage.calls["Scan"] == 1


async def test_a_concurrent_change_wins(table):
    stale = await put(table, person(1), **OLD)
    await table.update(Update(person(1).own_key, set={"bio": "New."}, add={"follower_count": 3}))

    assert await rewrite(table, stale)

    user = await table.get(person(1).own_key, consistent=True)
    item = await table.stored_item(person(1).own_key)
    assert (user.bio, user.follower_count, item["schemaVersion"]) == ("New.", 3, {"N": "2"})


async def test_writers_lose_nothing_while_items_are_rewritten(table):
    for number in range(20):
        await put(table, person(number), **OLD)

    async def count_up():
        for turn in range(60):
            await table.transact(Update(person(turn % 20).own_key, add={"follower_count": 1}))

    await asyncio.gather(Migrating(table, await begin(table, None)).run(), count_up())

    for number in range(20):
        assert (await table.get(person(number).own_key, consistent=True)).follower_count == 3
        assert (await table.stored_item(person(number).own_key))["schemaVersion"] == {"N": "2"}


async def test_a_paused_migration_goes_on_where_it_was(table, stored_always):
    for number in range(30):
        await put(table, person(number), **OLD)
    begun = await begin(table, 20.0)
    pausing = []

    def pause_at_once(_):
        pausing.append(asyncio.ensure_future(pause(table)))

    first = await Migrating(table, begun, told=pause_at_once).run()
    await asyncio.gather(*pausing)
    assert first.status is not MigrationStatus.DONE or first.counts["User"]["read"] == 30
    assert (await Migrating(table, await table.get(migrating.STATE, consistent=True)).run()).status in (
        MigrationStatus.PAUSED,
        MigrationStatus.DONE,
    )

    last = await Migrating(table, await begin(table, None)).run()

    assert last.status is MigrationStatus.DONE
    for number in range(30):
        assert (await table.stored_item(person(number).own_key))["schemaVersion"] == {"N": "2"}


async def test_what_cannot_be_read_is_left_and_reported(table):
    await put(table, person(1), **{**OLD, "username": {"N": "1"}})
    done = await Migrating(table, await begin(table, None)).run()
    assert done.counts["User"] == {"read": 1, "old": 1, "left": 1, "oldest": 1}
    state = await table.get(SchemaState.key(entity_name="User"), consistent=True)
    assert state.oldest == 1


async def test_all_upgrades_are_there_so_nothing_is_read(table):
    table.usage.calls.clear()
    await check_upgrades(table)
    assert table.usage.calls == {}


async def test_a_server_without_a_needed_upgrade_is_refused(table, young):
    await table.put(person(1))
    with pytest.raises(UpgradeMissing) as refusal:
        await check_upgrades(table)
    assert str(refusal.value) == (
        "the table may hold a Young of version 1, and this server reads versions 2 to 2 only: put the removed upgrades "
        "back, run `heartwood migrate`, and remove them once it reports that no old items are left"
    )
    await confirm(table, {"Young": 1})
    with pytest.raises(UpgradeMissing):
        await check_upgrades(table)
    await confirm(table, {})
    await check_upgrades(table)


async def test_an_empty_table_needs_no_upgrades(table, young):
    await check_upgrades(table)
    await table.put(person(1))
    await check_upgrades(table)
    assert (await table.get(SchemaState.key(entity_name="Young"), consistent=True)).oldest == 2


async def test_a_removed_upgrade_is_missed_by_its_items_only(table, young):
    await put(table, young(young_id="a"), schemaVersion={"N": "1"})
    await put(table, young(young_id="b"))
    with pytest.raises(Exception, match="the schemaVersion 1 is unknown; this server knows 2 to 2"):
        await table.get(young.key(young_id="a"))
    assert (await table.get(young.key(young_id="b"))).young_id == "b"
