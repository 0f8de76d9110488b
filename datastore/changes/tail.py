"""Follows the change log, once per process: everything in the process that wants changes gets them from here."""

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import Callable, Sequence

from datastore.changes.log import Batch, ChangeLog
from datastore.client.errors import DatastoreError

log = logging.getLogger("heartwood.changes")

# Two Queries a second that find nothing cost one read unit.
PAUSE = 0.5
PAUSE_AFTER_NEWS = 0.1
# While clients wait for changes.
PAUSE_IF_FOLLOWED = 0.05
# While a cache depends on it: ten Queries a second that find nothing cost five read units.
PAUSE_IF_CACHED = 0.1
QUIET_AFTER = 20
LONGEST_PAUSE = 10.0
KEPT = 200
# A change takes about a kilobyte of memory.
CHANGES_KEPT = 5_000
# Reads of older batches that readers share: processors that are far behind go on side by side.
READS_KEPT = 4


class Tail:
    """The end of one partition of the log. Keeps the last batches, for readers that are nearly there."""

    def __init__(self, change_log: ChangeLog, partition: int) -> None:
        self._log = change_log
        self.partition = partition
        self._kept: deque[Batch] = deque()
        self._changes_kept = 0
        self._reads: dict[int, asyncio.Task[list[Batch]]] = {}
        self._position: int | None = None
        self._next = asyncio.Event()
        self._waking = asyncio.Event()
        self.listeners: list[Callable[[Batch], None]] = []
        # Those on whose behalf clients wait for changes: these arrive sooner, for more reads.
        self.followers: set[object] = set()
        # The longest pause between two reads that succeed.
        self.pause = PAUSE
        # When the last read was sent that has seen the end of the log.
        self.seen_at = float("-inf")
        change_log.listeners.append(self._appended)

    async def position(self) -> int:
        """Returns the number of the last batch that was seen. The tail begins at the end of the log."""
        if self._position is None:
            head = await self._log.head(self.partition)
            # Another task may have been first.
            self._position = head if self._position is None else self._position
        return self._position

    async def run(self) -> None:
        """Reads new batches until it is canceled."""
        pause, quiet, is_failing = PAUSE, QUIET_AFTER, False
        while True:
            try:
                quiet = 0 if await self.look() else quiet + 1
                pause = PAUSE_AFTER_NEWS if quiet < QUIET_AFTER else self.pause
                if self.followers:
                    pause = PAUSE_IF_FOLLOWED
                is_failing = False
            except DatastoreError as error:
                # Once per outage.
                log.log(logging.DEBUG if is_failing else logging.WARNING, "the change log cannot be read: %s", error)
                is_failing, pause = True, min(2 * pause, LONGEST_PAUSE)
            except Exception:
                # Without the tail, the processors of this server would stop, and no other server would take over.
                log.exception("the change log cannot be read")
                pause = LONGEST_PAUSE
            self._waking.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._waking.wait()

    async def look(self) -> bool:
        """Takes what is new in the log. Returns False if nothing is."""
        position = await self.position()
        sent = time.monotonic()
        found, is_end = await self._log.look(self.partition, position)
        for batch in found:
            self._take(batch)
        if is_end:
            self.seen_at = sent
        return bool(found)

    def _appended(self, partition: int, batch: Batch) -> None:
        """Takes a batch that this process has appended, without reading it."""
        if partition != self.partition or self._position is None:
            return
        if batch.sequence == self._position + 1:
            self._take(batch)
        else:
            # Another process has appended before it.
            self._waking.set()

    def _take(self, batch: Batch) -> None:
        assert self._position is not None
        if batch.sequence <= self._position:
            return
        if batch.sequence > self._position + 1:
            log.error("the changes %d to %d expired unread", self._position + 1, batch.sequence - 1)
        self._position = batch.sequence
        self._keep(batch)
        self._next.set()
        self._next = asyncio.Event()
        for listener in self.listeners:
            listener(batch)

    def _keep(self, batch: Batch) -> None:
        self._kept.append(batch)
        self._changes_kept += len(batch.changes)
        while len(self._kept) > KEPT or (self._changes_kept > CHANGES_KEPT and len(self._kept) > 1):
            self._changes_kept -= len(self._kept.popleft().changes)

    async def reaches_back(self, sequence: int) -> bool:
        """Returns True if nothing after this batch is gone from the log."""
        if self._kept and self._kept[0].sequence <= sequence + 1:
            return True
        return await self._log.has(self.partition, sequence + 1)

    async def after(self, sequence: int) -> Sequence[Batch]:
        """Returns batches after this one. Waits until there is one."""
        while await self.position() <= sequence:
            await self._next.wait()
        if self._kept and self._kept[0].sequence <= sequence + 1:
            return [batch for batch in self._kept if batch.sequence > sequence]
        # The tail may have seen what a later read does not see yet.
        while True:
            if found := await self._read(sequence):
                return found
            await asyncio.sleep(PAUSE)

    async def _read(self, sequence: int) -> list[Batch]:
        """Reads older batches, once for all readers that are there."""
        reading = self._reads.get(sequence)
        if reading is None:
            reading = asyncio.create_task(self._log.read(self.partition, sequence))
            # If all readers are canceled, no one asks for its outcome.
            reading.add_done_callback(lambda read: read.cancelled() or read.exception())
            self._reads[sequence] = reading
            if len(self._reads) > READS_KEPT:
                del self._reads[next(iter(self._reads))]
        try:
            # A reader that is canceled must not end the read of the others.
            found = await asyncio.shield(reading)
        except BaseException:
            self._forget(sequence, reading)
            raise
        if not found:
            self._forget(sequence, reading)
        return found

    def _forget(self, sequence: int, reading: "asyncio.Task[list[Batch]]") -> None:
        if self._reads.get(sequence) is reading:
            del self._reads[sequence]
