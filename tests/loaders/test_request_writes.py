"""Writes of one request: the record that rides along, and whether anything may have been applied."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from datastore.accounts import Unique, User
from datastore.client.budget import Usage
from datastore.client.errors import Conflict, Retryable
from datastore.client.writes import Put, Update, absent, exists
from loaders.request import Loaders, Repeated
from tests.support.fault_proxy import Answer, Call, FaultProxy, cut_after, hang, throttled
from tests.support.graph import Graph

RECORD = Unique(kind="key", value="1", owner_id="first")


def rider(_: object) -> Put:
    return Put(RECORD, when=absent())


def bio(user: User, text: str) -> Update:
    return Update(user.own_key, set={"bio": text}, when=exists())


async def test_the_rider_is_part_of_the_first_transaction_that_is_applied(graph: Graph):
    ada = await graph.add_user("ada")
    load = graph.context().load
    load.rider = rider

    with pytest.raises(Conflict):
        await load.write(Put(ada, when=absent()))
    left_out = await graph.table.get(RECORD.own_key, consistent=True)
    await load.write_part(bio(ada, "one"))
    await load.write_aside(bio(ada, "two"))
    left_out_again = await graph.table.get(RECORD.own_key, consistent=True)
    await load.write(bio(ada, "three"))
    await load.write(bio(ada, "four"))

    assert (left_out, left_out_again) == (None, None)
    assert await graph.table.get(RECORD.own_key, consistent=True) == RECORD
    assert load.table.usage.calls == {"TransactWriteItems": 5}


async def test_a_write_whose_rider_is_there_already_changes_nothing_and_is_no_conflict(graph: Graph):
    ada, bob = await graph.add_user("ada"), await graph.add_user("bob")
    await graph.table.put(RECORD)
    load = graph.context().load
    load.rider = rider

    with pytest.raises(Repeated):
        await load.write(bio(ada, "changed"), Put(bob, when=absent()))

    assert await graph.table.get(ada.own_key, consistent=True) == ada
    assert not load.may_have_applied


WRITES: dict[str, Callable[[Loaders, Update], Awaitable[None]]] = {
    "write": lambda load, write: load.write(write),
    "write_part": lambda load, write: load.write_part(write),
    "write_aside": lambda load, write: load.write_aside(write),
}


@pytest.mark.parametrize(("way", "expected"), [("write", True), ("write_part", True), ("write_aside", False)])
async def test_an_acknowledged_write_was_applied(graph: Graph, way: str, expected: bool):
    ada = await graph.add_user("ada")
    load = graph.context().load

    await WRITES[way](load, bio(ada, "changed"))

    assert load.may_have_applied is expected


async def test_a_failed_condition_and_a_throttled_write_changed_nothing(
    graph: Graph, faulty_graph: Graph, proxy: FaultProxy
):
    ada = await graph.add_user("ada")
    load = faulty_graph.context().load
    load.table = load.table.using(Usage.lasting(0.2))
    proxy.will("TransactWriteItems", throttled)

    with pytest.raises(Retryable):
        await load.write(bio(ada, "changed"))
    proxy.recover()
    load.table = load.table.using(Usage.lasting(30))
    with pytest.raises(Conflict):
        await load.write(Put(ada, when=absent()))

    assert not load.may_have_applied


async def test_a_write_whose_answer_is_lost_may_have_been_applied(graph: Graph, faulty_graph: Graph, proxy: FaultProxy):
    ada = await graph.add_user("ada")
    load = faulty_graph.context().load
    load.table = load.table.using(Usage.lasting(0.2))
    proxy.will("TransactWriteItems", cut_after)

    with pytest.raises(Retryable):
        await load.write(bio(ada, "changed"))

    assert load.may_have_applied


async def test_a_cancelled_write_may_have_been_applied(graph: Graph, faulty_graph: Graph, proxy: FaultProxy):
    ada = await graph.add_user("ada")
    load = faulty_graph.context().load
    arrived = asyncio.Event()

    async def arrive(call: Call) -> Answer:
        arrived.set()
        return await hang(call)

    proxy.will("TransactWriteItems", arrive)

    writing = asyncio.create_task(load.write(bio(ada, "changed")))
    await arrived.wait()
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing

    assert load.may_have_applied
