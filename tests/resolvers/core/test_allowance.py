"""Rate limits of requests, by viewer, client and tenant."""

import pytest

from loaders.viewer import ANONYMOUS, Viewer
from resolvers.core.allowance import UNLIMITED, OverRate, Rates, RequestLimits

RATES = Rates(cost=1_000, writes=10, client_factor=3, tenant_factor=5)
ADA, BOB = Viewer("ada"), Viewer("bob")
AT_ACME = Viewer(tenant_id="acme")


class Clock:
    def __init__(self) -> None:
        self.now = 5_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def limits(clock):
    return RequestLimits(RATES, clock)


def refusal(allowance, cost, writes=0):
    """Pays; returns the refusal's text and seconds, or None."""
    try:
        allowance.pay(cost, writes)
    except OverRate as error:
        return str(error), error.retry_after
    return None


def test_anonymous_requests_of_one_client_share_a_quota(limits, clock):
    assert refusal(limits.allowance(ANONYMOUS, "192.0.2.1"), 600) is None
    assert refusal(limits.allowance(ANONYMOUS, "192.0.2.1"), 600) == (
        "the rate limit 'anonymous-cost' of 1,000 in 60 seconds is used up; try again in 12 seconds",
        12,
    )
    assert refusal(limits.allowance(ANONYMOUS, "192.0.2.2"), 600) is None
    clock.now += 12
    assert refusal(limits.allowance(ANONYMOUS, "192.0.2.1"), 600) is None


def test_a_viewer_has_one_quota_at_all_clients(limits):
    limits.allowance(ADA, "192.0.2.1").pay(600)

    assert refusal(limits.allowance(ADA, "192.0.2.2"), 600)[1] == 12
    assert refusal(limits.allowance(BOB, "192.0.2.1"), 600) is None


def test_an_anonymous_flood_does_not_affect_viewers_at_the_same_client(limits):
    limits.allowance(ANONYMOUS, "192.0.2.1").pay(1_000)

    assert refusal(limits.allowance(ANONYMOUS, "192.0.2.1"), 1)[1] == 1
    assert refusal(limits.allowance(ADA, "192.0.2.1"), 1_000) is None


def test_many_accounts_at_one_client_are_limited_together(limits):
    for number in range(3):
        limits.allowance(Viewer(f"account {number}"), "192.0.2.1").pay(1_000)

    assert refusal(limits.allowance(ADA, "192.0.2.1"), 100) == (
        "the rate limit 'client-cost' of 3,000 in 60 seconds is used up; try again in 2 seconds",
        2,
    )


def test_one_tenant_does_not_starve_the_others_nor_its_own_staff(limits):
    for number in range(5):
        limits.allowance(AT_ACME, f"192.0.2.{number}").pay(1_000)

    editor = Viewer("ada", tenant_id="acme", tenants=frozenset({("acme", "editor")}))
    assert "'tenant-cost'" in refusal(limits.allowance(AT_ACME, "192.0.2.9"), 1)[0]
    assert refusal(limits.allowance(Viewer(tenant_id="other"), "192.0.2.9"), 1) is None
    assert refusal(limits.allowance(editor, "192.0.2.9"), 1) is None


def test_writes_are_counted_apart(limits):
    limits.allowance(ADA, "192.0.2.1").pay(1, writes=10)

    assert refusal(limits.allowance(ADA, "192.0.2.1"), 1, writes=1) == (
        "the rate limit 'viewer-writes' of 10 in 60 seconds is used up; try again in 6 seconds",
        6,
    )
    assert refusal(limits.allowance(ADA, "192.0.2.1"), 1) is None


def test_a_refused_request_takes_nothing(limits):
    limits.allowance(AT_ACME, "192.0.2.1").pay(1_000)
    for _ in range(100):
        refusal(limits.allowance(AT_ACME, "192.0.2.1"), 1_000)

    assert limits.allowance(AT_ACME, "192.0.2.9").headers()["ratelimit"] == '"tenant-cost";r=4000;t=12'


def test_the_time_to_wait_includes_what_the_refusal_costs(limits, clock):
    limits.allowance(ANONYMOUS, "192.0.2.1").pay(600)

    with pytest.raises(OverRate) as over:
        limits.allowance(ANONYMOUS, "192.0.2.1").pay(600, refused=100)
    clock.now += over.value.retry_after

    assert over.value.retry_after == 18
    assert refusal(limits.allowance(ANONYMOUS, "192.0.2.1"), 600) is None


def test_work_that_is_done_already_is_owed(limits):
    allowance = limits.allowance(ANONYMOUS, "192.0.2.1")
    for _ in range(11):
        allowance.owe(100)

    with pytest.raises(OverRate) as over:
        limits.allowance(ANONYMOUS, "192.0.2.1").check()
    assert over.value.retry_after == 7


def test_headers_state_the_policies_of_the_request_and_the_tightest(limits):
    limits.allowance(ADA, "192.0.2.1").pay(100)
    query = limits.allowance(ADA, "192.0.2.1")
    query.pay(100)
    mutation = limits.allowance(Viewer("ada", tenant_id="acme"), "192.0.2.1")
    mutation.pay(1, writes=5)

    assert query.headers() == {
        "ratelimit-policy": '"viewer-cost";q=1000;w=60, "client-cost";q=3000;w=60',
        "ratelimit": '"viewer-cost";r=799;t=13',
    }
    assert mutation.headers() == {
        "ratelimit-policy": '"viewer-cost";q=1000;w=60, "client-cost";q=3000;w=60, "tenant-cost";q=5000;w=60, '
        '"viewer-writes";q=10;w=60, "client-writes";q=30;w=60, "tenant-writes";q=50;w=60',
        "ratelimit": '"viewer-writes";r=5;t=30',
    }


def test_without_limits_everything_is_allowed_and_nothing_is_said():
    UNLIMITED.check()
    UNLIMITED.pay(10**12, 10**12)
    UNLIMITED.owe(10**12)

    assert UNLIMITED.headers() == {}
