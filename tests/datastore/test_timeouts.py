"""Timeouts that follow the observed latencies."""

import pytest

from datastore.client.timeouts import Timeouts


@pytest.fixture
def timeouts() -> Timeouts:
    return Timeouts(shortest=0.5, longest=3.0)


def observe(timeouts: Timeouts, *latencies: float) -> None:
    for seconds in latencies:
        timeouts.observe("GetItem", seconds)


def test_without_observations_it_is_the_longest(timeouts: Timeouts) -> None:
    assert timeouts.of("GetItem") == 3.0
    timeouts.expired("GetItem")
    assert timeouts.of("GetItem") == 3.0


def test_fast_answers_make_it_the_shortest(timeouts: Timeouts) -> None:
    observe(timeouts, *[0.005] * 20)

    assert timeouts.of("GetItem") == 0.5


def test_each_operation_has_its_own(timeouts: Timeouts) -> None:
    observe(timeouts, 0.005)

    assert (timeouts.of("GetItem"), timeouts.of("Query")) == (0.5, 3.0)


def test_it_follows_steady_latencies(timeouts: Timeouts) -> None:
    observe(timeouts, *[0.4] * 100)

    assert timeouts.of("GetItem") == pytest.approx(1.2)


def test_latencies_that_vary_make_it_longer(timeouts: Timeouts) -> None:
    observe(timeouts, *[0.02, 0.3] * 50)

    assert 1.0 < timeouts.of("GetItem") < 2.0


def test_it_is_never_longer_than_the_longest(timeouts: Timeouts) -> None:
    observe(timeouts, 10.0)

    assert timeouts.of("GetItem") == 3.0


def test_each_timeout_doubles_it_until_there_is_an_answer(timeouts: Timeouts) -> None:
    """So that a database that became slow is waited for."""
    observe(timeouts, *[0.005] * 20)
    grown = []
    for _ in range(4):
        timeouts.expired("GetItem")
        grown.append(timeouts.of("GetItem"))
    observe(timeouts, *[0.005] * 20)

    assert grown == [1.0, 2.0, 3.0, 3.0]
    assert timeouts.of("GetItem") == 0.5
