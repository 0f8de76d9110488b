"""The circuit breaker, with a clock that the tests move."""

import pytest

from datastore.client.breaker import LONGEST_PAUSE, MOST_FAILURES, PAUSE, PROBES, SLOT, Breaker, State
from datastore.client.errors import CircuitOpen, Throttled, TimedOut

FAILURE = Throttled("too fast")


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> Breaker:
    return Breaker(clock)


def fail(breaker: Breaker, times: int = 1) -> None:
    for _ in range(times):
        breaker.failed(breaker.enter("GetItem"), FAILURE)


def succeed(breaker: Breaker, times: int = 1) -> None:
    for _ in range(times):
        breaker.succeeded(breaker.enter("GetItem"))


def opened(breaker: Breaker, clock: Clock) -> None:
    """Opens the breaker and waits until it lets probes through."""
    fail(breaker, MOST_FAILURES)
    assert breaker.state is State.OPEN
    clock.now += PAUSE


def test_it_opens_when_all_calls_fail(breaker: Breaker) -> None:
    fail(breaker, MOST_FAILURES - 1)
    assert breaker.state is State.CLOSED

    fail(breaker)

    assert breaker.state is State.OPEN
    with pytest.raises(CircuitOpen, match="GetItem: not sent"):
        breaker.enter("GetItem")
    assert (breaker.opened, breaker.refused) == (1, 1)


def test_a_hot_partition_does_not_open_it(breaker: Breaker) -> None:
    for _ in range(1_000):
        fail(breaker, 4)
        succeed(breaker)

    assert breaker.state is State.CLOSED


def test_it_opens_though_a_few_calls_succeed(breaker: Breaker) -> None:
    succeed(breaker, 2)
    fail(breaker, MOST_FAILURES)

    assert breaker.state is State.OPEN


def test_successes_of_long_ago_do_not_count(breaker: Breaker, clock: Clock) -> None:
    succeed(breaker, 1_000)
    clock.now += 2 * SLOT

    fail(breaker, MOST_FAILURES)

    assert breaker.state is State.OPEN


def test_failures_of_long_ago_do_not_count(breaker: Breaker, clock: Clock) -> None:
    for _ in range(10):
        fail(breaker, MOST_FAILURES // 2 - 1)
        clock.now += SLOT

    assert breaker.state is State.CLOSED


def test_successes_of_the_slot_before_count(breaker: Breaker, clock: Clock) -> None:
    succeed(breaker, 100)
    clock.now += SLOT

    fail(breaker, MOST_FAILURES)

    assert breaker.state is State.CLOSED


def test_a_timeout_counts_as_four_failures(breaker: Breaker) -> None:
    for _ in range(MOST_FAILURES // 4):
        breaker.failed(breaker.enter("GetItem"), TimedOut("no answer"))

    assert breaker.state is State.OPEN


def test_it_closes_when_most_probes_succeed(breaker: Breaker, clock: Clock) -> None:
    opened(breaker, clock)

    succeed(breaker)
    assert breaker.state is State.HALF_OPEN
    fail(breaker)
    succeed(breaker, 2)

    assert breaker.state is State.CLOSED
    succeed(breaker, 100)


def test_only_a_few_probes_are_let_through(breaker: Breaker, clock: Clock) -> None:
    opened(breaker, clock)
    probes = [breaker.enter("Query") for _ in range(PROBES)]

    with pytest.raises(CircuitOpen):
        breaker.enter("Query")
    breaker.left(probes[0])
    breaker.enter("Query")
    with pytest.raises(CircuitOpen):
        breaker.enter("Query")


def test_it_opens_for_longer_each_time_the_probes_fail(breaker: Breaker, clock: Clock) -> None:
    opened(breaker, clock)
    pauses = []
    for _ in range(4):
        fail(breaker, 3)
        began = clock.now
        while breaker.state is State.OPEN:
            clock.now += 0.5
            try:
                breaker.left(breaker.enter("GetItem"))
            except CircuitOpen:
                continue
        pauses.append(clock.now - began)

    assert pauses == [2.0, 4.0, LONGEST_PAUSE, LONGEST_PAUSE]


def test_after_it_closed_the_pause_is_short_again(breaker: Breaker, clock: Clock) -> None:
    opened(breaker, clock)
    fail(breaker, 3)
    clock.now += 2 * PAUSE
    succeed(breaker, 3)

    opened(breaker, clock)
    succeed(breaker)

    assert breaker.state is State.HALF_OPEN


def test_late_outcomes_of_earlier_calls_do_not_count(breaker: Breaker, clock: Clock) -> None:
    earlier = [breaker.enter("GetItem") for _ in range(10)]
    opened(breaker, clock)
    succeed(breaker)

    for ticket in earlier:
        breaker.failed(ticket, FAILURE)
        breaker.left(ticket)
        breaker.succeeded(ticket)

    assert breaker.state is State.HALF_OPEN


def test_describing_the_table_is_refused_but_never_a_probe(breaker: Breaker, clock: Clock) -> None:
    for _ in range(MOST_FAILURES):
        breaker.succeeded(breaker.enter("DescribeTable"))
        fail(breaker)
    clock.now += PAUSE

    with pytest.raises(CircuitOpen):
        breaker.enter("DescribeTable")
    succeed(breaker, 3)
    assert breaker.state is State.CLOSED


def test_an_outage_is_logged_when_it_begins_and_when_it_ends(
    breaker: Breaker, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "heartwood.breaker")
    fail(breaker, MOST_FAILURES)
    for _ in range(100):
        with pytest.raises(CircuitOpen):
            breaker.enter("GetItem")
    clock.now += PAUSE
    fail(breaker, 3)
    clock.now += 2 * PAUSE
    succeed(breaker, 3)

    now = "the circuit breaker to DynamoDB is now"
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", f"{now} open: nearly all of the latest calls failed; the last one: too fast"),
        ("INFO", f"{now} closed: 3 probes succeeded"),
    ]
