"""The outbox: each write of something that is logged leaves one item, in its own transaction."""

import asyncio
import random
from contextlib import suppress
from datetime import timedelta

import pytest

from datastore.accounts import Unique
from datastore.changes import outbox as outboxes
from datastore.changes.change import What, decoded
from datastore.changes.leases import LASTS, LeaseLost, Leases
from datastore.changes.log import ChangeLog
from datastore.changes.outbox import Outbox, OutboxSource
from datastore.changes.records import ChangeBatch, DeadLetter, OutboxItem
from datastore.client.errors import Conflict, Unavailable
from datastore.client.table import Table
from datastore.client.writes import Check, Put, Update, absent, exists
from datastore.model.times import time_from_now
from datastore.social import Like, Post
from tests.datastore.test_leases import Clock


@pytest.fixture
def recording(table) -> Table:
    return Table(table.transport, table.name, table.usage, Outbox())


async def recorded(table) -> list[tuple[str, What]]:
    items = (await table.query(OutboxItem.within(), limit=1_000, consistent=True)).records
    return [(change.key.pk + "/" + change.key.sk, change.what) for item in items for change in decoded(item.changes)]


POST = Post(post_id="p", user_id="u", image_url="https://example.org/1.png", feed_shard=0)
LIKE = Like(post_id="p", user_id="v")


async def test_every_kind_of_write_is_recorded(recording):
    await recording.put(POST)
    await recording.transact(Put(LIKE, when=absent()), Check(POST.own_key, when=exists()))
    await recording.update(Update(POST.own_key, add={"like_count": 1}))
    await recording.update(Update.of(POST, POST.changed(caption="c"), when=exists()))
    await recording.delete(LIKE.own_key, when=exists())
    await recording.batch_write(puts=[LIKE], deletes=[POST.own_key])
    post, like = "POST#p/METADATA", "POST#p/LIKE#v"
    assert await recorded(recording) == [
        (post, What.CHANGED),
        (like, What.INSERTED),
        (post, What.CHANGED),
        (post, What.CHANGED),
        (like, What.REMOVED),
        (like, What.CHANGED),
        (post, What.REMOVED),
    ]


async def test_index_keys_are_known_where_the_write_knows_them(recording):
    await recording.transact(Put(POST, when=absent()))
    await recording.update(Update(POST.own_key, add={"like_count": 1}))
    hidden = POST.changed(feed_shard=None)
    await recording.update(Update.of(POST, hidden, when=exists()))
    items = (await recording.query(OutboxItem.within(), limit=10)).records
    created, liked, changed = [decoded(item.changes)[0] for item in items]
    author = ("USER#u", f"POST#{POST.created_at}")
    feed = ("FEED", f"POST#{POST.created_at}")
    assert (created.before, created.after) == ({}, {"GSI1": author, "GSI3": feed})
    assert (liked.before, liked.after) == (None, None)
    assert (changed.before, changed.after) == ({"GSI1": author, "GSI3": feed}, {"GSI1": author})


async def test_a_write_that_fails_leaves_nothing(recording):
    with pytest.raises(Conflict):
        await recording.transact(Put(POST, when=exists()), Put(LIKE))
    assert await recorded(recording) == []


async def test_bookkeeping_and_checks_leave_nothing(recording):
    await recording.put(POST)
    before = await recorded(recording)
    await recording.put(Unique(kind="email", value="a", owner_id="u"))
    await recording.transact(Check(POST.own_key, when=exists()), Put(Unique(kind="email", value="b", owner_id="u")))
    assert await recorded(recording) == before


async def test_a_table_with_a_stream_records_nothing_itself(table):
    await table.put(POST)
    assert await recorded(table) == []


