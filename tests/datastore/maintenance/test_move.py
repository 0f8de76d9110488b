"""Moves of a table that is in use."""

import asyncio
import time
from contextlib import suppress
from dataclasses import replace

import orjson
import pytest

from datastore.changes.leases import Leases
from datastore.changes.log import ChangeLog
from datastore.changes.outbox import Outbox, OutboxSource
from datastore.changes.records import ChangeBatch, LogHead
from datastore.client.budget import Usage
from datastore.client.errors import WritesPaused
from datastore.client.table import Table
from datastore.client.transport import Transport
from datastore.client.writes import Delete, Put
from datastore.local.endpoint import LOCAL_REGION
from datastore.maintenance import move as moves
from datastore.maintenance import operations
from datastore.maintenance.changed_places import LEFT_OUT
from datastore.maintenance.move import CannotMove, Move, MoveOptions, release
from datastore.maintenance.operations import OperationWatch
from datastore.maintenance.raw_items import canonical
from datastore.maintenance.segments import MaintenanceScan, every_item
from datastore.model.entity import REGISTRY
from tests.datastore.library import entry
from tests.support.tables import CREDENTIALS

pytestmark = pytest.mark.usefixtures("library_registered")

ALONE = MoveOptions(segments=2, is_alone=True)


class Killed(Exception):
    """The process ends here."""


@pytest.fixture
def fast(monkeypatch):
    """Servers of these tests look often."""
    monkeypatch.setattr(operations, "LOOK_EVERY", 0.02)
    for module in (operations, moves):
        monkeypatch.setattr(module, "SEEN_WITHIN", 0.3)
    for name in ("QUIET_SECONDS", "QUIET_SECONDS_OF_A_STREAM", "REQUESTS_END_AFTER"):
        monkeypatch.setattr(moves, name, 0.3)
    monkeypatch.setattr(moves, "LOOK_EVERY", 0.02)


@pytest.fixture
async def target(tables, table):
    with tables.a_table() as name:
        yield Table(table.transport, name, Usage.lasting(120))


@pytest.fixture
async def server(endpoint, table):
    """A server at home with a connection of its own: it writes with an outbox, and moves that to the log."""
    transport = Transport(region=LOCAL_REGION, endpoint=endpoint, credentials=CREDENTIALS)
    outbox = Outbox()
    own = Table(transport, table.name, Usage.lasting(120), outbox)
    source = OutboxSource(own, outbox, Leases(own), ChangeLog(own))
    tasks = [asyncio.create_task(each.run()) for each in (OperationWatch(own), source)]
    yield own
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await transport.close()


async def stored(table):
    items = [item async for item in every_item(table)]
    return sorted(canonical(orjson.dumps(item)) for item in items if item["entityType"]["S"] not in LEFT_OUT)


async def fill(table, number=60):
    await table.batch_write(puts=[entry(index) for index in range(number)])


@pytest.mark.engine_contract
async def test_a_table_moves_to_the_byte(table, target):
    await fill(table)
    moved = await Move(table, target, "there", ALONE).run()
    assert (moved.copied, moved.compared, moved.repaired, moved.is_switched) == (60, 60, 0, False)
    assert await stored(target) == await stored(table)


async def test_a_target_with_items_is_refused(table, target):
    await target.put(entry(1))
    with pytest.raises(CannotMove, match="is not empty"):
        await Move(table, target, "there", ALONE).run()


async def test_nothing_is_lost_under_load(table, server, target, fast):
    """Writers go on until they are refused; what they were told is written is in the target."""
    await fill(table)
    unique = REGISTRY["Unique"]
    acknowledged = {}
    numbers = iter(range(1_000, 100_000))

    async def write():
        with suppress(WritesPaused):
            for number in numbers:
                record = entry(number % 40 + 1_000, reads=number)
                guard = unique(kind="email", value=f"{number % 50}@example.org", owner_id=str(number))
                now = server.using(Usage.lasting(60))
                await now.write(Put(record), Put(guard), Delete(entry(number % 60).own_key))
                acknowledged[record.own_key] = max(number, acknowledged.get(record.own_key, 0))

    writers = [asyncio.create_task(write()) for _ in range(3)]
    options = MoveOptions(segments=2, switch=True, compare_paused=True)
    moved = await Move(table, target, "there", options).run()
    await asyncio.gather(*writers)
    assert moved.is_switched
    assert moved.followed > 0
    assert len(acknowledged) == 40
    assert await stored(target) == await stored(table)
    found = {key: (await target.get(key)).reads for key in acknowledged}
    assert found == acknowledged
    # Processors of the target go on in the same log.
    heads = [(await each.get(LogHead.key(partition=0))).sequence for each in (table, target)]
    assert heads[0] == heads[1] > 0
    batches = await target.query(ChangeBatch.within(partition=0), limit=500)
    assert batches.records[-1].sequence == heads[1]


async def test_after_the_switch_the_source_refuses_writes_until_it_is_released(table, server, target, fast):
    await fill(table, 5)
    await Move(table, target, "there", MoveOptions(switch=True)).run()
    with pytest.raises(WritesPaused, match="read-only"):
        await server.put(entry(1))
    assert await release(table, "there", target.name) is True
    for _ in range(500):
        with suppress(WritesPaused):
            await server.put(entry(1, reads=3))
            break
        await asyncio.sleep(0.02)
    assert (await table.get(entry(1).own_key)).reads == 3
    assert await release(table, "there", target.name) is False


