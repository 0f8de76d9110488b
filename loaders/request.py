"""Reads and writes of one request: everything is read once, in as few calls as possible."""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar, cast

from datastore.client.errors import Conflict, DatastoreError
from datastore.client.positions import Position
from datastore.client.table import Page, RangeRead, Table
from datastore.client.writes import Check, Put, Write
from datastore.model.entity import Entity
from datastore.model.keys import Key, Range
from loaders.kept import Kept
from loaders.needs import Items, Latest, Pages, Step, needed
from loaders.scheduler import Scheduler
from loaders.shared_reads import SharedReads
from loaders.viewer import Viewer
from loaders.visibility import seen_at

E = TypeVar("E", bound=Entity)
T = TypeVar("T")

Rider = Callable[[Sequence[Write]], Put]
"""Makes the record of an Idempotency-Key for the writes of a command."""


class Required(NamedTuple):
    """A condition on which all writes of a viewer depend, and the error if it fails."""

    check: Check
    error: Exception


class Repeated(Exception):
    """A request with the same Idempotency-Key was applied first. Not a Conflict: commands must not handle it."""


class Loaders:
    """Reads and writes for one viewer, through one scheduler. `shared` are the reads of the whole process."""

    def __init__(
        self,
        table: Table,
        viewer: Viewer,
        *,
        shared: SharedReads | None = None,
        consistent: bool = False,
        required: Callable[[Viewer], Required | None] = lambda _: None,
    ) -> None:
        self.table = table
        self.viewer = viewer
        self._required = required
        self.shared = shared or SharedReads(table)
        self._consistent = consistent
        self._kept: Kept | None = None
        self.begin_again()
        # Rides along with the next `write`.
        self.rider: Rider | None = None
        # True if a write of the current command was applied, or if its outcome is not known.
        self.may_have_applied = False

    def begin_again(self) -> None:
        """Forgets everything that the request has read."""
        if self._kept is not None:
            self._kept.clear()
        self.scheduler = Scheduler(self.table, None if self._consistent else self.shared, self._kept)

    def read_into(self, kept: Kept, shared: SharedReads | None = None) -> None:
        """Reads only what is not kept, and keeps it. `shared` are the reads of all requests of this kind."""
        self._kept = kept
        self.shared = shared or self.shared
        self.scheduler = Scheduler(self.table, self.shared, kept)

    async def one(self, key: Key[E]) -> E | None:
        """Returns the record if it exists and the viewer may see it."""
        (record,) = await self.run(seen_at([key], self.viewer))
        return cast(E | None, record)

    async def stored(self, key: Key[E]) -> E | None:
        """Returns the record regardless of visibility: commands base decisions on it."""
        (record,) = await self.run(needed(Items([key])))
        return cast(E | None, record)

    async def fresh(self, *keys: Key[E]) -> list[E | None]:
        """Strongly consistent read; refreshes what the request has kept."""
        return cast(list[E | None], await self.run(needed(Latest(keys))))

    async def page(
        self, within: Range[E], limit: int, after: Position | None = None, *, backward: bool = False
    ) -> Page[E]:
        """Returns one page as it is stored; `loaders.pages` leaves out what the viewer may not see."""
        (page,) = await self.run(needed(Pages([RangeRead(within, limit, after, backward)])))
        return cast(Page[E], page)

    async def pages(self, within: Range[E], size: int) -> AsyncIterator[Sequence[E]]:
        """Yields a whole range as it is stored, page by page."""
        page = await self.page(within, size)
        yield page.records
        while page.more:
            page = await self.page(within, size, page.more)
            yield page.records

    async def run(self, step: Step[T]) -> T:
        """Runs a step. Steps that run at the same time are read for together."""
        return await self.scheduler.run(step)

    def read_consistently(self) -> None:
        """From here on, all reads are strongly consistent: another server may just have written what is read."""
        self.scheduler.wrote((), applied=False)

    async def write(self, *writes: Write, entry: Put | None = None) -> None:
        """Writes all or nothing. From then on this request reads its own writes.

        With an Idempotency-Key, its record is part of the transaction: the command is complete after this. So is
        `entry`, the command's entry in a log, which has a place of its own.
        """
        rider = self.rider(writes) if self.rider else None
        await self._write_for_viewer(writes, [each for each in (rider, entry) if each], keep=True)
        self.rider = None

    async def write_part(self, *writes: Write) -> None:
        """Writes one of several transactions of a command, which a later one completes. Caches nothing."""
        await self._write_for_viewer(writes, [], keep=False)

    async def write_aside(self, *writes: Write) -> None:
        """Writes what is not a change that the client asked for, such as a rate-limit counter."""
        before = self.may_have_applied
        try:
            await self._write(writes, [], keep=True)
        finally:
            self.may_have_applied = before

    async def _write_for_viewer(self, writes: Sequence[Write], riders: Sequence[Write], *, keep: bool) -> None:
        """Writes on condition of what is required of the viewer, in the same transaction."""
        required = self._required(self.viewer)
        if required is None:
            return await self._write(writes, riders, keep=keep)
        check = required.check
        if not any(write.key == check.key for write in writes):
            try:
                return await self._write(writes, [*riders, check], keep=keep)
            except Conflict as conflict:
                raise (required.error if check in conflict else conflict) from None
        # A transaction takes one action per item, so the condition joins the command's own.
        joined = [_joined(write, check) if write.key == check.key else write for write in writes]
        try:
            return await self._write(joined, riders, keep=keep)
        except Conflict as conflict:
            commands_own = dict(zip(map(id, joined), writes, strict=True))
            failures = [replace(each, write=commands_own.get(id(each.write), each.write)) for each in conflict.failures]
            raise Conflict(str(conflict), failures) from None

    async def _write(self, writes: Sequence[Write], riders: Sequence[Write], *, keep: bool) -> None:
        applied = False
        # Assumed until the database answers: a cancelled write may be under way.
        before, self.may_have_applied = self.may_have_applied, True
        try:
            await self.table.write(*writes, riders=riders)
            applied = True
        except DatastoreError as error:
            self.may_have_applied = before or error.may_have_applied
            # Of the riders that are put, only the record of an Idempotency-Key has a condition.
            if isinstance(error, Conflict) and any(rider in error for rider in riders if isinstance(rider, Put)):
                raise Repeated from None
            raise
        finally:
            self.scheduler.wrote(writes, applied=applied and keep)
            if self.may_have_applied:
                self.shared.wrote([*writes, *riders])


def _joined(write: Write, check: Check) -> Write:
    return replace(write, when=check.when if write.when is None else write.when & check.when)
