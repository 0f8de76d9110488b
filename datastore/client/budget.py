"""Budgets: the time and usage of a request, and the retries of a process."""

import time
from collections import Counter
from dataclasses import dataclass, field

from datastore.client.tracing import Trace

RETRIES = 50


@dataclass
class Usage:
    """Deadline of a request, and the calls and capacity units it has used.

    A patient one, for bulk work at the command line, waits where a request would fail at once: for a retry that the
    budget does not pay for, and for the circuit breaker.
    """

    deadline: float
    calls: Counter[str] = field(default_factory=Counter)
    # The part of these calls that other requests have paid for, which waited for the same ones.
    saved: Counter[str] = field(default_factory=Counter)
    # Records and pages that were in memory, so that no call was needed.
    cached: int = 0
    retries: int = 0
    read_units: float = 0.0
    write_units: float = 0.0
    is_patient: bool = False
    trace: Trace | None = None

    @classmethod
    def lasting(cls, seconds: float, *, is_patient: bool = False) -> "Usage":
        return cls(deadline=time.monotonic() + seconds, is_patient=is_patient)

    def apart(self) -> "Usage":
        """Returns the usage of a part of this request, with the same deadline, which is added later."""
        part = object.__new__(self.__class__)
        part.__dict__.update(
            self.__dict__, calls=Counter(), saved=Counter(), retries=0, read_units=0.0, write_units=0.0
        )
        return part

    @property
    def seconds_left(self) -> float:
        return self.deadline - time.monotonic()


class RetryBudget:
    """Limits the retries of a process: a retry costs a token, and a call that succeeds earns one.

    If a share of the calls fails, at most 1 / share calls are sent per wanted call: one if all fail, two if half of
    them fail. The tokens at the start let a few calls fail several times while the others succeed.
    """

    def __init__(self, most: int = RETRIES) -> None:
        self.most = most
        self.tokens = most
        self.refused = 0

    def earn(self) -> None:
        if self.tokens < self.most:
            self.tokens += 1

    def spend(self) -> bool:
        """Takes a token. Returns False if there is none: then a failure is final."""
        if self.tokens:
            self.tokens -= 1
            return True
        self.refused += 1
        return False
