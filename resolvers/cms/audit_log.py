"""Audit log of a tenant, written behind the response so that no command waits for it.

Entries are buffered in memory and written in batches, twice a second or as soon as a batch is full, with retries. A
server that stops flushes its buffer. A server that is killed loses about half a second of entries, or those of the time
the table was unavailable.
"""

import logging
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import chain, islice

from datastore.accounts import User
from datastore.client.budget import Usage
from datastore.client.errors import Retryable
from datastore.client.table import Table
from datastore.cms import AuditActor, AuditEntry
from resolvers.background.write_behind import Waiting

log = logging.getLogger("heartwood.audit")

BATCH = 25
TIME_FOR_ONE = 10.0
MOST_WAITING = 10_000


class Audit(Waiting):
    """One per server."""

    what = "audit entries"
    pause = 0.5

    def __init__(self, table: Table) -> None:
        super().__init__()
        self._table = table
        self._waiting: dict[str, deque[AuditEntry]] = {}

    @property
    def count(self) -> int:
        return sum(map(len, self._waiting.values()))

    def left(self) -> Iterable[AuditEntry]:
        return chain.from_iterable(self._waiting.values())

    def note(self, entry: AuditEntry) -> None:
        """Buffers an entry."""
        if self.count >= MOST_WAITING:
            log.error("the audit log is full; lost: %s", entry)
            return
        of_tenant = self._waiting.setdefault(entry.tenant_id, deque())
        of_tenant.append(entry)
        if len(of_tenant) >= BATCH:
            self.is_full()

    async def flush(self) -> None:
        """Writes all buffered entries. Entries that fail stay buffered and do not block other tenants."""
        failed: Retryable | None = None
        for tenant_id in [*self._waiting]:
            try:
                await self._flush(self._waiting[tenant_id])
                del self._waiting[tenant_id]
            except Retryable as error:
                failed = error
        if failed is not None:
            raise failed

    async def _flush(self, of_tenant: deque[AuditEntry]) -> None:
        while of_tenant:
            some = [*islice(of_tenant, BATCH)]
            await self._write(some)
            for _ in some:
                of_tenant.popleft()

    async def _write(self, entries: list[AuditEntry]) -> None:
        """Writes the entries. An invalid entry is logged instead, so that it does not block the others."""
        table = self._table.using(Usage.lasting(TIME_FOR_ONE))
        try:
            # Writing an entry twice is harmless: its key is fixed when it is created.
            await table.batch_write(puts=await _with_emails(table, entries))
        except Retryable:
            raise
        except Exception:
            if len(entries) == 1:
                log.exception("an audit entry cannot be written: %s", entries[0])
                return
            for entry in entries:
                await self._write([entry])


async def _with_emails(table: Table, entries: list[AuditEntry]) -> list[AuditEntry]:
    """Adds the email address of the account where the token has none, because a user ID says little to a reader."""
    unknown = {entry.actor.user_id for entry in entries if entry.actor.user_id and entry.actor.email is None}
    keys = {User.key(user_id=user_id): user_id for user_id in unknown}
    found = await table.get_many(keys) if keys else {}
    for answer in found.values():
        if isinstance(answer, Retryable):
            raise answer
    emails = {keys[key]: user.email for key, user in found.items() if isinstance(user, User)}
    return [_known(entry, emails) for entry in entries]


def _known(entry: AuditEntry, emails: Mapping[str, str]) -> AuditEntry:
    user_id = entry.actor.user_id
    if user_id is None or entry.actor.email is not None or user_id not in emails:
        return entry
    return replace(entry, actor=AuditActor(user_id=user_id, email=emails[user_id]))
