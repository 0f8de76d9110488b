"""The tail of the log: every process sees every batch once, in order."""

import asyncio
import time
from contextlib import asynccontextmanager
from datetime import timedelta

from datastore.changes import log as logs
from datastore.changes.log import ChangeLog
from datastore.changes.records import ChangeBatch
from datastore.changes.tail import CHANGES_KEPT, KEPT, Tail
from tests.datastore.test_log import a_change, damage


@asynccontextmanager
async def running(tail):
    task = asyncio.create_task(tail.run())
    await tail.position()
    yield
    task.cancel()
    await asyncio.wait([task])


def seen_by(tail: Tail) -> asyncio.Queue[int]:
    seen: asyncio.Queue[int] = asyncio.Queue()
    tail.listeners.append(lambda batch: seen.put_nowait(batch.sequence))
    return seen


async def first(number: int, seen: asyncio.Queue[int]) -> list[int]:
    async with asyncio.timeout(30):
        return [await seen.get() for _ in range(number)]


async def test_it_sees_what_two_processes_append(table):
    here, there = ChangeLog(table), ChangeLog(table)
    await here.append([a_change(0)])
    tail = Tail(here, 0)
    seen = seen_by(tail)
    async with running(tail):
        for number in range(1, 11):
            await (here if number % 3 else there).append([a_change(number)])
        assert await first(10, seen) == [*range(2, 12)]
    assert seen.empty()


async def test_a_reader_that_is_behind_gets_everything(table):
    log = ChangeLog(table)
    for number in range(30):
        await log.append([a_change(number)])
    tail, seen = Tail(log, 0), []
    async with running(tail):
        while len(seen) < 30:
            seen += [batch.sequence for batch in await tail.after(seen[-1] if seen else 0)]
        waiting = asyncio.create_task(tail.after(30))
        await log.append([a_change(30)])
        async with asyncio.timeout(30):
            assert [batch.sequence for batch in await waiting] == [31]
    assert seen == [*range(1, 31)]


async def test_readers_that_are_behind_share_their_reads(table):
    log = ChangeLog(table)
    for number in range(60):
        await log.append([a_change(number)])
    log._table.using = lambda _: table
    tail = Tail(log, 0)
    assert await tail.position() == 60
    before = table.usage.calls["Query"]

    async def follow():
        seen = []
        while len(seen) < 60:
            seen += [batch.sequence for batch in await tail.after(seen[-1] if seen else 0)]
        return seen

    canceled = asyncio.create_task(follow())
    following = [asyncio.create_task(follow()) for _ in range(10)]
    await asyncio.sleep(0)
    canceled.cancel()
    assert await asyncio.gather(*following) == [[*range(1, 61)]] * 10
    assert table.usage.calls["Query"] - before <= 4


async def test_it_keeps_a_bounded_number_of_batches(table):
    log = ChangeLog(table)
    tail = Tail(log, 0)
    await tail.position()
    for number in range(KEPT + 10):
        await log.append([a_change(number)])
    assert len(tail._kept) == KEPT
    assert [batch.sequence for batch in await tail.after(KEPT + 8)] == [KEPT + 9, KEPT + 10]
    assert (await tail.after(2))[0].sequence == 3


async def test_it_keeps_a_bounded_number_of_changes(table):
    log = ChangeLog(table)
    tail = Tail(log, 0)
    await tail.position()
    for _ in range(30):
        await log.append([a_change(number) for number in range(300)])
    assert sum(len(batch.changes) for batch in tail._kept) <= CHANGES_KEPT
    assert tail._kept[-1].sequence == 30
    assert (await tail.after(2))[0].sequence == 3


async def test_it_reports_what_expired_unread(table, caplog, monkeypatch):
    monkeypatch.setattr(logs, "GAPS_CLOSE", timedelta())
    log = ChangeLog(table)
    tail = Tail(ChangeLog(table), 0)
    seen = seen_by(tail)
    assert await tail.position() == 0
    for number in range(3):
        await log.append([a_change(number)])
    await table.delete(ChangeBatch.key(partition=0, sequence=1))
    async with running(tail):
        assert await first(2, seen) == [2, 3]
    assert "the changes 1 to 1 expired unread" in caplog.text


async def test_it_knows_when_it_has_seen_the_end(table, monkeypatch):
    monkeypatch.setattr(logs, "CHANGES_READ", 1)
    here, there = ChangeLog(table), ChangeLog(table)
    await here.append([a_change(0)])
    tail = Tail(here, 0)
    assert (await tail.look(), tail.seen_at < time.monotonic()) == (False, True)
    seen_at = tail.seen_at

    for number in range(2):
        await there.append([a_change(number)])
    assert (await tail.look(), tail.seen_at) == (True, seen_at)
    assert (await tail.look(), tail.seen_at) == (True, seen_at)
    assert await tail.look() is False
    assert tail.seen_at > seen_at


async def test_a_batch_of_a_newer_server_is_not_the_end(table):
    log = ChangeLog(table)
    tail = Tail(log, 0)
    await tail.look()
    seen_at = tail.seen_at
    await ChangeLog(table).append([a_change(0)])
    await damage(table, 1, schemaVersion={"N": "99"})

    assert (await tail.look(), tail.seen_at) == (False, seen_at)
