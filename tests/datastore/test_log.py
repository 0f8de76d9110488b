"""The change log: numbered without gaps, with any number of appenders."""

import asyncio
from datetime import timedelta

import pytest

from datastore.changes import log as logs
from datastore.changes.change import Change, What
from datastore.changes.leases import LeaseLost, Leases
from datastore.changes.log import ChangeLog
from datastore.changes.records import ChangeBatch
from datastore.client.writes import Update
from datastore.model.entity import FORMER_NAMES
from datastore.model.times import now, seconds_from_now, time_from_now
from datastore.social import Like


def a_change(number: int, post_id: str = "p") -> Change:
    key = Like.key(post_id=post_id, user_id=f"u{number}")
    return Change(key, What.CHANGED, now(), {"GSI1": ("a", "b")}, {"GSI1": ("a", f"c{number}")})


async def test_what_is_appended_is_read_in_order(table):
    log = ChangeLog(table)
    first, second = [a_change(1), a_change(2)], [a_change(3)._replace(expired=True, before=None, after={})]
    await log.append(first)
    await log.append(second)
    assert [(batch.sequence, batch.changes) for batch in await log.read(0, 0)] == [(1, first), (2, second)]
    assert [batch.sequence for batch in await log.read(0, 1)] == [2]
    assert await log.read(0, 2) == []
    assert await log.head(0) == 2


