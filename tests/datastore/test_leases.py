"""Leases: one process at a time, and soon another one after a death."""

import asyncio

import pytest

from datastore.changes.leases import LASTS, RENEWED_EVERY, LeaseLost, Leases
from datastore.changes.records import Lease
from datastore.client.errors import Conflict
from datastore.client.writes import Put


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def leases(table, clock) -> Leases:
    return Leases(table, clock)


async def test_one_of_many_gets_it(leases):
    taken = await asyncio.gather(*(leases.take("work") for _ in range(10)))
    assert sum(held is not None for held in taken) == 1
    assert await leases.take("other work") is not None


async def test_it_is_free_after_its_time_unless_it_is_renewed(leases, clock):
    held = await leases.take("work")
    clock.now += LASTS - 1
    await held.renew()
    clock.now += LASTS - 1
    assert await leases.take("work") is None
    clock.now += 2
    assert await leases.take("work") is not None


async def test_a_dead_holder_whose_clock_was_ahead_keeps_it_no_longer(table, clock):
    ahead = Clock()
    ahead.now += 3_600
    held, here = await Leases(table, ahead).take("work"), Leases(table, clock)
    for _ in range(4):
        assert await here.take("work") is None
        clock.now += RENEWED_EVERY
        ahead.now += RENEWED_EVERY
        await held.renew()
    assert await here.take("work") is None
    clock.now += LASTS
    assert await here.take("work") is None
    clock.now += 1
    assert await here.take("work") is not None
    with pytest.raises(LeaseLost):
        await held.renew()


async def test_a_released_one_is_free_at_once(leases):
    held = await leases.take("work")
    await held.release()
    assert await leases.take("work") is not None


async def test_who_lost_it_cannot_renew_it_nor_write_with_it(leases, clock, table):
    held = await leases.take("work")
    clock.now += LASTS + 1
    other = await leases.take("work")
    with pytest.raises(LeaseLost):
        await held.renew()
    for write in (held.still_mine(), held.still_mine(position="9")):
        with pytest.raises(Conflict):
            await table.transact(write)
    await held.release()
    assert await leases.take("work") is None
    await table.transact(other.still_mine(position="7"), Put(Lease(name="something else")))
    assert (await table.get(Lease.key(name="work"))).position == "7"


async def test_one_that_was_not_renewed_in_time_is_lost_even_if_no_one_took_it(leases, clock):
    held = await leases.take("work")
    clock.now += LASTS
    with pytest.raises(LeaseLost):
        await held.renew()


async def test_the_next_holder_knows_the_position(leases, table):
    held = await leases.take("work")
    assert held.position is None
    await table.transact(held.still_mine(position="12"))
    await held.release()
    assert (await leases.take("work")).position == "12"


async def test_taking_it_is_one_read_and_one_write_and_none_if_it_is_taken(leases, table):
    await leases.take("work")
    calls: list[str] = []
    call = table.transport.call

    async def counted(operation, *given, **named):
        calls.append(operation)
        return await call(operation, *given, **named)

    table.transport.call = counted
    assert await leases.take("work") is None
    assert calls == ["GetItem"]
    assert await leases.take("other") is not None
    assert calls == ["GetItem", "GetItem", "TransactWriteItems"]


async def test_a_position_that_is_stored_while_it_is_taken_is_not_missed(leases, clock, table, monkeypatch):
    late = await leases.take("work")
    clock.now += LASTS + 1
    call = table.transport.call

    async def interrupted(operation, *given, **named):
        answer = await call(operation, *given, **named)
        if operation == "GetItem":
            await table.transact(late.still_mine(position="9"))
        return answer

    with monkeypatch.context() as patch:
        patch.setattr(table.transport, "call", interrupted)
        assert await leases.take("work") is None
    assert (await leases.take("work")).position == "9"


async def test_the_lease_of_finished_work_can_expire(leases, table):
    held = await leases.take("work")
    await table.transact(held.still_mine(position="END", expires_at=2_000_000))
    stored = await table.get(Lease.key(name="work"))
    assert (stored.position, stored.expires_at) == ("END", 2_000_000)
