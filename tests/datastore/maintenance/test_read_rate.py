"""Tests of the limit of read units per second."""

import asyncio

import pytest

from datastore.maintenance.read_rate import ReadRate


class Clock:
    """A clock that stands still, except for those who sleep."""

    def __init__(self):
        self.now = 100.0
        self.slept = []

    def __call__(self):
        return self.now

    async def sleep(self, seconds):
        self.slept.append(seconds)


def rate_of(per_second):
    clock = Clock()
    return ReadRate(per_second, clock=clock, sleep=clock.sleep), clock


async def test_the_first_read_goes_at_once_and_the_next_ones_wait_their_turn():
    rate, clock = rate_of(10)
    await rate.take(5)
    await rate.take(20)
    await rate.take(1)
    assert clock.slept == [0.5, 2.5]


async def test_readers_that_wait_at_the_same_time_go_one_after_the_other():
    rate, clock = rate_of(10)
    await asyncio.gather(*(rate.take(10) for _ in range(4)))
    assert clock.slept == [1.0, 2.0, 3.0]


async def test_a_read_that_used_more_or_less_than_expected_moves_the_next_one():
    rate, clock = rate_of(10)
    await rate.take(10)
    rate.correct(5)
    await rate.take(10)
    rate.correct(-10)
    await rate.take(1)
    assert clock.slept == [1.5, 1.5]


async def test_time_that_was_not_used_is_not_saved_up():
    rate, clock = rate_of(10)
    await rate.take(1)
    clock.now += 60
    await rate.take(10)
    await rate.take(1)
    assert clock.slept == [1.0]


async def test_there_may_be_no_limit():
    rate, clock = rate_of(None)
    await rate.take(10_000)
    rate.correct(10_000)
    await rate.take(10_000)
    assert clock.slept == []


@pytest.mark.parametrize("units", [0, -1])
def test_a_rate_without_units_is_refused(units):
    with pytest.raises(ValueError, match="must be above 0"):
        ReadRate(units)
