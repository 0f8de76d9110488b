"""The tenants that exist, so that a mistyped tenant is an error and not an empty website."""

import asyncio

from datastore.client.budget import Usage
from datastore.client.errors import CorruptItem, InvalidKey
from datastore.client.table import Table
from datastore.cms import Tenant

MOST_TENANTS = 10_000
TIME_FOR_ONE = 5.0


class KnownTenants:
    """One per server. Tenants are never deleted, so each is read once; names that are none are not remembered.

    Its reads belong to the process: a request that waits for one is not charged.
    """

    def __init__(self, table: Table, within: float = TIME_FOR_ONE, most: int = MOST_TENANTS) -> None:
        self.reads = 0
        self._table = table
        self._within = min(within, TIME_FOR_ONE)
        self._most = most
        # The oldest come first.
        self._known: dict[str, None] = {}
        self._under_way: dict[str, asyncio.Task[bool]] = {}

    def __contains__(self, tenant_id: str) -> bool:
        """Returns True if the tenant is known to exist."""
        return tenant_id in self._known

    async def exists(self, tenant_id: str) -> bool:
        """Returns True if there is such a tenant. Reads a name that is not known, unless it cannot be one."""
        if tenant_id in self._known:
            return True
        try:
            Tenant.key(tenant_id=tenant_id)
        except InvalidKey:
            return False
        joined = tenant_id in self._under_way
        found = await self._read_once(tenant_id)
        # A read that was under way may have begun before the tenant was created.
        return found or (joined and await self._read_once(tenant_id))

    async def _read_once(self, tenant_id: str) -> bool:
        """Requests that come during a read wait for it together. One that leaves does not end it for the others."""
        reading = self._under_way.get(tenant_id)
        if reading is None:
            reading = self._under_way[tenant_id] = asyncio.create_task(self._read(tenant_id))
            reading.add_done_callback(lambda _: self._under_way.pop(tenant_id, None))
        return await asyncio.shield(reading)

    async def _read(self, tenant_id: str) -> bool:
        self.reads += 1
        table = self._table.using(Usage.lasting(self._within))
        try:
            found = await table.get(Tenant.key(tenant_id=tenant_id), consistent=True) is not None
        except CorruptItem:
            # The fields that read it report the damage. The rest of the website works.
            found = True
        if found:
            self._known[tenant_id] = None
            if len(self._known) > self._most:
                del self._known[next(iter(self._known))]
        return found
