"""Circuit breaker: while nearly all calls fail, new ones are refused at once, and a few probes find out when to stop.

A hot partition does not open it: it takes nine of ten calls of the last seconds. A failed condition or an invalid
request counts as a success, because the database answered.
"""

import logging
import time
from collections.abc import Callable
from enum import StrEnum

from datastore.client.errors import CircuitOpen, Retryable, TimedOut

log = logging.getLogger("heartwood.breaker")

# Calls are counted in slots of this many seconds: the current one and the one before.
SLOT = 5.0
# The breaker opens if this many calls failed, and they are this share of all calls.
MOST_FAILURES = 20
SHARE = 0.9
# An attempt that timed out counts as several failures: it takes long, and says more than a throttled one.
TIMED_OUT = 4
# Seconds from opening to the first probes; doubles while probes fail.
PAUSE = 1.0
LONGEST_PAUSE = 5.0
# Probes per trial. The breaker closes if most of them succeed, and opens again if most of them fail.
PROBES = 5
MOST_OF_THEM = 3

# DynamoDB answers these apart from its data: they say nothing about other calls.
UNCOUNTED = frozenset({"DescribeTable"})
NO_TICKET = -1


class State(StrEnum):
    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half-open"


class Breaker:
    """Counts the outcomes of all calls of a process. `state`, `opened` and `refused` are for health and metrics."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.state = State.CLOSED
        self.opened = 0
        self.refused = 0
        self._clock = clock
        self._epoch = 0
        self._pause = PAUSE
        self._probe_at = 0.0
        self._probes = 0
        self._slot_began = clock()
        self._before = 0, 0
        self._successes = self._failures = 0

    @property
    def is_closed(self) -> bool:
        return self.state is State.CLOSED

    def enter(self, operation: str) -> int:
        """Admits a call, or raises CircuitOpen. Returns the ticket that its outcome is reported with."""
        if self.state is not State.CLOSED:
            self._enter_as_probe(operation)
        return NO_TICKET if operation in UNCOUNTED else self._epoch

    def succeeded(self, ticket: int) -> None:
        # A late outcome of a call that began in another state says nothing about this one.
        if ticket != self._epoch:
            return
        self._successes += 1
        if self.state is State.HALF_OPEN and self._successes == MOST_OF_THEM:
            self._pause = PAUSE
            self._change(State.CLOSED, f"{self._successes} probes succeeded")

    def failed(self, ticket: int, why: Retryable) -> None:
        if ticket != self._epoch:
            return
        if self.state is State.HALF_OPEN:
            self._failures += 1
            if self._failures == MOST_OF_THEM:
                self._pause = min(2 * self._pause, LONGEST_PAUSE)
                self._open(f"{self._failures} probes failed; the last one: {why}")
            return
        self._advance()
        self._failures += TIMED_OUT if isinstance(why, TimedOut) else 1
        failures = self._before[1] + self._failures
        total = failures + self._before[0] + self._successes
        if failures >= MOST_FAILURES and failures >= SHARE * total:
            self._open(f"nearly all of the latest calls failed; the last one: {why}")

    def left(self, ticket: int) -> None:
        """Withdraws a call whose outcome does not count, or that was canceled."""
        if ticket == self._epoch and self.state is State.HALF_OPEN:
            self._probes -= 1

    def _enter_as_probe(self, operation: str) -> None:
        if self.state is State.OPEN and self._clock() >= self._probe_at:
            self._change(State.HALF_OPEN, "it sends probes")
        if self.state is State.OPEN or self._probes == PROBES or operation in UNCOUNTED:
            self.refused += 1
            raise CircuitOpen(f"{operation}: not sent, because nearly all of the latest calls failed")
        self._probes += 1

    def _open(self, why: str) -> None:
        self.opened += 1
        self._probe_at = self._clock() + self._pause
        self._change(State.OPEN, why)

    def _change(self, state: State, why: str) -> None:
        # Once per outage: probes that fail change nothing for operators.
        level = logging.INFO if state is State.CLOSED else logging.WARNING if self.is_closed else logging.DEBUG
        log.log(level, "the circuit breaker to DynamoDB is now %s: %s", state, why)
        self.state = state
        self._epoch += 1
        self._probes = 0
        self._slot_began = self._clock()
        self._before = 0, 0
        self._successes = self._failures = 0

    def _advance(self) -> None:
        """Begins a new slot if it is time. Only failures look at the clock: without any, nothing is decided."""
        now = self._clock()
        elapsed = now - self._slot_began
        if elapsed >= SLOT:
            self._before = (self._successes, self._failures) if elapsed < 2 * SLOT else (0, 0)
            self._successes = self._failures = 0
            self._slot_began = now
