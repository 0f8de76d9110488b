"""Steps of one request: read for together, joined, and isolated from each other's failures."""

import asyncio

import pytest

from datastore.accounts import User
from datastore.client.budget import Usage
from datastore.client.errors import Denied
from datastore.client.table import RangeRead
from datastore.client.writes import Update, exists
from loaders.consumer import Consumer
from loaders.needs import Items, Latest, Once, Pages, Together, needed
from loaders.request import Loaders
from tests.support.fault_proxy import Answer, Call, FaultProxy, denied, nothing_wrong
from tests.support.graph import Graph

EVERYONE = RangeRead(User.by_time(), 10)


class Gate:
    """Holds calls back until it is opened; `reached` is set when one has arrived."""

    def __init__(self) -> None:
        self.reached, self.opened = asyncio.Event(), asyncio.Event()

    async def __call__(self, call: Call) -> Answer:
        answer = await nothing_wrong(call)
        self.reached.set()
        await self.opened.wait()
        return answer


@pytest.fixture
def load(faulty_graph: Graph) -> Loaders:
    return faulty_graph.context().load


async def test_items_wait_for_pages_and_go_with_those_of_the_pages(graph, load):
    ada, bob = await graph.add_user("ada"), await graph.add_user("bob")

    def by_page():
        (page,) = yield Pages([EVERYONE])
        return (yield Latest([page.records[0].own_key]))

    def of_page():
        (page,) = yield Pages([EVERYONE])
        return (yield Items([User.key(user_id=f"not {user.user_id}") for user in page.records]))

    found = await asyncio.gather(
        load.run(needed(Items([User.key(user_id="nobody")]))), load.run(of_page()), load.run(by_page())
    )

    assert found[:2] == [[None], [None, None]]
    assert found[2][0] in (ada, bob)
    assert load.table.usage.calls == {"Query": 1, "BatchGetItem": 1, "GetItem": 1}


async def test_items_are_read_as_soon_as_the_pages_are_there(graph, load):
    ada = await graph.add_user("ada")
    patient = Loaders(load.table.using(Usage.lasting(86_400)), load.viewer)

    async with asyncio.timeout(60):  # where they would wait for half a day
        found, page = await asyncio.gather(
            patient.stored(User.key(user_id="nobody")), patient.run(needed(Pages([EVERYONE])))
        )

    assert found is None
    assert [each.records for each in page] == [[ada]]
    assert patient.table.usage.calls == {"Query": 1, "GetItem": 1}


async def test_a_read_under_way_is_joined(graph, load, proxy: FaultProxy):
    ada = await graph.add_user("ada")
    gate, next_gate = Gate(), Gate()
    proxy.will("GetItem", gate, times=1)
    proxy.will("GetItem", next_gate, times=1)
    first = asyncio.ensure_future(load.stored(ada.own_key))
    await gate.reached.wait()

    second = asyncio.ensure_future(load.run(needed(Items([ada.own_key, User.key(user_id="nobody")]))))
    await next_gate.reached.wait()
    gate.opened.set()
    next_gate.opened.set()

    assert await first == ada
    assert await second == [ada, None]
    assert load.table.usage.calls == {"GetItem": 2}


async def test_a_cancelled_consumer_takes_no_read_away(graph, load, proxy: FaultProxy):
    ada = await graph.add_user("ada")
    gate = Gate()
    proxy.will("GetItem", gate, times=1)
    first = asyncio.ensure_future(load.stored(ada.own_key))
    await gate.reached.wait()
    second = asyncio.ensure_future(load.stored(ada.own_key))

    first.cancel()
    gate.opened.set()

    assert await second == ada
    assert first.cancelled()
    assert load.table.usage.calls == {"GetItem": 1}


async def test_nothing_more_is_read_for_a_cancelled_consumer(graph, load, proxy: FaultProxy):
    ada = await graph.add_user("ada")
    gate = Gate()
    proxy.will("GetItem", gate, times=1)

    def two_levels():
        yield Items([ada.own_key])
        yield Items([User.key(user_id="never read")])

    first = asyncio.ensure_future(load.run(two_levels()))
    await gate.reached.wait()
    first.cancel()
    gate.opened.set()

    assert await load.stored(ada.own_key) == ada
    assert load.table.usage.calls == {"GetItem": 1}


