"""Token buckets: exact amounts, refilling, and a bound on their number."""

from resolvers.core.token_bucket import Buckets, Policy

A_MINUTE = Policy("reads", 60, 60)


def taken(buckets, subject, now, amount=1):
    """Takes as often as the bucket allows; returns how often."""
    times = 0
    while not buckets.wait(subject, amount, now):
        buckets.take(subject, amount, now)
        times += 1
    return times


def test_a_full_bucket_holds_the_quota_and_an_empty_one_refills_evenly():
    buckets = Buckets(A_MINUTE)

    assert taken(buckets, "ada", now=1_000.0) == 60
    assert buckets.wait("ada", 1, now=1_000.0) == 1.0
    assert taken(buckets, "ada", now=1_000.5) == 0
    assert taken(buckets, "ada", now=1_007.0) == 7
    assert taken(buckets, "ada", now=1_067.0) == 60
    assert taken(buckets, "ada", now=9_999.0) == 60


def test_subjects_do_not_share_a_bucket():
    buckets = Buckets(A_MINUTE)
    taken(buckets, "ada", now=0.0)

    assert taken(buckets, "bob", now=0.0) == 60


def test_any_quota_is_exact():
    counts = {quota: taken(Buckets(Policy("reads", quota, 60)), "ada", now=123_456.789) for quota in (1, 7, 299, 5_003)}

    assert counts == {1: 1, 7: 7, 299: 299, 5_003: 5_003}


def test_the_wait_is_the_time_until_the_amount_is_there():
    buckets = Buckets(A_MINUTE)
    buckets.take("ada", 50, now=0.0)

    assert [buckets.wait("ada", amount, now=0.0) for amount in (10, 11, 60)] == [0.0, 1.0, 50.0]


def test_a_full_bucket_allows_more_than_it_holds_and_is_empty_then():
    buckets = Buckets(A_MINUTE)
    buckets.take("ada", 59, now=0.0)
    before = buckets.wait("ada", 1_000, now=0.0)

    buckets.take("bob", 1_000, now=0.0)

    assert before == 59.0
    assert buckets.wait("bob", 1, now=0.0) == 1.0


def test_debt_is_at_most_a_second_bucket():
    buckets = Buckets(A_MINUTE)
    for _ in range(10):
        buckets.take("ada", 60, now=0.0)

    assert buckets.debt("ada", now=0.0) == 120.0


def test_states_are_items_of_structured_fields():
    buckets = Buckets(A_MINUTE)
    buckets.take("ada", 20, now=0.0)

    assert buckets.text == '"reads";q=60;w=60'
    assert buckets.state(buckets.debt("ada", now=0.0)) == '"reads";r=40;t=20'
    assert buckets.state(buckets.debt("ada", now=0.5)) == '"reads";r=40;t=20'
    assert buckets.state(buckets.debt("nobody", now=0.0)) == '"reads";r=60;t=0'
    assert buckets.state(120.0) == '"reads";r=0;t=120'


def test_a_million_subjects_do_not_fill_the_memory():
    buckets = Buckets(A_MINUTE, most=1_000)
    for number in range(100_000):
        buckets.take(f"2001:db8:{number:x}::/64", 60, now=0.0)

    assert len(buckets) == 1_000


def test_full_buckets_make_room_before_used_ones():
    buckets = Buckets(A_MINUTE, most=10)
    buckets.take("abuser", 60, now=0.0)
    for number in range(100):
        buckets.take(f"visitor {number}", 1, now=float(number) / 2)

    assert buckets.wait("abuser", 60, now=50.0) == 10.0
    assert len(buckets) <= 10


def test_full_buckets_are_forgotten_long_before_there_are_too_many():
    buckets = Buckets(A_MINUTE)
    for number in range(1_000):
        buckets.take(f"visitor {number}", 1, now=float(number))

    assert len(buckets) <= 2
