"""Keeps the search index of a server up to date with the change log, and builds it from the table.

On each machine one process writes, chosen by a file lock; the others follow what it commits. It works on the change log
from the position that is committed with the documents, so a crash loses nothing. If the log no longer has that
position, or there is no index of this version, it is built from the table.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from datastore.client.errors import DatastoreError
from datastore.client.table import Table
from resolvers.core.options import Options
from resolvers.search.documents import SEARCHABLE
from resolvers.search.engine import Generation, Positions
from resolvers.search.index import SearchIndex
from resolvers.search.rebuilding import Rebuild, rebuild
from resolvers.search.refreshing import refresh

if TYPE_CHECKING:
    from datastore.changes.log import Batch, ChangeLog
    from datastore.changes.tail import Tail

log = logging.getLogger("heartwood.search")

COMMIT_EVERY = 1.0
# Positions without documents are committed only so often: it is enough that the log still has them.
STORE_POSITIONS_EVERY = 300.0
RELOAD_EVERY = 0.5
PAUSE = 1.0
LONGEST_PAUSE = 30.0


class PositionLost(Exception):
    """The change log no longer has what comes next."""


class IndexKeeper:
    """Keeps the index of a process."""

    def __init__(
        self, index: SearchIndex, table: Table, change_log: "ChangeLog", tails: "Sequence[Tail]", options: Options
    ) -> None:
        self.index = index
        self.engine = index.engine
        self._table = table
        self._log = change_log
        self._tails = tails
        self._options = options

    async def run(self) -> None:
        """Keeps the index until it is canceled. Nothing that fails here concerns other requests."""
        pause = PAUSE
        while True:
            started_at = time.monotonic()
            try:
                await self._keep()
            except DatastoreError as error:
                log.warning("the search index has to wait: %s", error)
            except Exception:
                log.exception("the search index cannot be kept up to date")
                await self._reset()
            pause = PAUSE if time.monotonic() - started_at > LONGEST_PAUSE else min(2 * pause, LONGEST_PAUSE)
            await asyncio.sleep(pause)

    async def _reset(self) -> None:
        with contextlib.suppress(Exception):
            if self.engine.current is not None:
                await self.engine.current.reset()

    async def _keep(self) -> None:
        engine = self.engine
        while not await engine.lock():
            self.index.is_writer = False
            # Another server keeps the index up to date now.
            self.index.behind_since = None
            await engine.open()
            self.index.is_partial = await self._positions() is None
            await asyncio.sleep(RELOAD_EVERY)
        self.index.is_writer = True
        await engine.open()
        while True:
            generation, positions = await self.ready()
            try:
                await self._follow(generation, dict(positions))
            except PositionLost as lost:
                log.warning("%s: the search index is built again", lost)
                await self.build()

    async def ready(self) -> tuple[Generation, Positions]:
        """Returns the current generation and its positions. Builds one if there is none, or if it is too old."""
        generation = self.engine.current
        positions = await self._positions()
        if generation is None or positions is None or not await self._is_in_log(positions):
            return await self.build()
        self.index.is_partial = False
        return generation, positions

    async def _positions(self) -> Positions | None:
        """Returns the positions of the current generation; None if it is missing, incomplete or damaged."""
        try:
            return await self.engine.current.positions() if self.engine.current else None
        except (OSError, ValueError):
            log.exception("the search index is damaged")
            return None

    async def _is_in_log(self, positions: Positions) -> bool:
        """False if the log is another one: of a table that was lost or restored, or with other partitions."""
        if positions.keys() != set(range(self._log.partitions)):
            return False
        return all([number <= await self._log.head(partition) for partition, number in positions.items()])

    async def build(self) -> tuple[Generation, Positions]:
        """Builds a new generation. The current one answers meanwhile; without one, what there is of the new one."""
        progress = Rebuild()
        self.index.progress = progress.by_type
        # What changes from here on is applied afterwards.
        positions = {partition: await self._log.head(partition) for partition in range(self._log.partitions)}
        is_usable = await self._positions() is not None
        self.index.is_partial = not is_usable
        generation = await self.engine.begin()
        await generation.commit(None)
        if not is_usable:
            await self.engine.switch(generation)
        log.info("building the search index %s", generation.name)
        await rebuild(self._table, generation, self._options, progress)
        await generation.commit(positions)
        if is_usable:
            await self.engine.switch(generation)
        self.index.is_partial, self.index.progress = False, {}
        self.index.rebuilds += 1
        seconds = time.time() - progress.started_at
        log.info("built the search index of %d records in %.1f s", sum(progress.by_type.values()), seconds)
        return generation, positions

    async def _follow(self, generation: Generation, positions: dict[int, int]) -> None:
        """Applies changes as they come."""
        committed_at, is_dirty, stored = time.monotonic(), False, dict(positions)
        reading: dict[int, asyncio.Task[Sequence[Batch]]] = {}
        try:
            while True:
                for tail in self._tails:
                    if tail.partition not in reading:
                        after = tail.after(positions[tail.partition])
                        reading[tail.partition] = asyncio.create_task(after)
                wait = COMMIT_EVERY if is_dirty else STORE_POSITIONS_EVERY
                # Without anything to commit, there is no time to wait for.
                left = committed_at + wait - time.monotonic() if is_dirty or positions != stored else PAUSE
                done, _ = await asyncio.wait(
                    reading.values(), timeout=min(max(0.0, left), PAUSE), return_when=asyncio.FIRST_COMPLETED
                )
                for partition in [partition for partition, task in reading.items() if task in done]:
                    batches = reading.pop(partition).result()
                    is_dirty |= await self._apply(generation, positions, partition, batches)
                if time.monotonic() - committed_at >= wait and (is_dirty or positions != stored):
                    await generation.commit(positions)
                    committed_at, is_dirty, stored = time.monotonic(), False, dict(positions)
                    self.index.behind_since = None
                if await self.engine.wants_rebuild():
                    raise PositionLost("an operator has asked for it")
        finally:
            for task in reading.values():
                task.cancel()

    async def _apply(
        self, generation: Generation, positions: dict[int, int], partition: int, batches: "Sequence[Batch]"
    ) -> bool:
        """Indexes what batches have changed, and returns True if that was anything."""
        first, last = batches[0], batches[-1]
        if first.sequence > positions[partition] + 1:
            raise PositionLost(f"the batches {positions[partition] + 1} to {first.sequence - 1} of the log are gone")
        changes = [change for batch in batches for change in batch.changes if change.key.entity in SEARCHABLE]
        if changes:
            self.index.behind_since = self.index.behind_since or min(change.at for change in changes)
            await refresh(self._table, generation, [change.key for change in changes], spread=True)
            self.index.changes += len(changes)
        positions[partition] = last.sequence
        return bool(changes)

    async def settle(self) -> None:
        """Brings the index up to date with everything in the log, for tests and commands."""
        generation, found = await self.ready()
        positions = dict(found)
        for partition in range(self._log.partitions):
            while batches := await self._log.read(partition, positions[partition], consistent=True):
                await self._apply(generation, positions, partition, batches)
        await generation.commit(positions)

    async def close(self) -> None:
        with contextlib.suppress(Exception):
            await self.engine.close()
