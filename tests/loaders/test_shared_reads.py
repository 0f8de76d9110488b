"""Reads of several requests: in common calls, joined, charged in shares, and isolated from each other's faults."""

import asyncio
import json

import pytest

from datastore.accounts import User
from datastore.client.budget import Usage
from datastore.client.errors import Denied, Throttled, Unavailable
from datastore.client.table import RangeRead
from datastore.client.writes import Update
from loaders.needs import Items, Pages, needed
from loaders.request import Loaders
from loaders.viewer import ANONYMOUS
from tests.loaders.test_scheduler import Gate
from tests.support.fault_proxy import Answer, Call, FaultProxy, denied, throttled
from tests.support.graph import Graph

EVERYONE = RangeRead(User.by_time(), 10)


@pytest.fixture
def crowd(faulty_graph: Graph) -> list[Loaders]:
    """The loaders of several requests to one process."""
    return [faulty_graph.context().load for _ in range(5)]


async def people(graph: Graph, count: int) -> list[User]:
    return [await graph.add_user(f"user{number}") for number in range(count)]


def with_little_time(graph: Graph, seconds: float) -> Loaders:
    return Loaders(graph.table.using(Usage.lasting(seconds)), ANONYMOUS, shared=graph.services.shared_reads)


def calls_of(loads: list[Loaders]) -> list[dict[str, int]]:
    return [dict(load.table.usage.calls) for load in loads]


async def busy(load: Loaders, proxy: FaultProxy) -> tuple[asyncio.Future, Gate]:
    """A read that stays under way, so that no other request is alone."""
    gate = Gate()
    proxy.will("GetItem", gate, times=1)
    reading = asyncio.ensure_future(load.stored(User.key(user_id="somebody else")))
    await gate.reached.wait()
    return reading, gate


async def test_a_request_alone_is_sent_at_once(graph, crowd, proxy):
    (ada,) = await people(graph, 1)

    assert [await load.stored(ada.own_key) for load in crowd] == [ada] * 5
    assert calls_of(crowd) == [{"GetItem": 1}] * 5
    assert [load.table.usage.read_units for load in crowd] == [0.5] * 5
    assert not any(load.table.usage.saved for load in crowd)


async def test_items_of_one_turn_are_one_call(graph, crowd, proxy):
    users = await people(graph, 4)
    other, gate = await busy(crowd[4], proxy)

    found = await asyncio.gather(*(load.stored(user.own_key) for load, user in zip(crowd, users, strict=False)))
    gate.opened.set()
    await other

    assert found == users
    assert calls_of(crowd) == [{"BatchGetItem": 1}] * 4 + [{"GetItem": 1}]
    assert proxy.seen["BatchGetItem"] == 1


async def test_a_read_under_way_is_joined_by_other_requests(graph, crowd, proxy):
    (ada,) = await people(graph, 1)
    gate = Gate()
    proxy.will("GetItem", gate, times=1)
    proxy.will("Query", gate, times=1)
    first = asyncio.ensure_future(asyncio.gather(crowd[0].stored(ada.own_key), crowd[0].run(needed(Pages([EVERYONE])))))
    await gate.reached.wait()
    joining = [asyncio.ensure_future(load.run(needed(Pages([EVERYONE])))) for load in crowd[1:4]]
    # The others have joined when another read that came later is answered.
    await crowd[4].run(needed(Pages([RangeRead(User.by_time(), 3)])))
    gate.opened.set()

    _, page = await first
    assert page[0].records == [ada]
    assert [(await each)[0] is page[0] for each in joining] == [True] * 3
    assert calls_of(crowd[1:]) == [{"Query": 1}] * 4
    assert proxy.seen["Query"] == 2


async def test_capacity_and_calls_are_charged_in_shares(graph, crowd, proxy):
    users = await people(graph, 4)
    other, gate = await busy(crowd[4], proxy)
    three, one = crowd[:2]

    await asyncio.gather(three.run(needed(Items([user.own_key for user in users[:3]]))), one.stored(users[3].own_key))
    gate.opened.set()
    await other

    assert (three.table.usage.read_units, one.table.usage.read_units) == (1.5, 0.5)
    assert (three.table.usage.saved, one.table.usage.saved) == ({"BatchGetItem": 0.25}, {"BatchGetItem": 0.75})


async def test_a_read_that_was_sent_before_a_write_is_not_joined(graph, crowd, proxy):
    (ada,) = await people(graph, 1)
    gate = Gate()
    proxy.will("GetItem", gate, times=1)
    before = asyncio.ensure_future(crowd[0].stored(ada.own_key))
    await gate.reached.wait()

    await crowd[1].write(Update(ada.own_key, set={"bio": "Written in between."}))
    after = await crowd[2].stored(ada.own_key)
    gate.opened.set()

    assert after.bio == "Written in between."
    assert (await before).bio is None