async def test_a_batch_that_fails_halfway_is_recorded_for_later(recording, monkeypatch):
    """It may have been written, and a killed process tells no one."""

    async def fail(requests):
        raise Unavailable("killed")

    likes = [Like(post_id="p", user_id=f"v{n}") for n in range(11)]
    monkeypatch.setattr(recording, "_write_batch", fail)
    with pytest.raises(Unavailable):
        await recording.batch_write(puts=likes)
    assert await recorded(recording) == [(f"POST#p/LIKE#v{n}", What.CHANGED) for n in range(11)]
    log = ChangeLog(recording)
    assert await source(recording, log).move() is False
    monkeypatch.setattr(outboxes, "CLOCKS_DIFFER", timedelta(seconds=61))
    assert await source(recording, log).move() is True
    (batch,) = await log.read(0, 0)
    assert [change.key for change in batch.changes] == [like.own_key for like in likes]


async def test_a_batch_of_a_few_writes_is_one_transaction(recording):
    await recording.batch_write(puts=[LIKE], deletes=[POST.own_key])
    assert dict(recording.usage.calls) == {"TransactWriteItems": 1}
    assert await recorded(recording) == [("POST#p/LIKE#v", What.CHANGED), ("POST#p/METADATA", What.REMOVED)]


async def test_a_batch_of_any_size_is_recorded(recording):
    likes = [Like(post_id="p", user_id=f"v{n}") for n in range(1_100)]
    await recording.batch_write(puts=likes)
    assert len((await recording.query(OutboxItem.within(), limit=10)).records) == 3
    assert len(await recorded(recording)) == 1_100
    log = ChangeLog(recording)
    while await source(recording, log).move():
        pass
    found = await log.read(0, 0)
    found += await log.read(0, found[-1].sequence)
    assert sum(len(batch.changes) for batch in found) == 1_100
    assert await recorded(recording) == []


def source(table, log) -> OutboxSource:
    return OutboxSource(table, table.recorder, Leases(table), log)


async def test_everything_reaches_the_log_once(recording):
    log = ChangeLog(recording)
    await asyncio.gather(*(recording.put(Like(post_id=f"p{n % 7}", user_id=f"v{n}")) for n in range(300)))
    # Two at once, as if both held the lease.
    one, other = source(recording, log), source(recording, ChangeLog(recording))

    async def drain(each):
        while True:
            with suppress(LeaseLost):
                if not await each.move():
                    return

    await asyncio.gather(drain(one), drain(other))
    found, after = [], 0
    while batches := await log.read(0, after, consistent=True):
        found += [change.key.sk for batch in batches for change in batch.changes]
        after = batches[-1].sequence
    assert sorted(found) == sorted(f"LIKE#v{n}" for n in range(300))
    assert await recorded(recording) == []


async def test_a_source_goes_on_where_a_dead_one_stopped(recording, monkeypatch):
    """The dead one does not release its lease."""
    monkeypatch.setattr(outboxes, "PAUSE_AFTER_FAILURE", 0.01)
    clock, log, appended = Clock(), ChangeLog(recording), asyncio.Event()
    log.listeners.append(lambda *_: appended.set())
    leases = Leases(recording, clock)
    assert await leases.take(outboxes.LEASE)
    await recording.put(LIKE)
    running = asyncio.create_task(OutboxSource(recording, recording.recorder, leases, log).run())
    clock.now += LASTS + 1
    async with asyncio.timeout(60):
        await appended.wait()
    running.cancel()
    await asyncio.wait([running])
    (batch,) = await log.read(0, 0)
    assert [change.key for change in batch.changes] == [LIKE.own_key]


async def test_an_item_that_is_no_changes_is_set_aside_and_stops_no_other(recording, caplog):
    await recording.put(LIKE)
    (item,) = (await recording.query(OutboxItem.within(), limit=10)).records
    for number, text in enumerate(
        ("no JSON", "[1]", '[["Like", 1]]', '{"a": 1}', '[["Like","a","b","?","",null,null]]')
    ):
        await recording.put(item.changed(changes=text, number=100 + number))
    await recording.put(POST)
    log = ChangeLog(recording)
    while await source(recording, log).move():
        pass
    assert [change.key for batch in await log.read(0, 0) for change in batch.changes] == [LIKE.own_key, POST.own_key]
    assert await recorded(recording) == []
    letters = (await recording.query(DeadLetter.within(), limit=10)).records
    assert [letter.processor for letter in letters] == ["outbox"] * 5
    assert "no JSON" in letters[0].changes
    assert "changes could not be moved from the outbox" in caplog.text


