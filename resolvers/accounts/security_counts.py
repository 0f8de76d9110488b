"""Counts of refusals and the use of roles by the hour: buffered in memory, because strangers can cause any number.

A server that is killed loses those of its last two seconds, or of the time the table was unavailable.
"""

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any
from uuid import uuid4

from datastore.client.budget import Usage
from datastore.client.errors import Conflict, CorruptItem, DatastoreError, Rejected, TooLarge
from datastore.client.table import Table
from datastore.client.writes import Put, Write, absent
from datastore.cms import AuditEntry
from datastore.model.keys import Key
from datastore.model.times import Time
from datastore.security import AuditActor, SecurityEvent
from loaders.viewer import Viewer
from resolvers.background.jobs import AT_ONCE
from resolvers.background.write_behind import Waiting
from resolvers.core.security_events import NOBODY, counted, hourly_event, tenant_entry, this_hour

log = logging.getLogger("heartwood.security")

Counted = SecurityEvent | AuditEntry

TIME_FOR_ONE = 10.0
MOST_AN_HOUR = 1_000
MOST_REMEMBERED = 10_000
PLATFORM_ROLES = ("admin", "builder")


@dataclass
class _Waiting:
    """An event of the hour and how often it happened. 0 times: it is written unless it is there."""

    event: Counted
    times: int
    token: str = field(default_factory=lambda: str(uuid4()))

    @property
    def write(self) -> Write:
        return counted(self.event, self.times) if self.times else Put(self.event, when=absent())


class SecurityCounts(Waiting):
    """One per server."""

    what = "security events"
    pause = 2.0

    def __init__(self, table: Table) -> None:
        super().__init__()
        self._table = table
        self._hour: Time | None = None
        # The refusals and the uses of roles that this server has seen in this hour.
        self._refusals: set[Key[SecurityEvent]] = set()
        self._uses: set[tuple[str | None, str, str | None]] = set()
        self._waiting: dict[Key[Any], _Waiting] = {}
        # Sent without an acknowledgment. Retried with the same token, they are not counted twice.
        self._sent: dict[Key[Any], _Waiting] = {}

    @property
    def count(self) -> int:
        return len(self._waiting) + len(self._sent)

    def left(self) -> Iterable[tuple[Counted, int]]:
        return ((each.event, each.times) for each in (*self._waiting.values(), *self._sent.values()))

    def refuse(self, event: SecurityEvent, tenant_id: str | None) -> None:
        """Counts a refusal, also for the tenant of the request."""
        self._add(event if self.admits(event) else others(event), 1)
        if tenant_id is not None:
            self._add(tenant_entry(tenant_id, event.action), 1)

    def admits(self, event: SecurityEvent) -> bool:
        """Returns False if there were too many different refusals in this hour. Then they are counted together."""
        self._begin_hour()
        if event.own_key not in self._refusals and len(self._refusals) >= MOST_AN_HOUR:
            return False
        self._refusals.add(event.own_key)
        return True

    def use_roles(self, viewer: Viewer, email: str | None) -> None:
        """Notes that a request came with a role: once for each viewer, role, tenant and hour."""
        self._begin_hour()
        actor = AuditActor(user_id=viewer.user_id, email=email)
        for role in PLATFORM_ROLES:
            if role in viewer.roles and self._is_first((viewer.user_id, role, viewer.tenant_id)):
                self._add(hourly_event("roleUsed", actor, tenant_id=viewer.tenant_id, details={"role": role}), 0)
        role_here, tenant_id = viewer.tenant_role, viewer.tenant_id
        if role_here and tenant_id and self._is_first((viewer.user_id, f"tenant {role_here}", tenant_id)):
            details = {"tenantRole": role_here}
            self._add(hourly_event("roleUsed", actor, tenant_id=tenant_id, details=details), 0)
            self._add(tenant_entry(tenant_id, "roleUsed", actor, details=details), 0)

    def _is_first(self, use: tuple[str | None, str, str | None]) -> bool:
        if use in self._uses:
            return False
        if len(self._uses) >= MOST_REMEMBERED:
            self._uses.clear()
        self._uses.add(use)
        return True

    def _begin_hour(self) -> None:
        hour = this_hour()
        if hour != self._hour:
            self._hour = hour
            self._refusals, self._uses = set(), set()

    def _add(self, event: Counted, times: int) -> None:
        key = event.own_key
        if key in self._waiting:
            self._waiting[key].times += times
        elif self.count >= MOST_REMEMBERED:
            log.error("the buffer of security events is full; lost: %s", event)
        else:
            self._waiting[key] = _Waiting(event, times)

    async def flush(self) -> None:
        for key in [key for key in self._waiting if key not in self._sent]:
            self._sent[key] = self._waiting.pop(key)
        failed: list[DatastoreError] = []
        waiting = iter([*self._sent])
        while some := [*islice(waiting, AT_ONCE)]:
            errors = [error for error in await asyncio.gather(*map(self._write, some)) if error]
            failed += errors
            if len(errors) == len(some):
                break
        if failed:
            raise failed[0]

    async def _write(self, key: Key[Any]) -> DatastoreError | None:
        """Writes an event, or returns the error and keeps it for later."""
        sent = self._sent[key]
        try:
            await self._table.using(Usage.lasting(TIME_FOR_ONE)).transact(sent.write, token=sent.token)
        except Conflict:
            pass  # another server has noted this use of a role
        except (CorruptItem, Rejected, TooLarge) as error:
            # The error concerns this event only: log it and go on with the others.
            log.error("a security event cannot be written; lost: %s: %s", sent.event, error)
        except DatastoreError as error:
            return error
        del self._sent[key]
        return None


def others(event: SecurityEvent) -> SecurityEvent:
    """Returns the event that counts all refusals of this kind that are not counted on their own."""
    return hourly_event(event.action, NOBODY, details={"reason": "too many different ones to count apart"})
