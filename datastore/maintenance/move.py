"""Moves a table to another place while servers use it: copies it, follows its changes, and switches.

Its progress is an item of the source, so that the same command goes on after it was killed.
"""

import asyncio
import time
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from datastore.client.table import Table
from datastore.maintenance.changed_places import LEFT_OUT, READ_LAST, ChangedPlaces, LogPosition, items_of_the_log
from datastore.maintenance.comparison import compare, still_different
from datastore.maintenance.operations import SEEN_WITHIN, Operation
from datastore.maintenance.progress import Progress, Silent
from datastore.maintenance.raw_items import Place, RawItems, head_of
from datastore.maintenance.read_rate import ReadRate
from datastore.maintenance.restore import is_empty
from datastore.maintenance.segments import SEGMENTS, MaintenanceScan, Positions, ScannedPage

SAVED_EVERY = 1.0
ITEMS_AT_ONCE = 500
# While writes are paused: until the log has been without news for this long.
QUIET_SECONDS = 2.0
# A stream tells of changes later than of writes.
QUIET_SECONDS_OF_A_STREAM = 10.0
# A write that was sent before the pause and failed is repeated until the time of its request is over (REQUEST_TIMEOUT).
REQUESTS_END_AFTER = 10.0
LOOK_EVERY = 0.2
CLOSE_ENOUGH = 100
HELD_FOR = 86_400
IS_SWITCHED = "isSwitched"


class CannotMove(Exception):
    """The move cannot begin or end; the message says what to do."""


@dataclass(frozen=True)
class MoveOptions:
    """Choices of the operator."""

    segments: int = SEGMENTS
    read_units: float | None = None
    switch: bool = False
    compare_paused: bool = False
    """Compares all items once more while writes are paused."""
    is_alone: bool = False
    """True if no other process can write to the source."""


@dataclass
class Moved:
    """Figures of a move."""

    copied: int = 0
    followed: int = 0
    compared: int = 0
    repaired: int = 0
    paused_seconds: float = 0.0
    is_switched: bool = False


