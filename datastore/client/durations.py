"""Histograms of durations, cheap enough to observe every call."""

from bisect import bisect_left
from itertools import accumulate

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds in seconds."""


class Durations:
    """Numbers of durations up to each bound, and their sum."""

    __slots__ = ("_counts", "seconds")

    def __init__(self) -> None:
        self._counts = [0] * (len(BUCKETS) + 1)
        self.seconds = 0.0

    def observe(self, seconds: float) -> None:
        self._counts[bisect_left(BUCKETS, seconds)] += 1
        self.seconds += seconds

    @property
    def count(self) -> int:
        return sum(self._counts)

    def cumulative(self) -> list[tuple[float | str, int]]:
        """Returns how many durations are within each bound, as Prometheus wants it."""
        return list(zip((*BUCKETS, "+Inf"), accumulate(self._counts), strict=True))
