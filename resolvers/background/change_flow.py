"""The way of changes through a server: from their source to the log, and from the log to the processors."""

from collections.abc import Callable
from typing import Protocol

from datastore.changes.leases import Leases
from datastore.changes.log import ChangeLog
from datastore.changes.outbox import Outbox, OutboxSource
from datastore.changes.stream import StreamsClient
from datastore.changes.stream_source import StreamSource
from datastore.changes.tail import Tail
from datastore.client.table import Table
from resolvers.background.processing import Processing
from resolvers.background.tools import Tools


class Runs(Protocol):
    async def run(self) -> None: ...


class ChangeFlow:
    """One per server. Changes come from the outbox if the table client records them, otherwise from the stream."""

    def __init__(
        self, table: Table, tools: Tools, connect_to_stream: Callable[[], StreamsClient], partitions: int = 1
    ) -> None:
        self.table = table
        self.leases = Leases(table)
        self.log = ChangeLog(table, partitions)
        self.tails = [Tail(self.log, partition) for partition in range(partitions)]
        self.processing = Processing(table, self.leases, self.tails, tools)
        recorder = table.recorder
        self.outbox = OutboxSource(table, recorder, self.leases, self.log) if isinstance(recorder, Outbox) else None
        self.stream = None if self.outbox else StreamSource(table, self.leases, self.log, connect_to_stream)

    @property
    def in_one_worker(self) -> list[Runs]:
        """Returns what one of several processes on a machine runs. Leases choose one among all machines."""
        return [self.processing, *(source for source in (self.outbox, self.stream) if source)]

    async def settle(self) -> None:
        """Moves everything written so far to the log, and lets all processors work on it, until nothing is left."""
        is_settled = False
        while not is_settled:
            is_settled = True
            while self.outbox and await self.outbox.move():
                is_settled = False
            for partition in range(self.log.partitions):
                is_settled &= not await self._catch_up(partition)

    async def _catch_up(self, partition: int) -> bool:
        """Returns True if there was something to do."""
        was_behind = False
        for course in await self.processing.courses(partition):
            while batches := await self.log.read(partition, course.sequence, consistent=True):
                was_behind = True
                await course.take(batches)
            await course.stop()
        return was_behind