async def stored_as(table, item, **attributes) -> None:
    """Stores an item of the outbox with attributes that it cannot have."""
    request = {"TableName": table.name, "Item": {**item.encode(), **attributes}}
    await table.transport.call("PutItem", request, table.usage)


async def test_damaged_items_are_set_aside_however_many(recording):
    await recording.put(LIKE)
    (item,) = (await recording.query(OutboxItem.within(), limit=10)).records
    earlier = time_from_now(-timedelta(hours=1))
    for number in range(120):
        await stored_as(recording, item.changed(number=number, written_at=earlier), writer={"N": "1"})
    log = ChangeLog(recording)
    while await source(recording, log).move():
        pass
    assert [change.key for batch in await log.read(0, 0) for change in batch.changes] == [LIKE.own_key]
    assert len((await recording.query(DeadLetter.within(), limit=200)).records) == 120


async def test_items_of_a_newer_version_wait_for_a_newer_server_and_stop_no_other(recording):
    await recording.put(LIKE)
    (item,) = (await recording.query(OutboxItem.within(), limit=10)).records
    earlier = time_from_now(-timedelta(hours=1))
    for number in range(120):
        await stored_as(recording, item.changed(number=number, written_at=earlier), schemaVersion={"N": "99"})
    log = ChangeLog(recording)
    while await source(recording, log).move():
        pass
    assert [change.key for batch in await log.read(0, 0) for change in batch.changes] == [LIKE.own_key]
    assert (await recording.query(DeadLetter.within(), limit=200)).records == []
    assert len((await recording.query(OutboxItem.within(), limit=200)).damaged) == 120


async def test_items_that_do_not_fit_into_a_batch_together_are_moved_in_several(recording):
    """Random keys do not compress: all of these together are over DynamoDB's limit of an item."""
    numbers = random.Random(1)
    texts = ["".join(numbers.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=900)) for _ in range(800)]
    likes = [Like(post_id=texts[number], user_id=texts[400 + number]) for number in range(400)]
    for start in range(0, 400, 10):
        await recording.transact(*map(Put, likes[start : start + 10]))
    log, found = ChangeLog(recording), []
    while await source(recording, log).move():
        pass
    while batches := await log.read(0, found[-1].sequence if found else 0):
        found += batches
    assert [change.key for batch in found for change in batch.changes] == [like.own_key for like in likes]


async def test_changes_of_entities_that_this_server_does_not_know_reach_the_log(recording):
    """An older server may move them while a newer one waits for its turn."""
    await recording.put(LIKE)
    (item,) = (await recording.query(OutboxItem.within(), limit=10)).records
    other = item.changes.replace('"Like"', '"FromTheFuture"')
    await recording.put(item.changed(changes=other))
    log = ChangeLog(recording)
    assert await source(recording, log).move()
    assert (await recording.get(ChangeBatch.key(partition=0, sequence=1))).changes == other


async def test_a_source_survives_what_it_does_not_expect(recording, monkeypatch):
    monkeypatch.setattr(outboxes, "PAUSE_AFTER_FAILURE", 0.01)
    log, appended, failures = ChangeLog(recording), asyncio.Event(), iter([KeyError("unexpected")])

    def listen(*_):
        for failure in failures:
            raise failure
        appended.set()

    log.listeners.append(listen)
    running = asyncio.create_task(source(recording, log).run())
    await recording.put(LIKE)
    async with asyncio.timeout(60):
        while not appended.is_set():
            await recording.put(LIKE)
            await asyncio.sleep(0.05)
    running.cancel()
    await asyncio.wait([running])