async def test_many_appenders_leave_no_gap_and_lose_nothing(table):
    logs = [ChangeLog(table) for _ in range(5)]

    async def append(log, start):
        for number in range(start, start + 8):
            await log.append([a_change(number)])

    await asyncio.gather(*(append(log, 100 * place) for place, log in enumerate(logs)))
    found, after = [], 0
    while batches := await logs[0].read(0, after, consistent=True):
        found += batches
        after = batches[-1].sequence
    assert [batch.sequence for batch in found] == [*range(1, 41)]
    of_each = [
        [change for batch in found for change in batch.changes if int(change.key.sk[6:]) // 100 == place]
        for place in range(5)
    ]
    assert [[int(change.key.sk[6:]) % 100 for change in changes] for changes in of_each] == [[*range(8)]] * 5


async def test_without_its_lease_an_appender_appends_nothing(table):
    log, leases = ChangeLog(table), Leases(table)
    held = await leases.take("work")
    await log.append([a_change(1)], held.still_mine(position="1"))
    held.holder = "someone else"
    with pytest.raises(LeaseLost):
        await log.append([a_change(2)], held.still_mine(position="2"))
    assert await log.head(0) == 1
    await held.release()


async def test_changes_of_an_item_are_in_one_partition(table):
    log = ChangeLog(table, partitions=4)
    changes = [a_change(number, post_id=f"p{number % 10}") for number in range(40)]
    await log.append(changes)
    found = {partition: await log.read(partition, 0) for partition in range(4)}
    assert sum(len(batch.changes) for batches in found.values() for batch in batches) == 40
    for partition, batches in found.items():
        for batch in batches:
            assert {log.partition_of(change.key.pk) for change in batch.changes} == {partition}
            assert batch.changes == [change for change in changes if log.partition_of(change.key.pk) == partition]


async def test_a_reader_stops_at_a_gap(table):
    log = ChangeLog(table)
    for number in range(4):
        await log.append([a_change(number)])
    await table.delete(ChangeBatch.key(partition=0, sequence=3))
    assert [batch.sequence for batch in await log.read(0, 0)] == [1, 2]


async def test_it_goes_on_after_all_batches_expired(table, monkeypatch):
    monkeypatch.setattr(logs, "GAPS_CLOSE", timedelta())
    await ChangeLog(table).append([a_change(1)])
    await table.delete(ChangeBatch.key(partition=0, sequence=1))
    log = ChangeLog(table)
    await log.append([a_change(2)])
    assert [batch.sequence for batch in await log.read(0, 0)] == [2]


async def test_an_idle_reader_costs_half_a_read_unit(table):
    log = ChangeLog(table)
    await log.append([a_change(number) for number in range(300)])
    before = table.usage.read_units
    usage = table.usage
    log._table.using = lambda _: table
    assert await log.read(0, 1) == []
    assert usage.read_units - before == 0.5


async def test_a_batch_of_300_changes_costs_a_few_write_units(table):
    """Index keys included: keys repeat much of each other, so they compress well."""
    log = ChangeLog(table)
    log._table.using = lambda _: table
    await log.append([a_change(0)])
    before = table.usage.write_units
    await log.append([a_change(number, post_id=f"post-{number:020d}") for number in range(300)])
    assert table.usage.write_units - before < 30


async def test_entities_that_this_server_does_not_know_keep_their_place(table):
    """Positions within a batch mean the same to servers of all versions."""
    log = ChangeLog(table)
    await log.append([a_change(1), a_change(2)])
    record = await table.get(ChangeBatch.key(partition=0, sequence=1))
    await table.put(record.changed(changes=record.changes.replace('"Like"', '"FromTheFuture"', 1)))
    (batch,) = await log.read(0, 0)
    assert [change.entity.__name__ for change in batch.changes] == ["FromTheFuture", "Like"]
    assert batch.changes[1].entity is Like


async def test_entities_that_were_renamed_are_found(table, monkeypatch):
    monkeypatch.setitem(FORMER_NAMES, "Heart", "Like")
    log = ChangeLog(table)
    await log.append([a_change(1)])
    record = await table.get(ChangeBatch.key(partition=0, sequence=1))
    await table.put(record.changed(changes=record.changes.replace('"Like"', '"Heart"')))
    (batch,) = await log.read(0, 0)
    assert [change.entity for change in batch.changes] == [Like]


async def test_a_reader_waits_for_a_batch_that_was_committed_but_cannot_be_seen_yet(table, monkeypatch):
    """A Query may see the second of two transactions first."""
    log = ChangeLog(table)
    for number in range(3):
        await log.append([a_change(number)])
    late = await table.get(ChangeBatch.key(partition=0, sequence=2))
    await table.delete(late.own_key)
    assert await log.read(0, 1) == []
    await table.put(late)
    assert [batch.sequence for batch in await log.read(0, 1)] == [2, 3]
    await table.delete(late.own_key)
    monkeypatch.setattr(logs, "GAPS_CLOSE", timedelta())
    assert [batch.sequence for batch in await log.read(0, 1)] == [3]


async def damage(table, sequence: int, **attributes) -> None:
    record = await table.get(ChangeBatch.key(partition=0, sequence=sequence))
    request = {"TableName": table.name, "Item": {**record.encode(), **attributes}}
    await table.transport.call("PutItem", request, table.usage)


async def test_damaged_batches_are_empty_and_stop_no_reader(table, caplog):
    log = ChangeLog(table)
    for number in range(30):
        await log.append([a_change(number)])
    for sequence in range(2, 27):
        await damage(table, sequence, changes={"S": "no JSON"} if sequence % 2 else {"L": []})
    found = await log.read(0, 0)
    found += await log.read(0, found[-1].sequence)
    assert [batch.sequence for batch in found] == [*range(1, 31)]
    assert [batch.sequence for batch in found if batch.changes] == [1, 27, 28, 29, 30]
    assert "batch 2 of the change log is damaged and skipped" in caplog.text


async def test_a_batch_of_a_newer_version_waits_for_a_newer_server(table):
    log = ChangeLog(table)
    for number in range(3):
        await log.append([a_change(number)])
    await damage(table, 2, schemaVersion={"N": "99"})
    assert [batch.sequence for batch in await log.read(0, 0)] == [1]
    assert await log.read(0, 1) == []


async def test_a_reader_takes_no_more_changes_than_it_can_keep(table):
    log = ChangeLog(table)
    for start in range(0, 3_000, 300):
        await log.append([a_change(number) for number in range(start, start + 300)])
    assert [batch.sequence for batch in await log.read(0, 0)] == [1, 2, 3, 4]
    assert [batch.sequence for batch in await log.read(0, 4)] == [5, 6, 7, 8]


async def test_a_time_leads_to_a_position(table, monkeypatch):
    monkeypatch.setattr("datastore.changes.log.BATCHES_READ", 2)
    log = ChangeLog(table)
    assert await log.position_at(0, time_from_now(timedelta(0))) == 0
    for number in range(1, 6):
        await log.append([a_change(number)])
    third = (await table.get(ChangeBatch.key(partition=0, sequence=3))).created_at

    assert await log.position_at(0, time_from_now(timedelta(minutes=1))) == 5
    assert await log.position_at(0, time_from_now(timedelta(minutes=-1))) == 0
    assert await log.position_at(0, third) <= 2


async def test_a_batch_that_is_gone_or_expires_is_not_there(table):
    log = ChangeLog(table)
    await log.append([a_change(1)])
    await log.append([a_change(2)])
    soon = {"expires_at": seconds_from_now(timedelta(0))}
    await table.update(Update(ChangeBatch.key(partition=0, sequence=1), set=soon))

    assert [await log.has(0, number) for number in (1, 2, 3)] == [False, True, False]