async def test_the_target_refuses_writes_until_the_switch(endpoint, table, target, monkeypatch):
    await fill(table, 5)
    watch = OperationWatch(target)
    copy = Move._copy

    async def looking(self):
        await watch.look()
        with pytest.raises(WritesPaused, match="is being filled"):
            await target.put(entry(9))
        target.transport.write_pause.reason = None
        await copy(self)

    monkeypatch.setattr(Move, "_copy", looking)
    await Move(table, target, "there", MoveOptions(is_alone=True, switch=True)).run()
    await watch.look()
    await target.put(entry(9))


@pytest.mark.parametrize("killed_after", [1, 4, 9])
async def test_an_interrupted_move_goes_on(table, server, target, fast, monkeypatch, killed_after):
    """Changes before, between and after both runs are in the target."""
    await fill(table)
    monkeypatch.setattr(moves, "SAVED_EVERY", 0.0)
    scan = MaintenanceScan.__init__

    def small_pages(self, *given, **other):
        scan(self, *given, **{**other, "page_items": 5})

    monkeypatch.setattr(MaintenanceScan, "__init__", small_pages)
    take, pages = Move._take, 0

    async def dying(self, page):
        nonlocal pages
        pages += 1
        number = pages
        await take(self, page)
        await server.put(entry(number, reads=100 + number))
        if number == killed_after:
            raise Killed

    monkeypatch.setattr(Move, "_take", dying)
    with pytest.raises(Killed):
        await Move(table, target, "there", MoveOptions(segments=2)).run()
    await server.write(Put(entry(30, reads=7)), Delete(entry(31).own_key))
    monkeypatch.setattr(Move, "_take", take)
    moved = await Move(table, target, "there", MoveOptions(segments=2, switch=True)).run()
    assert moved.copied < 60
    assert moved.repaired == 0
    assert await stored(target) == await stored(table)


async def test_an_item_that_differs_is_found_and_copied_again(table, target, monkeypatch):
    await fill(table)
    copy = Move._copy

    async def damaging(self):
        await copy(self)
        await target.put(entry(1, reads=99))
        await target.put(entry(500))
        await target.delete(entry(2).own_key)

    monkeypatch.setattr(Move, "_copy", damaging)
    moved = await Move(table, target, "there", ALONE).run()
    assert moved.repaired == 3
    assert await stored(target) == await stored(table)


async def test_a_move_that_was_switched_never_copies_again(table, target):
    """Servers write to the target by then: another copy would delete that."""
    await fill(table, 5)
    options = MoveOptions(switch=True, is_alone=True)
    await Move(table, target, "there", options).run()
    await target.write(Put(entry(1, reads=7)), Put(entry(90)), Delete(entry(2).own_key))
    expected = await stored(target)
    for again in (options, ALONE):
        with pytest.raises(CannotMove, match="this move has been switched"):
            await Move(table, target, "there", again).run()
        assert await stored(target) == expected


async def test_a_copy_that_took_more_than_a_day_is_not_trusted(table, target, monkeypatch):
    """Servers log bookkeeping, and the log keeps changes, for a day only."""
    await fill(table, 5)
    copy = Move._copy

    async def slow(self):
        await copy(self)
        self._operation.record = replace(self._operation.record, expires_at=int(time.time()))

    monkeypatch.setattr(Move, "_copy", slow)
    with pytest.raises(CannotMove, match="more than a day"):
        await Move(table, target, "there", MoveOptions(switch=True, is_alone=True)).run()


async def test_a_move_that_follows_changes_can_go_on_for_days(table, target, monkeypatch):
    await fill(table, 5)
    catch_up = Move._catch_up

    async def almost_over(self):
        self._operation.record = replace(self._operation.record, expires_at=int(time.time()) + 60)
        self._saved_at = 0.0
        await catch_up(self)

    monkeypatch.setattr(Move, "_catch_up", almost_over)
    await Move(table, target, "there", ALONE).run()
    (operation,) = await operations.operations_under_way(table)
    assert operation.expires_at > time.time() + operations.LASTS - 60


async def test_a_write_that_was_sent_before_the_pause_may_arrive_late(table, server, target, fast, monkeypatch):
    """It failed at first, and is repeated until the time of its request is over."""
    await fill(table, 5)
    monkeypatch.setattr(moves, "SEEN_WITHIN", 0.0)
    monkeypatch.setattr(moves, "QUIET_SECONDS", 0.0)
    follow, rounds = Move._follow, 0

    async def late(self):
        nonlocal rounds
        rounds += self._operation.record.pauses_until > 0
        if rounds == 2:
            rounds += 1
            await server.using(Usage.lasting(60)).transport.call("TransactWriteItems", request, Usage.lasting(60))
        return await follow(self)

    record = entry(77)
    outbox = server.recorder.record([Put(record)])
    items = [{"Put": {"TableName": table.name, **put.request()[1]}} for put in (Put(record), outbox)]
    request = {"TransactItems": items}
    monkeypatch.setattr(Move, "_follow", late)
    await Move(table, target, "there", MoveOptions(switch=True)).run()
    assert await target.get(record.own_key) == await table.get(record.own_key) is not None
