"""The accounts deleted a moment ago, known to every server: their works are gone before jobs have hidden each one."""

import asyncio
import logging

from datastore.accounts import HiddenAccount
from datastore.client.budget import Usage
from datastore.client.positions import Position
from datastore.client.table import Table

log = logging.getLogger("heartwood.hidden_accounts")

PAGE = 1_000
TIME_FOR_ONE = 5.0


class HiddenAccounts:
    """One per server: a copy of one small partition, read twice a second. Requests look at `ids` and read nothing."""

    def __init__(self, table: Table, pause: float = 0.5) -> None:
        self.ids: set[str] = set()
        self._table = table
        self._pause = pause
        self._changes = 0
        self._is_loaded = False

    def add(self, user_id: str) -> None:
        """Hides the works of an account that this server deleted, without waiting for the next read."""
        self._changes += 1
        self.ids.add(user_id)

    def discard(self, user_id: str) -> None:
        """Shows the works of an account that this server restored, without waiting for the next read."""
        self._changes += 1
        self.ids.discard(user_id)

    async def loaded(self, within: float) -> None:
        """Returns once the partition was read for the first time. No request is executed before that."""
        if not self._is_loaded:
            await self.load(within)

    async def load(self, within: float = TIME_FOR_ONE) -> None:
        """Reads the partition. A read that began before a change by this very server is stale, and repeated."""
        while True:
            changes = self._changes
            found = await self._found(self._table.using(Usage.lasting(within)))
            if changes == self._changes:
                break
        # Requests in flight hold the set itself.
        self.ids &= found
        self.ids |= found
        self._is_loaded = True

    async def _found(self, table: Table) -> set[str]:
        found: set[str] = set()
        after: Position | None = None
        while True:
            page = await table.query(HiddenAccount.within(), limit=PAGE, after=after, consistent=True)
            found.update(account.user_id for account in page.records)
            after = page.more
            if after is None:
                return found

    async def run(self) -> None:
        """Runs as long as the server does. While the table is out of reach, the last copy stands."""
        is_failing = False
        while True:
            try:
                await self.load()
                is_failing = False
            except Exception as error:
                # Once per outage, because it is read twice a second.
                log.log(logging.DEBUG if is_failing else logging.WARNING, "hidden accounts cannot be read: %r", error)
                is_failing = True
            await asyncio.sleep(self._pause)