async def test_the_writer_reads_on_its_own(graph, crowd, proxy):
    (ada,) = await people(graph, 1)
    await crowd[0].write(Update(ada.own_key, set={"bio": "Written."}))
    gate = Gate()
    proxy.will("GetItem", gate, times=1)
    other = asyncio.ensure_future(crowd[1].stored(ada.own_key))
    await gate.reached.wait()

    assert (await crowd[0].stored(ada.own_key)).bio == "Written."
    gate.opened.set()
    await other
    assert crowd[0].table.usage.calls["GetItem"] == 1


async def test_a_request_that_is_cancelled_takes_nothing_away(graph, crowd, proxy):
    (ada,) = await people(graph, 1)
    gate = Gate()
    proxy.will("GetItem", gate, times=1)
    first = asyncio.ensure_future(crowd[0].stored(ada.own_key))
    await gate.reached.wait()
    second = asyncio.ensure_future(crowd[1].stored(ada.own_key))
    await crowd[2].stored(User.key(user_id="somebody else"))

    first.cancel()
    gate.opened.set()

    assert await second == ada
    assert proxy.seen["GetItem"] == 2


async def test_a_request_leaves_at_its_deadline_and_the_read_goes_on(graph, faulty_graph, crowd, proxy):
    (ada,) = await people(graph, 1)
    gate = Gate()
    proxy.will("GetItem", gate, times=1)
    patient = asyncio.ensure_future(crowd[0].stored(ada.own_key))
    await gate.reached.wait()
    hurried = with_little_time(faulty_graph, 0.1)

    with pytest.raises(Unavailable, match="by the deadline"):
        await hurried.stored(ada.own_key)
    gate.opened.set()
    assert await patient == ada


async def test_a_request_with_time_left_reads_again_what_another_gave_up(graph, faulty_graph, crowd, proxy):
    (ada,) = await people(graph, 1)
    gate = Gate()
    proxy.will("GetItem", gate, times=1)
    hurried = with_little_time(faulty_graph, 0.3)
    first = asyncio.ensure_future(hurried.stored(ada.own_key))
    await gate.reached.wait()

    assert await crowd[0].stored(ada.own_key) == ada
    with pytest.raises(Unavailable):
        await first
    gate.opened.set()


async def test_a_call_that_is_refused_fails_only_who_asked_for_the_bad_key(graph, crowd, proxy):
    users = await people(graph, 2)
    other, gate = await busy(crowd[4], proxy)
    proxy.will("BatchGetItem", denied, times=1)
    bad = User.key(user_id="bad")

    async def refuses_the_bad_key(call: Call) -> Answer:
        if call.request["Key"]["PK"]["S"] == bad.pk:
            return await denied(call)
        return Answer.of(*await call.forward())

    proxy.will("GetItem", refuses_the_bad_key, times=3)
    found = await asyncio.gather(
        crowd[0].stored(users[0].own_key),
        crowd[1].stored(bad),
        crowd[2].stored(users[1].own_key),
        return_exceptions=True,
    )
    gate.opened.set()
    await other

    assert [found[0], found[2]] == users
    assert isinstance(found[1], Denied)


async def test_throttled_keys_delay_only_who_asked_for_them(graph, crowd, proxy):
    users = await people(graph, 2)
    other, gate = await busy(crowd[4], proxy)
    hot = users[0].own_key
    cooled = asyncio.Event()

    async def leaves_out_the_hot_key(call: Call) -> Answer:
        ((name, asked),) = call.request["RequestItems"].items()
        rest = [key for key in asked["Keys"] if key["PK"]["S"] != hot.pk]
        status, body = await call.forward({"RequestItems": {name: {**asked, "Keys": rest}}})
        answer = json.loads(body)
        answer["UnprocessedKeys"] = {name: {**asked, "Keys": [{"PK": {"S": hot.pk}, "SK": {"S": hot.sk}}]}}
        return Answer.of(status, json.dumps(answer).encode())

    async def waits(call: Call) -> Answer:
        await cooled.wait()
        return Answer.of(*await call.forward())

    proxy.will("BatchGetItem", leaves_out_the_hot_key, times=1)
    proxy.will("BatchGetItem", waits, times=1)
    delayed = asyncio.ensure_future(crowd[0].stored(hot))
    assert await crowd[1].stored(users[1].own_key) == users[1]
    assert not delayed.done()
    cooled.set()
    gate.opened.set()

    assert await delayed == users[0]
    await other


async def test_a_batch_that_fails_fails_those_who_asked(graph, faulty_graph, crowd, proxy):
    users = await people(graph, 2)
    hurried = [with_little_time(faulty_graph, 0.3) for _ in users]
    other, gate = await busy(crowd[4], proxy)
    proxy.will("BatchGetItem", throttled)

    found = await asyncio.gather(
        *(load.stored(user.own_key) for load, user in zip(hurried, users, strict=True)), return_exceptions=True
    )
    proxy.recover()
    gate.opened.set()
    await other

    assert [type(error) for error in found] == [Throttled, Throttled]
    assert await crowd[2].stored(users[0].own_key) == users[0]
