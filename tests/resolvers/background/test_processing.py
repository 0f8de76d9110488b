"""Processors get every change, in order, and what they return is written once."""

import asyncio
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from datastore.changes import log as logs
from datastore.changes.change import What, decoded
from datastore.changes.leases import LeaseLost
from datastore.changes.records import ChangeBatch, Checkpoint, DeadLetter, Lease, OutboxItem
from datastore.client.errors import Unavailable
from datastore.client.writes import Delete, Put, Update, absent
from datastore.social import Follow, Like, PostCounter
from resolvers.background import processing
from resolvers.background.processing import Placed
from resolvers.background.processors import PROCESSORS, processor
from resolvers.core.options import Options
from tests.conftest import services_at


@pytest.fixture(autouse=True)
def only_these():
    """No processors but those of the test."""
    others = dict(PROCESSORS)
    PROCESSORS.clear()
    yield
    PROCESSORS.clear()
    PROCESSORS.update(others)


def a_like(number: int) -> Like:
    return Like(post_id="p", user_id=f"u{number}")


async def test_a_processor_gets_what_its_entities_changed(graph):
    seen = []

    @processor(Like)
    async def watch(load, changes):
        seen.extend((change.key.sk, change.what) for change in changes)

    like = a_like(1)
    await graph.table.transact(Put(like, when=absent()), Put(Follow(follower_id="a", following_id="b")))
    await graph.table.write(Put(a_like(2)))
    await graph.table.transact(Delete(like.own_key))
    await graph.settle()
    await graph.settle()
    assert seen == [("LIKE#u1", What.INSERTED), ("LIKE#u2", What.CHANGED), ("LIKE#u1", What.REMOVED)]
    assert [*(await graph.table.query(OutboxItem.within(), limit=10)).records] == []


async def test_changes_come_in_order_and_in_slices(graph):
    sizes, order = [], []

    @processor(Like, at_once=4)
    async def watch(load, changes):
        sizes.append(len(changes))
        order.extend(change.key.sk for change in changes)

    for number in range(10):
        await graph.table.put(a_like(number))
    await graph.settle()
    assert sizes == [4, 4, 2]
    assert order == [f"LIKE#u{number}" for number in range(10)]


def count(post_id: str, by: int) -> Update:
    return Update.upsert(PostCounter(post_id=post_id, shard=0), add={"like_count": by})


async def counted(graph) -> int:
    found = await graph.table.get(PostCounter.key(post_id="p", shard=0), consistent=True)
    return found.like_count if found else 0


def a_counter(at_once: int = 3) -> None:
    @processor(Like, at_once=at_once)
    async def count_likes(load, changes):
        return [count("p", len(changes))]


async def test_what_a_processor_returns_is_written_once_however_often_it_is_killed(graph):
    """Each run works on the first slices only, and starts again from the stored position."""
    a_counter()
    await graph.table.batch_write(puts=[a_like(number) for number in range(20)])
    changes = graph.services.changes
    while await changes.outbox.move():
        pass
    runs = 0
    while await counted(graph) < 20:
        runs += 1
        (course,) = await changes.processing.courses(0)
        (batch,) = await changes.log.read(0, course.sequence)
        left = batch.changes[course._done :]
        some = [Placed(batch.sequence, place, change) for place, change in enumerate(batch.changes)]
        await course._work(some[course._done :][:3])
        assert await counted(graph) == 20 - len(left) + min(3, len(left))
    assert runs == 7
    await graph.settle()
    assert await counted(graph) == 20


async def test_two_servers_that_both_think_they_hold_the_lease_count_once(graph):
    a_counter()
    await graph.table.batch_write(puts=[a_like(number) for number in range(9)])
    changes = graph.services.changes
    while await changes.outbox.move():
        pass
    (batch,) = await changes.log.read(0, 0)
    one, other = (await changes.processing.courses(0))[0], (await changes.processing.courses(0))[0]
    outcomes = await asyncio.gather(one.take([batch]), other.take([batch]), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes].count(LeaseLost) == 1
    await graph.settle()
    assert await counted(graph) == 9