class Move:
    """A move of `source` to `target`. `to` names the target, as the operator wrote it."""

    def __init__(
        self,
        source: Table,
        target: Table,
        to: str,
        options: MoveOptions | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._source = RawItems(source)
        self._target = RawItems(target)
        self._options = options or MoveOptions()
        self._progress = progress or Silent()
        self._rate = ReadRate(self._options.read_units)
        digest = blake2b(f"{to} {target.name}".encode(), digest_size=8).hexdigest()
        self._operation_id = f"MOVE-{digest}"
        self._saved_at = 0.0
        self.moved = Moved()

    async def run(self) -> Moved:
        """Copies, follows and compares and, if told to, switches. Goes on where an earlier process ended."""
        await self._begin()
        try:
            await self._copy()
            await self._catch_up()
            await self._compare()
            if self._options.switch:
                await self._switch()
            else:
                await self._catch_up()
        finally:
            await self._guard.release()
        return self.moved

    async def _begin(self) -> None:
        source, target = self._source.table, self._target.table
        operation = await Operation.resume(source, self._operation_id)
        if operation is None:
            if not await is_empty(target) and await Operation.resume(target, self._operation_id) is None:
                raise CannotMove(f"the table {target.name} is not empty; move into a new one")
            operation = await Operation.begin(source, "its table moves", self._operation_id, logs_everything=True)
        else:
            if IS_SWITCHED in operation.position:
                raise CannotMove(
                    f"this move has been switched, and servers may have written to {target.name} since: nothing "
                    "was copied; --release withdraws the switch"
                )
            self._progress.say("going on with a move that was interrupted")
        self._operation = operation
        # Servers that are started too early must not write to the target.
        self._guard = await Operation.begin(target, "the table is being filled", self._operation_id)
        await self._guard.pause_writes(0.0)
        state = operation.position
        if not state:
            if not self._options.is_alone:
                await asyncio.sleep(SEEN_WITHIN)
            changed = await ChangedPlaces.from_now(source)
            state = {"log": changed.position.as_json(), "scan": Positions(self._options.segments).as_json()}
        self._changed = ChangedPlaces(source, LogPosition.from_json(state["log"]))
        self._positions = Positions.from_json(state["scan"])
        await self._save()

    async def _copy(self) -> None:
        self._progress.phase("copying")
        self._progress.add(self._positions.items)
        await MaintenanceScan(self._source.table, self._positions, self._rate).run(self._take)
        await self._save()

    async def _take(self, page: ScannedPage) -> None:
        kept = [bytes(memoryview(item)) for item in page.items if head_of(item).kind not in LEFT_OUT | READ_LAST]
        await self._target.write(kept)
        self.moved.copied += len(kept)
        self._progress.add(len(page.items))
        # Without this page, which would be copied again.
        if time.monotonic() - self._saved_at > SAVED_EVERY:
            await self._save()

    async def _save(self) -> None:
        self._saved_at = time.monotonic()
        await self._operation.move_to(self._position())

    def _position(self) -> dict[str, Any]:
        return {"log": self._changed.position.as_json(), "scan": self._positions.as_json()}

    async def _catch_up(self) -> None:
        """Copies what changed, as long as each round has much less to copy than the one before."""
        self._progress.phase("following the changes")
        before = len(await self._follow())
        while before > CLOSE_ENOUGH and (now := len(await self._follow())) < before / 2:
            before = now

    async def _follow(self) -> set[Place]:
        """Copies what changed since the last round. Returns the items."""
        if self._operation.is_over:
            raise CannotMove(
                "the copy took more than a day, and changes since are no longer known; move into a new table, with a "
                "higher --read-units"
            )
        places = await self._changed.next()
        await self._copy_again(places)
        self.moved.followed += len(places)
        self._progress.add(len(places))
        if places or time.monotonic() - self._saved_at > SAVED_EVERY:
            self._saved_at = time.monotonic()
            await self._operation.go_on_from(self._position())
        return places

    async def _copy_again(self, places: set[Place]) -> None:
        ordered = sorted(places)
        for start in range(0, len(ordered), ITEMS_AT_ONCE):
            some = ordered[start : start + ITEMS_AT_ONCE]
            found = await self._source.get(some)
            kept = {place: item for place, item in found.items() if head_of(item).kind not in LEFT_OUT}
            await self._target.write(kept.values(), [place for place in some if place not in found])

    async def _compare(self) -> None:
        """Compares all items. What differs, and did not just change, is copied again."""
        self._progress.phase("comparing both tables", 2 * self._positions.items)
        found = await compare(self._source, self._target, self._rate, self._options.segments, self._progress)
        self.moved.compared = found.compared
        changed = await self._follow()
        wrong = await still_different(self._source, self._target, found.places - changed)
        if wrong:
            self._progress.say(f"{len(wrong)} items differed and are copied again, such as {sorted(wrong)[0]}")
            await self._copy_again(wrong)
            self.moved.repaired += len(wrong)

    async def _switch(self) -> None:
        """Pauses writes, copies the rest, verifies it, and leaves the source read-only."""
        self._progress.say("writes to the source are paused")
        began = time.monotonic()
        await self._operation.pause_writes(0.0 if self._options.is_alone else SEEN_WITHIN)
        try:
            places = await self._drain()
            await self._copy_log()
            if self._options.compare_paused:
                await self._compare()
            wrong = await still_different(self._source, self._target, places)
            if wrong:
                raise CannotMove(f"{len(wrong)} items still differ, such as {sorted(wrong)[0]}; run the command again")
        except BaseException:
            await self._operation.resume_writes()
            raise
        # From now on, the target has what the source has not: this move must never copy again.
        await self._operation.keep_paused_for(HELD_FOR, {IS_SWITCHED: True})
        await self._guard.end()
        self.moved.paused_seconds = time.monotonic() - began
        self.moved.is_switched = True

    async def _drain(self) -> set[Place]:
        """Follows until there is no news for some time. Returns all items that changed meanwhile."""
        everything: set[Place] = set()
        has_outbox = self._source.table.recorder is not None
        quiet = QUIET_SECONDS if has_outbox else QUIET_SECONDS_OF_A_STREAM
        since = time.monotonic()
        until = since + REQUESTS_END_AFTER
        if self._options.is_alone:
            quiet, until = 0.0, since
        while True:
            places = await self._follow()
            everything |= places
            if places:
                since = time.monotonic()
            elif time.monotonic() >= max(until, since + quiet):
                return everything
            await asyncio.sleep(LOOK_EVERY)

    async def _copy_log(self) -> None:
        """Copies the log and the progress of its readers, so that they go on where they stopped."""
        here, there = await items_of_the_log(self._source), await items_of_the_log(self._target)
        places = {head_of(item).place for item in here}
        await self._target.write(here, [place for item in there if (place := head_of(item).place) not in places])


async def release(source: Table, to: str, target_name: str) -> bool:
    """Lets servers write to the source again, which withdraws a switch. Returns False without one."""
    move = Move(source, Table(source.transport, target_name, source.usage), to)
    operation = await Operation.resume(source, move._operation_id)
    if operation is None:
        return False
    await operation.end()
    return True