async def test_a_step_that_fails_leaves_the_other_steps_of_its_consumer_alone(graph, load, proxy: FaultProxy):
    ada = await graph.add_user("ada")
    proxy.will("Query", denied)
    consumer, results = Consumer(), []

    def buggy():
        yield Items([ada.own_key])
        raise LookupError

    load.scheduler.start(needed(Pages([EVERYONE])), results.append, consumer)
    load.scheduler.start(buggy(), results.append, consumer)
    load.scheduler.start(needed(Items([ada.own_key])), results.append, consumer)
    await consumer.finish()

    assert results == [[ada]]
    assert [type(error) for error in consumer.errors] == [Denied, LookupError]


async def test_the_error_of_a_step_can_be_its_result(graph, load, proxy: FaultProxy):
    ada = await graph.add_user("ada")
    proxy.will("Query", denied)

    def two_fail():
        yield Together([needed(Pages([EVERYONE])), needed(Pages([EVERYONE]))])

    def buggy():
        raise LookupError
        yield

    steps = [two_fail(), needed(Items([ada.own_key])), buggy()]
    refused, found, failed = await load.run(needed(Together(steps, or_error=True)))

    assert (type(refused), found, type(failed)) == (Denied, [ada], LookupError)


async def test_what_could_not_be_read_is_not_read_again_for_a_consumer_that_keeps_failures(load, proxy: FaultProxy):
    proxy.will("Query", denied, times=1)
    consumer, errors = Consumer(failed_reads={}), []

    def retry(error: Exception) -> None:
        errors.append(error)
        load.scheduler.start(needed(Pages([EVERYONE])), errors.append, consumer, errors.append)

    load.scheduler.start(needed(Pages([EVERYONE])), errors.append, consumer, retry)
    await consumer.finish()

    assert [type(error) for error in errors] == [Denied, Denied]
    assert load.table.usage.calls == {"Query": 1}
    assert (await load.page(EVERYONE.within, 10)).records == []


async def test_a_read_that_predates_a_write_is_not_kept(graph, load, proxy: FaultProxy):
    ada = await graph.add_user("ada")
    item, page = Gate(), Gate()
    proxy.will("GetItem", item, times=1)
    proxy.will("Query", page, times=1)
    reading = asyncio.ensure_future(load.stored(ada.own_key))
    await item.reached.wait()
    listing = asyncio.ensure_future(load.page(User.by_time(), 10))
    await page.reached.wait()

    await load.write(Update(ada.own_key, set={"bio": "New."}, when=exists()))
    item.opened.set()
    page.opened.set()

    assert (await reading).bio == "New."  # read again: this key was written
    assert [user.bio for user in (await listing).records] == [None]  # asked for before the write
    assert (await load.stored(ada.own_key)).bio == "New."
    assert [user.bio for user in (await load.page(User.by_time(), 10)).records] == ["New."]


async def test_fresh_reads_replace_what_was_kept(graph, load):
    ada = await graph.add_user("ada")
    await load.stored(ada.own_key)
    await graph.table.update(Update(ada.own_key, set={"bio": "New."}))

    assert (await load.stored(ada.own_key)).bio is None
    assert [user.bio for user in await load.fresh(ada.own_key)] == ["New."]
    assert (await load.stored(ada.own_key)).bio == "New."
    assert load.table.usage.calls == {"GetItem": 2}


async def test_a_step_that_runs_once_serves_everyone_even_if_the_first_is_cancelled(graph, load, proxy: FaultProxy):
    ada = await graph.add_user("ada")
    gate = Gate()
    proxy.will("GetItem", gate, times=1)
    runs = []

    def step():
        runs.append(1)
        (user,) = yield Items([ada.own_key])
        return user

    first = asyncio.ensure_future(load.run(needed(Once("ada", step))))
    await gate.reached.wait()
    both = needed(Together([needed(Once("ada", step)) for _ in range(2)]))
    second = asyncio.ensure_future(load.run(both))
    first.cancel()
    gate.opened.set()

    assert await second == [ada, ada]
    assert await load.run(needed(Once("ada", step))) == ada
    assert runs == [1]


async def test_a_step_that_runs_once_and_fails_fails_everyone_and_may_be_tried_again(graph, load, proxy: FaultProxy):
    ada = await graph.add_user("ada")
    proxy.will("GetItem", denied, times=1)

    def step():
        (user,) = yield Items([ada.own_key])
        return user

    asked = [load.run(needed(Once("ada", step))) for _ in range(2)]
    failed = await asyncio.gather(*asked, return_exceptions=True)

    assert [type(error) for error in failed] == [Denied, Denied]
    assert await load.run(needed(Once("ada", step))) == ada
