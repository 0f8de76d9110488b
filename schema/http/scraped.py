"""Reads the Prometheus text format: samples, sums over labels, and quantiles of histograms."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from schema.http.exposition import PREFIX

LINE = re.compile(rf"{PREFIX}_(\w+)(?:\{{(.*)\}})? (\S+)")
LABEL = re.compile(r'(\w+)="([^"]*)"')


class Sample(NamedTuple):
    name: str
    labels: Mapping[str, str]
    value: float


def parsed(text: str) -> list[Sample]:
    """Returns the samples of Heartwood, without the prefix of their names. Skips lines that are something else."""
    found = []
    for line in text.splitlines():
        if match := LINE.fullmatch(line):
            try:
                found.append(Sample(match[1], dict(LABEL.findall(match[2] or "")), float(match[3])))
            except ValueError:
                continue
    return found


def total(samples: Iterable[Sample], name: str, **labels: str) -> float:
    """Returns the sum over all other labels, such as those of workers."""
    wanted = labels.items()
    return sum(each.value for each in samples if each.name == name and wanted <= each.labels.items())


def quantile(share: float, now: Sequence[Sample], before: Sequence[Sample], name: str) -> float | None:
    """Returns a quantile of what was added to a histogram, as Prometheus interpolates it; None if nothing was."""
    bounds: dict[float, float] = {}
    for sign, samples in ((1, now), (-1, before)):
        for each in samples:
            if each.name == f"{name}_bucket":
                bound = float(each.labels["le"].replace("+Inf", "inf"))
                bounds[bound] = bounds.get(bound, 0.0) + sign * each.value
    steps = sorted(bounds.items())
    rank = share * steps[-1][1] if steps else 0
    if rank <= 0:
        return None
    lower = count = 0.0
    for bound, within in steps:
        if within >= rank:
            return lower if bound == float("inf") else lower + (bound - lower) * (rank - count) / (within - count)
        lower, count = bound, within
    return lower
