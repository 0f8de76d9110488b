"""Reading of metrics."""

import pytest

from datastore.client.durations import Durations
from schema.http.exposition import histogram
from schema.http.scraped import parsed, quantile, total

TEXT = """\
# HELP heartwood_calls_total Calls.
# TYPE heartwood_calls_total counter
heartwood_calls_total{operation="Query",worker="1"} 3
heartwood_calls_total{operation="Query",worker="2"} 4.5
heartwood_calls_total{operation="GetItem",worker="1"} 1
heartwood_memory_bytes 5e6
other_metric 7
heartwood_broken{ x
heartwood_odd one
"""


def test_samples_are_summed_over_the_labels_that_are_not_given() -> None:
    samples = parsed(TEXT)
    assert total(samples, "calls_total") == 8.5
    assert total(samples, "calls_total", operation="Query") == 7.5
    assert total(samples, "calls_total", operation="Query", worker="2") == 4.5
    assert total(samples, "memory_bytes") == 5_000_000
    assert total(samples, "unknown") == 0
    assert len(samples) == 4


def shown(durations: Durations) -> str:
    return "\n".join(histogram("seconds", "Duration.", {'kind="x"': durations}))


def test_a_quantile_is_of_what_was_added() -> None:
    durations = Durations()
    durations.observe(9.0)
    before = parsed(shown(durations))
    for _ in range(10):
        durations.observe(0.03)
    now = parsed(shown(durations))
    assert quantile(0.5, now, before, "seconds") == pytest.approx(0.0375)
    assert quantile(0.5, now, now, "seconds") is None
    assert quantile(0.5, [], [], "seconds") is None
    assert quantile(1.0, now, [], "seconds") == pytest.approx(10.0)


def test_beyond_the_last_bound_a_quantile_is_that_bound() -> None:
    durations = Durations()
    durations.observe(60.0)
    assert quantile(0.9, parsed(shown(durations)), [], "seconds") == 10.0
