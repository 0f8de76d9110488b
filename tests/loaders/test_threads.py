"""Computations beside the event loop: bounded in number, ended with their request, and closed with the server."""

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from datastore.client.budget import Usage
from loaders.needs import Computed, Together, computed
from loaders.request import Loaders
from loaders.threads import Abandoned, Busy, Lane, check_time
from tests.support.graph import Graph

LONG = 60.0


class Held:
    """A computation that goes on when the test opens it."""

    def __init__(self) -> None:
        self.begun, self.opened, self.ended = threading.Event(), threading.Event(), threading.Event()

    def __call__(self) -> str:
        self.begun.set()
        try:
            while not self.opened.wait(0.001):
                check_time()
            return threading.current_thread().name
        finally:
            self.ended.set()

    async def has(self, event: threading.Event) -> None:
        assert await asyncio.to_thread(event.wait, LONG)


@pytest_asyncio.fixture
async def lane() -> AsyncIterator[Lane]:
    lane = Lane("tests", threads=2, waiting=1)
    yield lane
    lane.close()


def begin(lane: Lane, held: Held, seconds: float = LONG) -> "asyncio.Task[str]":
    return asyncio.create_task(lane.run(held, seconds=seconds))


async def test_the_event_loop_runs_beside_a_computation(lane):
    held = Held()
    running = begin(lane, held)
    await held.has(held.begun)  # the loop runs here, and the computation does not end before it is opened

    assert not running.done()
    held.opened.set()
    assert (await running).startswith("tests")


async def test_a_lane_runs_few_at_a_time_lets_few_wait_and_refuses_the_rest(lane):
    first, second, third, fourth = (Held() for _ in range(4))
    running = [begin(lane, first), begin(lane, second), begin(lane, third)]
    await first.has(first.begun)
    await second.has(second.begun)

    with pytest.raises(Busy, match="busy with other tests"):
        await lane.run(fourth, seconds=LONG)

    assert not third.begun.is_set()
    first.opened.set()
    await third.has(third.begun)
    for held in (second, third):
        held.opened.set()
    assert len(await asyncio.gather(*running)) == 3
    assert not fourth.begun.is_set()


async def test_a_deadline_ends_the_work_and_frees_its_place(lane):
    late = [Held(), Held()]

    results = await asyncio.gather(*(lane.run(held, seconds=0.01) for held in late), return_exceptions=True)

    assert [type(result) for result in results] == [Busy, Busy]
    for held in late:
        await held.has(held.ended)
    assert await lane.run(lambda: "next", seconds=LONG) == "next"


async def test_work_whose_request_is_over_does_not_begin(lane):
    blocking, waiting = [Held(), Held()], Held()
    running = [begin(lane, held) for held in blocking]
    queued = begin(lane, waiting)
    await blocking[0].has(blocking[0].begun)
    await blocking[1].has(blocking[1].begun)

    queued.cancel()
    await asyncio.wait([queued])
    for held in blocking:
        held.opened.set()
    await asyncio.gather(*running)

    assert await lane.run(lambda: "after it", seconds=LONG) == "after it"
    assert not waiting.begun.is_set()


async def test_the_error_of_a_computation_is_its_own(lane):
    def failing() -> None:
        raise LookupError("nothing found")

    with pytest.raises(LookupError, match="nothing found"):
        await lane.run(failing, seconds=LONG)


async def test_closing_ends_what_runs_and_the_lane_opens_again(lane):
    held = Held()
    running = begin(lane, held)
    await held.has(held.begun)

    lane.close()

    with pytest.raises(Abandoned):
        await running
    assert await lane.run(lambda: "again", seconds=LONG) == "again"


def test_checking_the_time_does_nothing_outside_of_a_lane():
    check_time()


async def test_steps_compute_in_a_lane_and_fail_alone(graph: Graph, lane):
    load = graph.context().load

    def fails():
        return (yield Computed(lane, lambda: 1 // 0))

    def both():
        return (yield Together([computed(lane, 1_000, threading.get_ident), computed(lane, 1, threading.get_ident)]))

    failed, (apart, at_once) = await asyncio.gather(load.run(fails()), load.run(both()), return_exceptions=True)

    assert isinstance(failed, ZeroDivisionError)
    assert apart != at_once == threading.get_ident()


async def test_a_step_out_of_time_fails(graph: Graph, lane):
    held = Held()
    load = Loaders(graph.table.using(Usage.lasting(0.01)), graph.context().viewer)

    def waits():
        return (yield Computed(lane, held))

    with pytest.raises(Busy, match="not enough time"):
        await load.run(waits())
    await held.has(held.ended)
