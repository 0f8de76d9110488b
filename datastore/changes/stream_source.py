"""Source of the change log in AWS: the shards of the table's stream, shared by all servers, parents before children."""

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import Callable, Collection
from concurrent.futures import Executor

from datastore.changes.leases import Held, LeaseLost, Leases
from datastore.changes.log import ChangeLog
from datastore.changes.records import Lease
from datastore.changes.shard_reader import END, START, ShardReader, Timing, expiry
from datastore.changes.stream import (
    THREADS,
    NoStream,
    Shard,
    ShardGone,
    Stream,
    StreamFailed,
    StreamsClient,
    arn_of,
    threads,
)
from datastore.client.budget import Usage
from datastore.client.errors import DatastoreError
from datastore.client.table import Table

log = logging.getLogger("heartwood.stream")

STREAM = "stream"
TIME_TO_LOOK = 5.0


class StreamSource:
    """Reads the stream into the change log. One per server; servers share the shards by leases.

    A lease keeps the position in its shard, and that it was read to the end. The lease `stream` keeps which stream it
    is and when it was last seen, so that a pause longer than the stream's retention is noticed.
    """

    def __init__(
        self,
        table: Table,
        leases: Leases,
        log: ChangeLog,
        connect: Callable[[], StreamsClient],
        *,
        executor: Executor | None = None,
        clock: Callable[[], float] = time.time,
        timing: Timing | None = None,
    ) -> None:
        self.trimmed = 0
        """Number of times that records were removed from the stream before they were read."""
        self._everything = False
        self._table = table
        self._leases = leases
        self._log = log
        self._connect = connect
        self._executor = executor or threads()
        self._clock = clock
        self._timing = timing or Timing()
        self._stream: Stream | None = None
        self._seen_at = 0.0
        self._ended: set[str] = set()
        self._readers: dict[str, ShardReader] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._slots = asyncio.Semaphore(THREADS)
        self._wake = asyncio.Event()

    @property
    def lag(self) -> dict[str, float]:
        """Seconds behind the table, by the shards that this server reads."""
        now = self._clock()
        return {shard_id: max(0.0, now - reader.caught_up_at) for shard_id, reader in self._readers.items()}

    @property
    def shards_held(self) -> int:
        return len(self._tasks)

    def log_everything(self, everything: bool) -> None:
        """Sets whether changes of bookkeeping are logged too: while an operation follows every change."""
        self._everything = everything
        if self._stream:
            self._stream.everything = everything

    async def run(self) -> None:
        """Reads until it is cancelled."""
        is_failing = False
        try:
            while True:
                pause = self._timing.look_every
                try:
                    pause = await self._look()
                    is_failing = False
                except (DatastoreError, StreamFailed, LeaseLost) as error:
                    level = logging.ERROR if isinstance(error, NoStream) else logging.WARNING
                    # Once per outage.
                    log.log(logging.DEBUG if is_failing else level, "no shards of the stream can be taken: %s", error)
                    is_failing = True
                except Exception:
                    log.exception("looking for shards of the stream failed")
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._wake.wait(), pause * random.uniform(0.8, 1.2))  # noqa: S311
                self._wake.clear()
        finally:
            for task in self._tasks.values():
                task.cancel()
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)
            self._executor.shutdown(wait=False, cancel_futures=True)

    async def _look(self) -> float:
        """Takes leases of shards that can be read. Returns the seconds until the next look."""
        arn = await arn_of(self._table)
        if self._stream is None or self._stream.arn != arn:
            client = await asyncio.get_running_loop().run_in_executor(self._executor, self._connect)
            self._stream, self._seen_at, self._ended = Stream(client, arn, self._executor), 0.0, set()
        self._stream.everything = self._everything
        stream, soon = self._stream, self._timing.look_every / 8
        listed = {shard.shard_id: shard for shard in await stream.shards()}
        if not await self._is_started(stream, listed):
            return soon
        free = await self._free(stream, listed)
        # Half of them at a time, so that servers that start together share the shards.
        random.shuffle(free)
        for shard in free[: (len(free) + 1) // 2]:
            await self._take(stream, shard)
        return soon if len(free) > 1 else self._timing.look_every

    async def _is_started(self, stream: Stream, listed: dict[str, Shard]) -> bool:
        """Notes that the stream is read. Returns False while another server marks where to begin."""
        noted_every = self._timing.retention / 24
        if self._clock() - self._seen_at < noted_every:
            return True
        table = self._table.using(Usage.lasting(TIME_TO_LOOK))
        found = await table.get(Lease.key(name=STREAM), consistent=True)
        label, seen_at = _seen(found.position if found else None)
        if label == stream.label and self._clock() - seen_at < noted_every:
            self._seen_at = seen_at
            return True
        held = await self._leases.take(STREAM)
        if held is None:
            return label == stream.label
        try:
            label, seen_at = _seen(held.position)
            now = self._clock()
            if label and label != stream.label:
                self._lost(
                    f"the stream {label} was replaced by {stream.label}, and changes between them are in neither"
                )
            elif label and now - seen_at > self._timing.retention - 10 * self._timing.look_every:
                hours = (now - seen_at) / 3600
                self._lost(f"no server has read the stream for {hours:.0f} hours, and it keeps changes for a day")
            if label != stream.label:
                await self._mark_starts(stream, listed)
            await self._log.append([], held.still_mine(position=f"{stream.label} {int(now)}"))
            self._seen_at = now
        finally:
            await held.release()
        return True

    async def _mark_starts(self, stream: Stream, listed: dict[str, Shard]) -> None:
        """Marks the oldest shards of a new stream, because their parents will never be read."""
        oldest = [shard for shard in listed.values() if shard.parent_id is None or shard.parent_id not in listed]
        for shard in oldest:
            if shard.parent_id and await self._exists(stream, shard.parent_id):
                raise StreamFailed("the list of shards lags behind")
            held = await self._leases.take(_name(stream, shard.shard_id))
            if held is None:
                raise LeaseLost(shard.shard_id)
            if held.position is None:
                await self._log.append([], held.still_mine(position=START))
            await held.release()

    async def _exists(self, stream: Stream, shard_id: str) -> bool:
        """Returns True if a shard has records. The list may lag behind."""
        try:
            await stream.iterator(shard_id, None)
        except ShardGone:
            return False
        return True

    async def _free(self, stream: Stream, listed: dict[str, Shard]) -> list[Shard]:
        """Returns the shards that can be read now, and that no server reads."""
        parents = {shard.parent_id for shard in listed.values() if shard.parent_id}
        self._ended &= listed.keys() | parents
        positions = await self._positions(stream, (listed.keys() | parents) - self._ended - self._tasks.keys())
        for shard_id, shard in listed.items():
            parent = shard.parent_id
            if parent and parent not in listed and parent in positions and positions.get(shard_id) == "":
                await self._give_up(stream, parent)
        return [
            shard
            for shard_id, shard in listed.items()
            if shard_id in positions
            and (positions[shard_id] or shard.parent_id is None or shard.parent_id in self._ended)
        ]

    async def _give_up(self, stream: Stream, shard_id: str) -> None:
        """Marks a shard as read that was removed before it was, so that its children can be read."""
        if shard_id in self._ended or await self._exists(stream, shard_id):
            return
        held = await self._leases.take(_name(stream, shard_id))
        if held is None:
            return
        if held.position != END:
            self._lost(f"the rest of {shard_id} is no longer in the stream")
            await self._log.append([], held.still_mine(position=END, expires_at=expiry(self._clock())))
        self._ended.add(shard_id)

    async def _positions(self, stream: Stream, shard_ids: Collection[str]) -> dict[str, str]:
        """Returns the positions of shards that no server reads, empty for new ones. Notes those that ended."""
        keys = {Lease.key(name=_name(stream, shard_id)): shard_id for shard_id in sorted(shard_ids)}
        answers = await self._table.using(Usage.lasting(TIME_TO_LOOK)).get_many(keys)
        positions = {}
        for key, shard_id in keys.items():
            lease = answers[key]
            if isinstance(lease, DatastoreError):
                raise lease
            if lease is None:
                positions[shard_id] = ""
            elif isinstance(lease, Lease):
                if lease.position == END:
                    self._ended.add(shard_id)
                elif self._leases.is_free(lease):
                    positions[shard_id] = lease.position or ""
        return positions

    async def _take(self, stream: Stream, shard: Shard) -> None:
        held = await self._leases.take(_name(stream, shard.shard_id))
        if held is None:
            return
        reader = ShardReader(stream, shard, held, self._log, self._slots, self._lost, self._clock, self._timing)
        self._readers[shard.shard_id] = reader
        self._tasks[shard.shard_id] = asyncio.create_task(self._keep_reading(reader, held))

    def _lost(self, what: str) -> None:
        self.trimmed += 1
        log.error(
            'changes were lost: %s. Rebuild what is derived from them: see "The table\'s stream" in docs/operating.md',
            what,
        )

    async def _keep_reading(self, reader: ShardReader, held: Held) -> None:
        shard_id = reader.shard.shard_id
        try:
            async with asyncio.TaskGroup() as group:
                keeping = group.create_task(held.keep())
                await reader.run()
                keeping.cancel()
            self._ended.add(shard_id)
            self._wake.set()
        except* LeaseLost:
            log.info("another server may read %s now", shard_id)
        except* DatastoreError as errors:
            # The append may have been applied. The next holder of the lease reads the position.
            log.warning("reading %s is interrupted: %s", shard_id, errors.exceptions[0])
        except* Exception:
            log.exception("reading %s failed", shard_id)
        finally:
            del self._readers[shard_id], self._tasks[shard_id]
            if shard_id not in self._ended:
                await held.release()


def _name(stream: Stream, shard_id: str) -> str:
    return f"{stream.label}/{shard_id}"


def _seen(position: str | None) -> tuple[str | None, float]:
    """Returns the label of the stream and the time at which it was last seen."""
    label, _, seen_at = (position or "").rpartition(" ")
    return label or None, float(seen_at or 0)
