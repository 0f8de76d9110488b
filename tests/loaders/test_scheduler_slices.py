"""Large levels run in slices: the event loop runs in between, and they are still read for together."""

import asyncio

import pytest

from datastore.accounts import User
from datastore.client import turns
from datastore.model.keys import Key
from loaders.consumer import Consumer
from loaders.needs import Items, Once, Together, needed
from loaders.request import Loaders
from tests.support.graph import Graph

STEPS = 300


@pytest.fixture
def load(graph: Graph) -> Loaders:
    return graph.context().load


@pytest.fixture(autouse=True)
def short_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "SLICE_SECONDS", 0.0)


class Ticks:
    """Counts the iterations of the event loop while a step runs."""

    def __init__(self) -> None:
        self.count = 0

    async def during(self, running):
        task = asyncio.ensure_future(running)
        while not task.done():
            self.count += 1
            await asyncio.sleep(0)
        return await task


def missing(number: int) -> Key[User]:
    return User.key(user_id=f"nobody{number}")


async def test_many_steps_leave_the_loop_to_others_and_share_their_reads(load):
    def each(number):
        (found,) = yield Items([missing(number)])
        return number if found is None else None

    def all_of_them():
        return (yield Together([each(number) for number in range(STEPS)]))

    ticks = Ticks()
    found = await ticks.during(load.run(all_of_them()))

    assert found == [*range(STEPS)]
    assert ticks.count > STEPS  # a slice has no time here, so each step has a turn of its own
    assert load.table.usage.calls == {"BatchGetItem": STEPS // 100}


async def test_steps_that_wait_for_one_result_resume_in_slices(load):
    name, asked = ("shared",), []

    def shared():
        asked.append(1)
        return (yield from needed(Items([missing(0)])))

    def each(number):
        (found,) = yield Once(name, shared)
        return number, found

    def all_of_them():
        return (yield Together([each(number) for number in range(STEPS)]))

    ticks = Ticks()
    found = await ticks.during(load.run(all_of_them()))

    assert found == [(number, None) for number in range(STEPS)]
    assert asked == [1]
    assert ticks.count > 2 * STEPS


async def test_a_cancelled_request_starts_no_further_steps(load):
    started = []

    def each(number):
        started.append(number)
        return (yield from needed(Items([missing(number)])))

    def all_of_them():
        return (yield Together([each(number) for number in range(STEPS)]))

    running = asyncio.ensure_future(load.run(all_of_them()))
    for _ in range(5):
        await asyncio.sleep(0)
    running.cancel()
    await asyncio.wait([running])
    begun = len(started)
    for _ in range(STEPS):
        await asyncio.sleep(0)

    assert 0 < len(started) == begun < STEPS
    assert load.table.usage.calls == {}


async def test_requests_take_turns(graph: Graph):
    order = []

    def each(name):
        order.append(name)
        return name
        yield

    def all_of_them(name):
        return (yield Together([each(name) for _ in range(STEPS)]))

    await asyncio.gather(*(graph.context().load.run(all_of_them(name)) for name in ("one", "other")))

    assert len(order) == 2 * STEPS
    assert order[2:10] == ["one", "other"] * 4


async def test_a_step_of_many_started_for_a_consumer_is_waited_for(load):
    results: list[int] = []
    consumer = Consumer()

    def each(number):
        return number
        yield

    load.scheduler.start_all([(each(number), results.append) for number in range(STEPS)], consumer)
    await consumer.finish()

    assert results == [*range(STEPS)]
