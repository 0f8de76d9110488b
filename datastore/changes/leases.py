"""Leases: what only one process may do at a time. The lease of a dead process is free after 15 seconds."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable

from datastore.changes.records import Lease
from datastore.client.budget import Usage
from datastore.client.errors import Conflict, DatastoreError
from datastore.client.table import Table
from datastore.client.writes import Check, Update, Write, equals, same
from datastore.model.times import new_id, now

log = logging.getLogger("heartwood.leases")

LASTS = 15
RENEWED_EVERY = 5.0
MOST_SEEN = 1_000
TIME_FOR_ONE = 4.0


class LeaseLost(Exception):
    """Another process may hold the lease now."""


class Leases:
    """The leases of a process."""

    def __init__(self, table: Table, clock: Callable[[], float] = time.time) -> None:
        self._table = table
        self._clock = clock
        # What others held when this process looked, and since when it has been the same.
        self._seen: dict[str, tuple[Lease, float]] = {}

    def is_free(self, lease: Lease) -> bool:
        """Returns True if its time is over, or if no one has renewed it for as long.

        A dead holder whose clock was ahead would otherwise keep it until the clock of this process is there.
        """
        now = self._clock()
        seen, since = self._seen.get(lease.name, (lease, now))
        if (seen.held_by, seen.held_until) != (lease.held_by, lease.held_until):
            seen, since = lease, now
        if len(self._seen) >= MOST_SEEN:
            self._seen.clear()
        self._seen[lease.name] = seen, since
        return lease.held_until <= now or now - since > LASTS

    async def take(self, name: str) -> "Held | None":
        """Returns the lease if it is free, or None."""
        table = self._table.using(Usage.lasting(TIME_FOR_ONE))
        key, holder, taken_at = Lease.key(name=name), new_id(), self._clock()
        found = await table.get(key, consistent=True)
        if found is not None and not self.is_free(found):
            return None
        # A holder whose time is over may still have renewed it or stored another position.
        fields = ("held_by", "held_until", "position")
        by, until, position = (same(name, getattr(found, name) if found else None) for name in fields)
        free = by & until & position
        try:
            record = Lease(name=name, held_by=holder, held_until=int(taken_at) + LASTS)
            await table.update(Update.upsert(record, add={}, when=free))
        except Conflict:
            return None
        return Held(self._table, self._clock, name, holder, found.position if found else None, taken_at + LASTS)


class Held:
    """A lease that this process holds, until it is lost."""

    def __init__(
        self, table: Table, clock: Callable[[], float], name: str, holder: str, position: str | None, until: float
    ) -> None:
        self._table = table
        self._clock = clock
        self._until = until
        self.name = name
        self.holder = holder
        self.position = position

    def still_mine(self, *, position: str | None = None, expires_at: int | None = None) -> Write:
        """Returns a write for the transactions of the work: it fails if the lease is lost, and keeps the position.

        Finished work that will not be looked at again can let its lease expire.
        """
        mine = equals("held_by", self.holder)
        key = Lease.key(name=self.name)
        if position is None:
            return Check(key, mine)
        expiry = {} if expires_at is None else {"expires_at": expires_at}
        return Update(key, set={"position": position, **expiry}, when=mine)

    async def renew(self) -> None:
        """Renews the lease. Raises LeaseLost if another process has it, or could have it."""
        renewed_at = self._clock()
        if renewed_at >= self._until:
            raise LeaseLost(self.name)
        table = self._table.using(Usage.lasting(TIME_FOR_ONE))
        until = int(renewed_at) + LASTS
        try:
            await table.update(
                Update(
                    Lease.key(name=self.name),
                    set={"held_until": until, "updated_at": now()},
                    when=equals("held_by", self.holder),
                )
            )
            self._until = until
        except Conflict:
            raise LeaseLost(self.name) from None
        except DatastoreError as error:
            log.warning("the lease %s was not renewed: %s", self.name, error)

    async def keep(self) -> None:
        """Renews the lease until it is lost."""
        while True:
            await asyncio.sleep(RENEWED_EVERY)
            await self.renew()

    async def release(self) -> None:
        """Lets another process take it at once."""
        with contextlib.suppress(DatastoreError):
            table = self._table.using(Usage.lasting(TIME_FOR_ONE))
            await table.update(
                Update(Lease.key(name=self.name), set={"held_until": 0}, when=equals("held_by", self.holder))
            )
