"""The Prometheus text format."""

from collections.abc import Iterator, Mapping

from datastore.client.durations import Durations

PREFIX = "heartwood"


def family(name: str, description: str, values: float | Mapping[str, float]) -> Iterator[str]:
    """Returns the lines of a metric: one value, or one for each set of labels."""
    yield f"# HELP {PREFIX}_{name} {description}"
    yield f"# TYPE {PREFIX}_{name} {'counter' if name.endswith('_total') else 'gauge'}"
    if isinstance(values, Mapping):
        yield from (f"{PREFIX}_{name}{{{labels}}} {value}" for labels, value in values.items())
    else:
        yield f"{PREFIX}_{name} {values}"


def histogram(name: str, description: str, values: Mapping[str, Durations]) -> Iterator[str]:
    """Returns the lines of histograms by their labels, which may be empty."""
    full = f"{PREFIX}_{name}"
    yield f"# HELP {full} {description}"
    yield f"# TYPE {full} histogram"
    for labels, durations in values.items():
        given = f"{labels}," if labels else ""
        own = f"{{{labels}}}" if labels else ""
        yield from (f'{full}_bucket{{{given}le="{bound}"}} {total}' for bound, total in durations.cumulative())
        yield f"{full}_sum{own} {durations.seconds:.6f}"
        yield f"{full}_count{own} {durations.count}"
