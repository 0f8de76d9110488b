"""A server that keeps hot data, whose clock and whose view of the change log a test controls."""

from loaders.hot_data import HotData
from loaders.hot_reads import RECENT, HotReads
from tests.support.graph import Graph


class Hot:
    """`await hot.hears()` lets the server hear of everything that was written; `hot.waits(seconds)` lets time pass."""

    def __init__(self, graph: Graph) -> None:
        reads = graph.services.shared_reads
        assert isinstance(reads, HotReads)
        self.graph = graph
        self.reads = reads
        self._now = 1_000.0
        reads.clock = self._ticks

    def _ticks(self) -> float:
        """The clock: time passes only by `waits`, but no moment is the same as another."""
        self._now += 1e-6
        return self._now

    @property
    def data(self) -> HotData:
        return self.reads.data

    def waits(self, seconds: float = RECENT + 0.1) -> None:
        """Lets time pass: by default, until eventually consistent reads may be kept."""
        self._now += seconds

    async def hears(self) -> None:
        await self.graph.settle()
        for tail in self.graph.services.changes.tails:
            while await tail.look():
                pass
            # A slow machine must not stall the log.
            tail.seen_at = float("inf")

    async def begins(self) -> None:
        """Begins to keep data."""
        await self.hears()
        assert self.reads.is_current
        self.waits()
