"""Histograms of durations."""

from datastore.client.durations import BUCKETS, Durations


def test_a_duration_counts_in_its_bound_and_all_above():
    durations = Durations()
    for seconds in (0.005, 0.006, 3.0, 60.0):
        durations.observe(seconds)
    within = dict(durations.cumulative())
    assert (within[0.005], within[0.01], within[2.5], within[5.0], within["+Inf"]) == (1, 2, 2, 3, 4)
    assert list(within) == [*BUCKETS, "+Inf"]
    assert (durations.count, durations.seconds) == (4, 63.011)