async def test_a_failing_change_becomes_a_dead_letter_and_the_others_are_done(graph, monkeypatch):
    monkeypatch.setattr(processing, "FIRST_PAUSE", 0.001)
    done = []

    @processor(Like)
    async def watch(load, changes):
        if any(change.key.sk == "LIKE#u2" for change in changes):
            raise ValueError("no twos")
        done.extend(change.key.sk for change in changes)

    await graph.table.batch_write(puts=[a_like(number) for number in range(4)])
    await graph.settle()
    assert done == ["LIKE#u0", "LIKE#u1", "LIKE#u3"]
    (letter,) = (await graph.table.query(DeadLetter.within(), limit=5)).records
    assert (letter.processor, letter.place, letter.error) == ("watch", 2, "ValueError('no twos')")
    (change,) = decoded(letter.changes)
    assert change.key == a_like(2).own_key
    assert graph.services.changes.processing.progress["watch"].dead == 1


async def test_a_change_that_fails_at_first_is_tried_again(graph, monkeypatch):
    monkeypatch.setattr(processing, "FIRST_PAUSE", 0.001)
    attempts = []

    @processor(Like)
    async def watch(load, changes):
        attempts.append(len(changes))
        if len(attempts) < 3:
            raise ValueError("not yet")

    await graph.table.put(a_like(1))
    await graph.table.put(a_like(2))
    await graph.settle()
    assert attempts == [2, 2, 2]
    assert (await graph.table.query(DeadLetter.within(), limit=5)).records == []


async def test_while_dynamodb_is_unavailable_nothing_dies(graph, monkeypatch):
    monkeypatch.setattr(processing, "FIRST_PAUSE", 0.0001)
    monkeypatch.setattr(processing, "LONGEST_PAUSE", 0.001)
    attempts = []

    @processor(Like)
    async def watch(load, changes):
        attempts.append(len(changes))
        if len(attempts) < 30:
            raise Unavailable("no answer")

    await graph.table.put(a_like(1))
    await graph.settle()
    assert len(attempts) == 30
    assert (await graph.table.query(DeadLetter.within(), limit=5)).records == []


async def test_too_many_writes_are_refused_with_a_fix(graph, monkeypatch):
    monkeypatch.setattr(processing, "FIRST_PAUSE", 0.001)

    @processor(Like)
    async def flood(load, changes):
        return [count(f"p{number}", 1) for number in range(91)]

    await graph.table.put(a_like(1))
    await graph.settle()
    (letter,) = (await graph.table.query(DeadLetter.within(), limit=5)).records
    assert "returned 91 writes for 1 changes, but at most 90 fit" in letter.error


async def test_processors_do_not_wait_for_each_other(graph):
    """One hangs; the other gets everything."""
    done = asyncio.Event()

    @processor(Like)
    async def hang(load, changes):
        await asyncio.Event().wait()

    @processor(Like)
    async def work(load, changes):
        done.set()

    async with running(graph):
        await graph.table.put(a_like(1))
        async with asyncio.timeout(30):
            await done.wait()


async def test_a_running_server_processes_what_another_one_writes(graph, endpoint, settings):
    seen = asyncio.Queue()

    @processor(Like)
    async def watch(load, changes):
        for change in changes:
            seen.put_nowait(change.key.sk)

    async with services_at(endpoint, settings) as other, running(graph):
        await other.table.put(a_like(7))
        async with asyncio.timeout(30):
            assert await seen.get() == "LIKE#u7"


async def test_positions_are_stored_when_a_server_stops(graph):
    seen = asyncio.Queue()

    @processor(Like)
    async def watch(load, changes):
        seen.put_nowait(len(changes))

    async with running(graph):
        await graph.table.put(a_like(1))
        async with asyncio.timeout(30):
            await seen.get()
    (position,) = (await graph.table.query(Checkpoint.within(partition=0), limit=5, consistent=True)).records
    assert (position.sequence, position.done) == (1, 0)
    lease = await graph.table.get(Lease.key(name="processors-0"), consistent=True)
    assert lease.held_until == 0


async def test_a_processor_that_was_away_too_long_says_so(graph, caplog, monkeypatch):
    monkeypatch.setattr(logs, "GAPS_CLOSE", timedelta())
    seen = []

    @processor(Like)
    async def watch(load, changes):
        seen.extend(change.key.sk for change in changes)

    for number in range(3):
        await graph.table.put(a_like(number))
        while await graph.services.changes.outbox.move():
            pass
    await graph.table.put(Checkpoint(partition=0, processor="watch", sequence=1))
    await graph.table.delete(ChangeBatch.key(partition=0, sequence=2))
    await graph.settle()
    assert seen == ["LIKE#u2"]
    assert "the batches 2 to 2 of partition 0 are gone; rebuild what it keeps" in caplog.text


async def test_a_processor_gets_the_services_that_it_asks_for(graph):
    given = []

    @processor(Like)
    async def watch(load, changes, *, options: Options):
        given.append(options)

    await graph.table.put(a_like(1))
    await graph.settle()
    assert given == [graph.services.options]


