"""Operations on the whole table that are under way, which servers see within a second.

An operation can ask servers for two things: to log the changes of bookkeeping too, so that it can follow every change,
and to pause writes, so that it can come to an end.
"""

import asyncio
import contextlib
import logging
import time
from dataclasses import replace
from typing import Any

import orjson

from datastore.changes.outbox import Outbox
from datastore.changes.records import ChangeBatch, Lease, LogHead, OutboxItem
from datastore.changes.stream_source import StreamSource
from datastore.client.budget import Usage
from datastore.client.errors import DatastoreError
from datastore.client.table import Table
from datastore.client.writes import Put
from datastore.model.entity import Entity, field
from datastore.model.ownership import nobody
from datastore.model.times import new_id

log = logging.getLogger("heartwood.maintenance")

LOOK_EVERY = 1.0
# After this, every server has looked, and what it sent before is done.
SEEN_WITHIN = 4 * LOOK_EVERY
TIME_FOR_ONE = 10.0
# An operation that was killed and never resumed must not slow servers down forever. The change log lasts as long.
LASTS = 86_400
# A pause ends by itself soon after the operation that asks for it is killed.
PAUSE_LASTS = 120
RENEWED_EVERY = 20.0


class MaintenanceOperation(
    Entity,
    pk="MAINTENANCE",
    sk="OPERATION#{operation_id}",
    owner=nobody("it names no account, and expires within a day"),
    logged=False,
):
    """A backup, restore or move that is under way, with what it asks servers for."""

    operation_id: str = field("Its ID.")
    kind: str = field("What it does, for operators and clients.")
    logs_everything: bool = field("True if servers have to log changes of bookkeeping too.", default=False)
    pauses_until: int = field("Unix time until which servers refuse to write.", default=0)
    position: str | None = field("Progress of the operation, as JSON.", default=None)


# Written while writes are paused, so that all changes get to the log.
WRITTEN_IN_PAUSES = frozenset({OutboxItem, ChangeBatch, LogHead, Lease, MaintenanceOperation})


class Operation:
    """An operation of this process."""

    def __init__(self, table: Table, record: MaintenanceOperation) -> None:
        self._table = table
        self.record = record
        self._renewing: asyncio.Task[None] | None = None

    @classmethod
    async def begin(cls, table: Table, kind: str, operation_id: str | None = None, **wanted: Any) -> "Operation":
        record = MaintenanceOperation(
            operation_id=operation_id or new_id(), kind=kind, expires_at=int(time.time()) + LASTS, **wanted
        )
        operation = cls(table, record)
        await operation._store()
        return operation

    @classmethod
    async def resume(cls, table: Table, operation_id: str) -> "Operation | None":
        """Returns an operation that an earlier process began, or None if it is over."""
        key = MaintenanceOperation.key(operation_id=operation_id)
        found = await table.using(Usage.lasting(TIME_FOR_ONE)).get(key, consistent=True)
        operation = cls(table, found) if found else None
        return None if operation is None or operation.is_over else operation

    @property
    def is_over(self) -> bool:
        """True if servers no longer do what it asks for: it lasts a day, like the change log."""
        return (self.record.expires_at or 0) <= time.time()

    @property
    def position(self) -> dict[str, Any]:
        return orjson.loads(self.record.position) if self.record.position else {}

    async def move_to(self, position: dict[str, Any]) -> None:
        """Stores the progress, so that another process can go on."""
        self.record = replace(self.record, position=orjson.dumps(position).decode())
        await self._store()

    async def go_on_from(self, position: dict[str, Any]) -> None:
        """Stores a position that needs nothing of the change log until now, so it lasts a day from now."""
        self.record = replace(self.record, expires_at=int(time.time()) + LASTS)
        await self.move_to(position)

    async def pause_writes(self, seen_within: float = SEEN_WITHIN) -> None:
        """Lets servers refuse writes from now on, and waits until all of them do."""
        await self._renew_pause()
        self._renewing = asyncio.create_task(self._keep_paused())
        await asyncio.sleep(seen_within)

    async def resume_writes(self) -> None:
        await self._stop_renewing()
        self.record = replace(self.record, pauses_until=0)
        await self._store()

    async def keep_paused_for(self, seconds: int, position: dict[str, Any]) -> None:
        """Leaves the pause on when this process ends."""
        await self._stop_renewing()
        until = int(time.time()) + seconds
        self.record = replace(self.record, pauses_until=until, expires_at=until)
        await self.move_to(position)

    async def release(self) -> None:
        """Stops the work of this process for it. The operation stays, for a process that goes on."""
        await self._stop_renewing()

    async def end(self) -> None:
        await self._stop_renewing()
        table = self._table.using(Usage.lasting(TIME_FOR_ONE))
        await table.delete(self.record.own_key)

    async def _keep_paused(self) -> None:
        while True:
            await asyncio.sleep(RENEWED_EVERY)
            with contextlib.suppress(DatastoreError):
                await self._renew_pause()

    async def _renew_pause(self) -> None:
        until = int(time.time()) + PAUSE_LASTS
        # Servers do not look at an operation that is over.
        self.record = replace(self.record, pauses_until=until, expires_at=max(self.record.expires_at or 0, until))
        await self._store()

    async def _stop_renewing(self) -> None:
        if self._renewing:
            self._renewing.cancel()
            await asyncio.gather(self._renewing, return_exceptions=True)
            self._renewing = None

    async def _store(self) -> None:
        usage = Usage.lasting(TIME_FOR_ONE, is_patient=True)
        await self._table.using(usage).write(Put(self.record))


async def operations_under_way(table: Table) -> list[MaintenanceOperation]:
    """Returns the operations that are not over."""
    page = await table.using(Usage.lasting(TIME_FOR_ONE)).query(MaintenanceOperation.within(), limit=100)
    return [each for each in page.records if (each.expires_at or 0) > time.time()]


class OperationWatch:
    """Does what operations ask of a process. One per process, as long as it runs."""

    def __init__(self, table: Table, stream: StreamSource | None = None) -> None:
        self._table = table
        self._stream = stream
        table.transport.write_pause.exempt = WRITTEN_IN_PAUSES

    async def run(self) -> None:
        """Looks every second until it is canceled."""
        is_failing = False
        while True:
            try:
                await self.look()
                is_failing = False
            except DatastoreError as error:
                # The last that was seen stays. Once per outage.
                log.log(logging.DEBUG if is_failing else logging.WARNING, "operations cannot be read: %s", error)
                is_failing = True
            except Exception:
                log.exception("operations cannot be read")
            await asyncio.sleep(LOOK_EVERY)

    async def look(self) -> None:
        found = await operations_under_way(self._table)
        pausing = next((each for each in found if each.pauses_until > time.time()), None)
        pause = self._table.transport.write_pause
        reason = f"the data is read-only for a moment: {pausing.kind}" if pausing else None
        if reason != pause.reason:
            log.warning("writes are paused: %s" if reason else "writes go on%s", reason or "")
            pause.reason = reason
        everything = any(each.logs_everything for each in found)
        if isinstance(self._table.recorder, Outbox):
            self._table.recorder.everything = everything
        if self._stream:
            self._stream.log_everything(everything)
