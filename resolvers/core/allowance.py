"""Rate limits of requests, in cost units for reads and in writes for mutations, by viewer, client and tenant."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

from loaders.viewer import Viewer
from resolvers.core.token_bucket import Buckets, Policy

MINUTE = 60
REFUSED_COST = 100
"""Cost of a document that is refused: parsing and validating it is work, too."""

Subjects = list[tuple[Buckets, str]]


class OverRate(Exception):
    """A rate limit is used up. The message names it; `retry_after` is the number of seconds to wait."""

    def __init__(self, policy: Policy, wait: float) -> None:
        self.retry_after = max(1, ceil(wait))
        super().__init__(
            f"the rate limit {policy.name!r} of {policy.quota:,} in {policy.window} seconds is used up; "
            f"try again in {self.retry_after} seconds"
        )


@dataclass(frozen=True)
class Rates:
    """Quotas per minute. Anonymous requests from one client share a quota as large as that of a viewer."""

    cost: int
    writes: int
    client_factor: int
    """All viewers who are signed in at one client together: this many times the quota of one."""
    tenant_factor: int
    """All requests for one tenant together: this many times the quota of a viewer."""


class Allowance:
    """The buckets that one request draws from. Without any, everything is allowed."""

    __slots__ = ("_clock", "_cost", "_headers", "_writes")

    def __init__(self, cost: Subjects, writes: Subjects, clock: Callable[[], float] = time.monotonic) -> None:
        self._cost = cost
        self._writes = writes
        self._clock = clock
        self._headers = cost

    def check(self) -> None:
        """Raises OverRate if nothing is left, before any work is done for the request."""
        if self._cost:
            _check(self._cost, 1, self._clock())

    def pay(self, cost: int, writes: int = 0, *, refused: int = 0) -> None:
        """Takes from all buckets, or raises OverRate and takes only what the work so far costs, `refused`."""
        if not self._cost:
            return
        now = self._clock()
        if writes:
            self._headers = self._cost + self._writes
        try:
            self._check_all(cost, writes, now)
        except OverRate:
            _take(self._cost, refused, now)
            # Raises again, with the time to wait after that.
            self._check_all(cost, writes, now)
        _take(self._cost, cost, now)
        if writes:
            _take(self._writes, writes, now)

    def owe(self, cost: int) -> None:
        """Takes even from empty buckets: the work is done already."""
        if self._cost:
            _take(self._cost, cost, self._clock())

    def _check_all(self, cost: int, writes: int, now: float) -> None:
        if writes:
            _check(self._writes, writes, now)
        _check(self._cost, cost, now)

    def headers(self) -> dict[str, str]:
        """Returns `RateLimit-Policy` with the policies of this request, and `RateLimit` with the tightest one."""
        if not self._headers:
            return {}
        now = self._clock()
        tightest, debt = self._headers[0][0], -1.0
        for buckets, subject in self._headers:
            found = buckets.debt(subject, now)
            if found / buckets.policy.window > debt / tightest.policy.window:
                tightest, debt = buckets, found
        policies = ", ".join([buckets.text for buckets, _ in self._headers])
        return {"ratelimit-policy": policies, "ratelimit": tightest.state(debt)}


UNLIMITED = Allowance([], [])


class RequestLimits:
    """One per server."""

    def __init__(self, rates: Rates, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._viewer = _of("viewer", rates, 1)
        self._client = _of("client", rates, rates.client_factor)
        self._anonymous = _of("anonymous", rates, 1)
        self._tenant = _of("tenant", rates, rates.tenant_factor)

    @property
    def buckets(self) -> list[Buckets]:
        return [*self._viewer, *self._client, *self._anonymous, *self._tenant]

    def allowance(self, viewer: Viewer, client: str) -> Allowance:
        """Returns what a request may use.

        A viewer has a quota of their own; the larger one of the client only stops one client with many accounts. Staff
        of a tenant do not draw from the tenant's quota, so that its visitors cannot keep them from working.
        """
        if viewer.user_id is None:
            sources = [(self._anonymous, client)]
        else:
            sources = [(self._viewer, viewer.user_id), (self._client, client)]
        if viewer.tenant_id is not None and viewer.tenant_role is None:
            sources.append((self._tenant, viewer.tenant_id))
        cost = [(pair[0], subject) for pair, subject in sources]
        return Allowance(cost, [(pair[1], subject) for pair, subject in sources], self._clock)


def _of(name: str, rates: Rates, factor: int) -> tuple[Buckets, Buckets]:
    return (
        Buckets(Policy(f"{name}-cost", rates.cost * factor, MINUTE)),
        Buckets(Policy(f"{name}-writes", rates.writes * factor, MINUTE)),
    )


def _check(subjects: Subjects, amount: int, now: float) -> None:
    for buckets, subject in subjects:
        wait = buckets.wait(subject, amount, now)
        if wait:
            raise OverRate(buckets.policy, wait)


def _take(subjects: Subjects, amount: int, now: float) -> None:
    for buckets, subject in subjects:
        buckets.take(subject, amount, now)
