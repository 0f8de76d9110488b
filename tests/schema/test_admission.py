"""Admission control: the limit follows the event loop, the queue is short, and the rest is refused."""

import asyncio

import pytest

from schema.http.admission import (
    AT_FIRST,
    CALM_AFTER,
    HURRY,
    LEAST,
    LONGEST_QUEUE,
    PATIENCE,
    TARGET,
    Admission,
    Overloaded,
)


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Crowd:
    """Requests that run until they are told to end."""

    def __init__(self, most: int = 400) -> None:
        self.clock = Clock()
        self.admission = Admission(most, self.clock)
        self.order: list[int] = []
        self.ends: list[asyncio.Event] = []
        self.tasks: list[asyncio.Task[bool]] = []

    async def arrive(self, count: int) -> list[asyncio.Task[bool]]:
        """Lets requests arrive, one after the other."""
        arrived = []
        for _ in range(count):
            self.ends.append(asyncio.Event())
            arrived.append(asyncio.create_task(self._request(len(self.tasks) + len(arrived), self.ends[-1])))
        self.tasks += arrived
        await turn()
        return arrived

    async def end(self, count: int) -> None:
        """Ends the requests that were admitted first."""
        ended = [number for number in self.order if not self.ends[number].is_set()][:count]
        for number in ended:
            self.ends[number].set()
        await turn()

    async def _request(self, number: int, end: asyncio.Event) -> bool:
        try:
            async with self.admission:
                self.order.append(number)
                await end.wait()
                return True
        except Overloaded:
            return False


async def turn() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def refused(tasks: list[asyncio.Task[bool]]) -> int:
    return sum(task.done() and not task.result() for task in tasks)


async def test_requests_wait_when_the_limit_is_reached_and_run_in_order() -> None:
    crowd = Crowd()

    await crowd.arrive(AT_FIRST + 3)
    assert (crowd.admission.running, crowd.admission.waiting) == (AT_FIRST, 3)
    await crowd.end(2)

    assert crowd.order[-2:] == [AT_FIRST, AT_FIRST + 1]
    assert (crowd.admission.running, crowd.admission.waiting) == (AT_FIRST, 1)


async def test_beyond_the_queue_requests_are_refused_at_once() -> None:
    crowd = Crowd()

    await crowd.arrive(AT_FIRST + LONGEST_QUEUE)
    late = await crowd.arrive(3)

    assert refused(late) == crowd.admission.shed == 3
    assert crowd.admission.waiting == LONGEST_QUEUE
    assert crowd.admission.refuses()


async def test_after_a_refusal_the_queue_is_short_until_it_is_calm() -> None:
    crowd = Crowd(most=AT_FIRST)
    waiting = await crowd.arrive(AT_FIRST + 10)

    crowd.clock.now += PATIENCE + 0.01
    crowd.admission.adapt(TARGET)
    await turn()
    assert refused(waiting) == 10
    hurried = await crowd.arrive(AT_FIRST // 4 + 2)
    assert refused(hurried) == 2
    crowd.clock.now += HURRY + 0.001
    crowd.admission.adapt(TARGET)
    await turn()
    assert crowd.admission.waiting == 0

    crowd.clock.now += CALM_AFTER
    await crowd.arrive(LONGEST_QUEUE)
    assert crowd.admission.waiting > AT_FIRST


async def test_in_a_hurry_the_newest_request_runs_first() -> None:
    crowd = Crowd()
    await crowd.arrive(AT_FIRST + LONGEST_QUEUE)
    await crowd.arrive(1)

    await crowd.end(1)

    assert crowd.order[-1] == AT_FIRST + LONGEST_QUEUE - 1


async def test_a_late_event_loop_shrinks_the_limit_to_the_least_that_may_run() -> None:
    crowd = Crowd()
    await crowd.arrive(AT_FIRST)

    crowd.admission.adapt(2 * TARGET)
    assert crowd.admission.limit == AT_FIRST / 2
    for _ in range(100):
        crowd.admission.adapt(1.0)

    assert crowd.admission.limit == LEAST


async def test_a_slow_database_grows_the_limit_to_the_most_that_may_run() -> None:
    crowd = Crowd(most=100)
    await crowd.arrive(150)

    for _ in range(100):
        crowd.admission.adapt(0.001)
        await turn()

    assert crowd.admission.limit == crowd.admission.running == 100
    assert crowd.admission.shed == 0


async def test_an_unused_limit_returns_to_where_it_began() -> None:
    crowd = Crowd(most=100)
    await crowd.arrive(150)
    for _ in range(100):
        crowd.admission.adapt(0.001)
        await turn()
    await crowd.end(150)
    await crowd.end(150)

    for _ in range(500):
        crowd.admission.adapt(0.001)

    assert (crowd.admission.running, crowd.admission.limit) == (0, AT_FIRST)


async def test_an_unused_limit_does_not_grow() -> None:
    admission = Admission(400)

    for _ in range(100):
        admission.adapt(0.0)

    assert admission.limit == AT_FIRST


async def test_a_request_that_is_cancelled_leaves_no_place_taken() -> None:
    crowd = Crowd()
    tasks = await crowd.arrive(AT_FIRST + 2)

    tasks[-2].cancel()
    await turn()
    await crowd.end(1)
    tasks[-1].cancel()
    tasks[1].cancel()
    await turn()

    assert crowd.admission.running == AT_FIRST - 2
    assert crowd.order[-1] == AT_FIRST + 1


async def test_a_request_that_is_cancelled_as_it_is_admitted_gives_its_place_back() -> None:
    crowd = Crowd()
    tasks = await crowd.arrive(AT_FIRST + 1)

    crowd.ends[0].set()
    await asyncio.sleep(0)
    tasks[-1].cancel()
    await turn()

    assert crowd.admission.running == AT_FIRST - 1


async def test_the_delay_of_the_event_loop_is_measured() -> None:
    admission = Admission(400)
    measuring = asyncio.create_task(admission.run())

    async with asyncio.timeout(60):
        while admission.lag < TARGET:
            await asyncio.sleep(0)
            end = asyncio.get_running_loop().time() + 0.1
            while asyncio.get_running_loop().time() < end:
                pass
    measuring.cancel()

    assert admission.limit < AT_FIRST


async def test_calls_that_wait_for_each_other_shrink_the_limit() -> None:
    admission = Admission(400, calls_wait=lambda: 1.0)
    measuring = asyncio.create_task(admission.run())

    async with asyncio.timeout(60):
        while admission.limit > LEAST:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    measuring.cancel()

    assert admission.limit == LEAST


@pytest.mark.parametrize("most", [8, 20])
async def test_the_limit_is_never_above_the_setting(most: int) -> None:
    crowd = Crowd(most)
    await crowd.arrive(50)

    for _ in range(50):
        crowd.admission.adapt(0.0)
        await turn()

    assert crowd.admission.running == most
