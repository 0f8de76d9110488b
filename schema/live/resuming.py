"""Resumes a subscription: in the change log, or in the table if the log does not reach back that far."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from datastore.changes.change import Change, What
from datastore.client.positions import Position
from datastore.model.keys import Key
from datastore.model.times import Time, as_time, now, time_from_now
from loaders.appends import Growing
from schema.declare.appended import Opening
from schema.declare.context import RequestContext
from schema.declare.cursors import LogPosition, Resumption
from schema.declare.errors import BadInput

if TYPE_CHECKING:
    from schema.live.subscriptions import Subscriptions

# An index may lag behind the table, the log behind both, and the clocks of servers may differ. What is younger than
# this is left to the log, which is read from twice as long ago.
SETTLED = timedelta(seconds=10)
# The log may have changes of the time before the table was read for so long afterwards.
OVERLAP = timedelta(minutes=1)
RECORDS_AT_ONCE = 50
MOST_RECORDS = 10_000
TOO_MANY = (
    f"this list is too long to find what was added to it: it has over {MOST_RECORDS:,} records, which are not in the "
    "order of time. Read the list, and subscribe without `after`"
)
GONE = "the record of this cursor is gone; use a later cursor, or subscribe without `after`"


class Start(NamedTuple):
    """The position in the log, and what is read from the table first."""

    log: LogPosition
    resumption: Resumption | None = None
    table: "TableRead | None" = None


async def start_of(hub: "Subscriptions", opening: Opening, context: RequestContext, heard: LogPosition) -> Start:
    """Returns where a subscription begins. Raises BadInput if its cursor leads nowhere."""
    growing, position, bookmark = opening.growing, opening.position, opening.bookmark
    assert growing is not None
    if position is None:
        return Start(heard)
    if bookmark is not None and await _reaches_back(hub, bookmark.log, heard):
        resumption = bookmark.resumption
        if resumption is None or not resumption.reads_table:
            return Start(bookmark.log, resumption)
        resumption = resumption._replace(since=growing.rank_at(position, bookmark.at))
        return Start(bookmark.log, resumption, TableRead(growing, position, resumption))
    at = bookmark.at if bookmark else await _time_at(growing, position, context)
    resumption = Resumption(growing.rank_at(position, at), now(), reads_table=True)
    long_ago = time_from_now(-2 * SETTLED)
    log = [(await hub.log.position_at(tail.partition, long_ago), 0) for tail in hub.tails]
    return Start(tuple(log), resumption, TableRead(growing, position, resumption))


async def _reaches_back(hub: "Subscriptions", log: LogPosition, heard: LogPosition) -> bool:
    """Returns True if the log has everything after this position."""
    if len(log) != len(heard):
        return False
    for tail, place, known in zip(hub.tails, log, heard, strict=True):
        if place == known:
            continue
        sequence, done = place
        if place > known:
            # Another server may have read more of the log. Or the table was restored, and the numbers begin again.
            if await hub.log.head(tail.partition) < sequence + bool(done):
                return False
        elif not await tail.reaches_back(sequence):
            return False
    return True


async def _time_at(growing: Growing, position: Position, context: RequestContext) -> str:
    """Returns the time at which the record of a cursor was added. The cursor of a list by time has it."""
    if growing.is_by_time:
        return ""
    pk, sk = growing.rank_at(position, "")[2:]
    key: Key[Any] = Key(growing.ranges[0].entity, pk, sk)
    found: Any = await context.load.table.get(key, consistent=True, lean=True)
    if found is None:
        raise BadInput(GONE)
    at: str = getattr(found, growing.at)
    return at


class TableRead:
    """Reads what was added to a list after a record and a while ago, in order."""

    def __init__(self, growing: Growing, position: Position, resumption: Resumption) -> None:
        self._growing = growing
        self._position: Position | None = position
        self._since = resumption.since
        self._until = settled_before(resumption)
        self._waiting: list[Key[Any]] | None = None

    async def next(self, context: RequestContext) -> list[Key[Any]]:
        """Returns the keys of the next records; none at the end."""
        if self._growing.is_by_time:
            return await self._next_by_time(context)
        if self._waiting is None:
            self._waiting = await self._all_added(context)
        some, self._waiting = self._waiting[:RECORDS_AT_ONCE], self._waiting[RECORDS_AT_ONCE:]
        return some

    async def _next_by_time(self, context: RequestContext) -> list[Key[Any]]:
        while self._position is not None:
            step = self._growing.newer(RECORDS_AT_ONCE, context.viewer, self._position)
            page = await context.load.run(step)
            keys = self._keys_of(page.records)
            is_done = len(keys) < len(page.records) or not page.more
            last = page.resume or (self._growing.position_of(page.records[-1]) if page.records else None)
            self._position = None if is_done else last
            if keys:
                return keys
        return []

    def _keys_of(self, records: Sequence[Any]) -> list[Key[Any]]:
        return [record.own_key for record in records if getattr(record, self._growing.at) <= self._until]

    async def _all_added(self, context: RequestContext) -> list[Key[Any]]:
        """Reads the whole list, whose order tells nothing about time. Raises BadInput if that is too long."""
        found: list[Any] = []
        position: Position | None = None
        count = 0
        while True:
            page = await context.load.run(self._growing.page(100, context.viewer, position))
            count += len(page.records)
            if count > MOST_RECORDS:
                raise BadInput(TOO_MANY)
            context.allowance.owe(1)
            found += [each for each in page.records if self._growing.rank_of(each) > self._since]
            if not page.more:
                break
            position = page.resume or self._growing.position_of(page.records[-1])
        return self._keys_of(sorted(found, key=self._growing.rank_of))


def settled_before(resumption: Resumption) -> Time:
    """Returns the time up to which records are read from the table."""
    return as_time(datetime.fromisoformat(resumption.began) - SETTLED)


def overlaps(resumption: Resumption, change: Change) -> bool:
    """Returns True for a change that may be older than the read of the table."""
    return datetime.fromisoformat(change.at) <= datetime.fromisoformat(resumption.began) + OVERLAP


def was_sent(resumption: Resumption, change: Change, growing: Growing, record: Any) -> bool:
    """Returns True for a record that the client has, or that was read from the table."""
    if change.at > resumption.began:
        return False
    return growing.rank_of(record) <= resumption.since or getattr(record, growing.at) <= settled_before(resumption)


def as_change(key: Key[Any], resumption: Resumption) -> Change:
    """Returns a record of the table as the change that added it."""
    return Change(key, What.INSERTED, Time(resumption.began), {}, {})
