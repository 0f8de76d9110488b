"""Deletes expired items where no stream tells about their removal: on this machine, with the local engine.

In AWS, DynamoDB does it, and the stream marks such removals. Here, the change log gets the same mark, so that counts of
what has happened do not move.
"""

import asyncio
import logging
import time
from datetime import timedelta
from typing import Any

from msgspec import Raw

from datastore.changes.leases import Held, LeaseLost, Leases
from datastore.client.budget import Usage
from datastore.client.errors import Conflict, CorruptItem, DatastoreError
from datastore.client.table import Table
from datastore.client.writes import Delete, Update, equals
from datastore.maintenance.read_rate import ReadRate
from datastore.maintenance.segments import MaintenanceScan, Positions, ScannedPage
from datastore.model.codec import Item
from datastore.model.entity import REGISTRY, entity_name, loaded
from datastore.model.keys import Key

log = logging.getLogger("heartwood.sweeper")

LEASE = "sweep"
EVERY = timedelta(hours=1).total_seconds()
LOOK_EVERY = 60.0
# A table of 100 MB takes four minutes.
READ_UNITS_A_SECOND = 50.0
# Jobs that purge with more care come first.
MARGIN = timedelta(minutes=15).total_seconds()
TIME_FOR_ONE = 60.0
AT_ONCE = 8


async def sweep(table: Table, rate: ReadRate | None = None, *, margin: float = MARGIN) -> int:
    """Deletes what has expired. Returns the number of items."""
    swept = 0

    async def handle(page: ScannedPage) -> None:
        nonlocal swept
        over = [item for text in page.items if (item := _expired(text, margin)) is not None]
        for start in range(0, len(over), AT_ONCE):
            swept += sum(await asyncio.gather(*(_delete(table, item) for item in over[start : start + AT_ONCE])))

    await MaintenanceScan(table, Positions(segments=1), rate).run(handle)
    return swept


def _expired(text: Raw, margin: float) -> Item | None:
    try:
        item = loaded(text)
    except CorruptItem:
        return None
    expires_at = item.get("expiresAt", {}).get("N", "")
    is_over = expires_at.isdigit() and int(expires_at) < time.time() - margin
    return item if is_over and entity_name(item) in REGISTRY else None


async def _delete(table: Table, item: Item) -> bool:
    """Deletes an item unless it was restored or renewed since it was read."""
    key: Key[Any] = Key(REGISTRY[entity_name(item)], item["PK"]["S"], item["SK"]["S"])
    when = equals("expires_at", int(item["expiresAt"]["N"]))
    try:
        await table.using(Usage.lasting(TIME_FOR_ONE, is_patient=True)).write(Delete(key, when=when, expired=True))
    except Conflict:
        return False
    return True


class Sweeper:
    """Sweeps once an hour, in one of all servers. The lease remembers when."""

    def __init__(self, table: Table, leases: Leases) -> None:
        self._table = table
        self._leases = leases

    async def run(self) -> None:
        """Sweeps until it is canceled."""
        while True:
            await asyncio.sleep(LOOK_EVERY)
            try:
                await self.sweep_if_due()
            except (DatastoreError, LeaseLost) as error:
                log.warning("expired items have to wait: %r", error)
            except Exception:
                log.exception("expired items have to wait")

    async def sweep_if_due(self, now: float | None = None) -> int | None:
        """Sweeps if no server has done it in the last hour. Returns the number of items, or None."""
        held = await self._leases.take(LEASE)
        if held is None:
            return None
        keeping = asyncio.create_task(held.keep())
        try:
            moment = time.time() if now is None else now
            if held.position and float(held.position) > moment - EVERY:
                return None
            swept = await sweep(self._table, ReadRate(READ_UNITS_A_SECOND))
            await self._remember(held, moment)
            if swept:
                log.info("%d expired items deleted", swept)
            return swept
        finally:
            keeping.cancel()
            await held.release()

    async def _remember(self, held: Held, moment: float) -> None:
        write = held.still_mine(position=str(int(moment)))
        assert isinstance(write, Update)
        await self._table.using(Usage.lasting(TIME_FOR_ONE)).update(write)