@asynccontextmanager
async def running(graph):
    """Runs the flow of changes as a server does."""
    flow = graph.services.changes
    tasks = [asyncio.create_task(each.run()) for each in (*flow.tails, *flow.in_one_worker)]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def test_changes_whose_writes_do_not_fit_into_a_transaction_are_divided(graph):
    calls = []

    @processor(Like, at_once=5)
    async def copy(load, changes):
        calls.append(len(changes))
        return [
            Put(Follow(follower_id=f"{change.key.values['user_id']}-{n}", following_id="b"))
            for change in changes
            for n in range(30)
        ]

    await graph.table.transact(*(Put(a_like(number), when=absent()) for number in range(5)))
    await graph.settle()
    assert calls == [5, 2, 3]
    page = await graph.table.query(Follow.followers_of(following_id="b"), limit=1_000)
    assert len(page.records) == 150
    assert [*(await graph.table.query(DeadLetter.within(processor="copy"), limit=10)).records] == []


async def dead_letters(graph) -> list[DeadLetter]:
    return [*(await graph.table.query(DeadLetter.within(), limit=100, consistent=True)).records]


async def test_a_processor_that_hangs_is_ended(graph, monkeypatch):
    """Those changes that it can handle are done."""
    for name, seconds in (("TIME_TO_REACT", 0.0), ("TIME_TO_HANG", 0.05), ("FIRST_PAUSE", 0.001)):
        monkeypatch.setattr(processing, name, seconds)
    done = []

    @processor(Like)
    async def watch(load, changes):
        if any(change.key.sk == "LIKE#u2" for change in changes):
            await asyncio.Event().wait()
        done.extend(change.key.sk for change in changes)

    await graph.table.batch_write(puts=[a_like(number) for number in range(4)])
    async with asyncio.timeout(60):
        await graph.settle()
    assert done == ["LIKE#u0", "LIKE#u1", "LIKE#u3"]
    (letter,) = await dead_letters(graph)
    assert letter.place == 2
    assert "the processor watch did not finish 1 changes" in letter.error


async def test_a_processor_that_is_too_slow_for_its_time_is_not_tried_without_end(graph, monkeypatch):
    """Its calls fail because the time is over, not because DynamoDB fails."""
    for name, seconds in (("TIME_TO_REACT", 0.0), ("FIRST_PAUSE", 0.001)):
        monkeypatch.setattr(processing, name, seconds)
    calls = []

    @processor(Like)
    async def watch(load, changes):
        calls.append(len(changes))
        await load.fresh(*(change.key for change in changes))

    await graph.table.batch_write(puts=[a_like(number) for number in range(2)])
    async with asyncio.timeout(60):
        await graph.settle()
    assert calls == [2, *[1] * processing.ATTEMPTS_ALONE, *[1] * processing.ATTEMPTS_ALONE]
    assert [letter.place for letter in await dead_letters(graph)] == [0, 1]


async def test_what_was_done_of_an_expired_batch_does_not_count_for_the_next(graph, monkeypatch, caplog):
    monkeypatch.setattr(logs, "GAPS_CLOSE", timedelta())
    seen = []

    @processor(Like)
    async def watch(load, changes):
        seen.extend(change.key.sk for change in changes)

    for number in range(2):
        await graph.table.put(a_like(number))
        while await graph.services.changes.outbox.move():
            pass
    await graph.table.put(Checkpoint(partition=0, processor="watch", sequence=0, done=1))
    await graph.table.delete(ChangeBatch.key(partition=0, sequence=1))
    await graph.settle()
    assert seen == ["LIKE#u1"]
    assert "the batches 1 to 1 of partition 0 are gone; rebuild what it keeps" in caplog.text


async def test_a_server_that_stops_does_not_wait_long_for_its_positions(graph, monkeypatch):
    @processor(Like)
    async def watch(load, changes):
        return None

    await graph.table.put(a_like(1))
    flow = graph.services.changes
    assert await flow.outbox.move()
    (course,) = await flow.processing.courses(0)
    for batch in await flow.log.read(0, 0):
        await course.take([batch])
    transport, left = graph.table.transport, []
    call = transport.call

    async def watched(operation, request, usage):
        left.append(usage.seconds_left)
        return await call(operation, request, usage)

    monkeypatch.setattr(transport, "call", watched)
    await course.stop()
    (seconds,) = left
    assert seconds <= processing.TIME_TO_STOP
