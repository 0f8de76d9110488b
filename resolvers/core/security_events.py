"""Security events: single ones of signed-in people, and those that are counted by the hour.

Refusals are counted by the hour, so that no one fills the table with them, and so is the use of roles. An event of a
request with a tenant is also in the tenant's audit log. That log is kept forever, so all events there are counted.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

from datastore.client.writes import Put, Update
from datastore.cms import AuditEntry
from datastore.model.codec import JSON
from datastore.model.times import Time, as_time, new_id, now
from datastore.security import AuditActor, AuditTarget, SecurityEvent
from resolvers.core.rate_limit import digest

KEPT = timedelta(days=365)
NOBODY = AuditActor()


def this_hour() -> Time:
    return as_time(datetime.now(UTC).replace(minute=0, second=0, microsecond=0))


def single_event(action: str, actor: AuditActor, **fields: Any) -> Put:
    """Returns the write of an event that is an entry of its own."""
    return Put(_event(action, actor, new_id(), now(), **fields))


def hourly_event(action: str, actor: AuditActor = NOBODY, **fields: Any) -> SecurityEvent:
    """Returns the event that counts all with the same values in this hour."""
    hour = this_hour()
    return _event(action, actor, _digest(hour, action, actor.user_id, *fields.values()), hour, **fields)


def _event(
    action: str,
    actor: AuditActor,
    event_id: str,
    at: Time,
    *,
    target: AuditTarget | None = None,
    tenant_id: str | None = None,
    address: str | None = None,
    details: dict[str, Any] | None = None,
) -> SecurityEvent:
    return SecurityEvent(
        event_id=event_id,
        actor=actor,
        action=action,
        target=target,
        tenant_id=tenant_id,
        client_address=address or None,
        details=JSON(details) if details else None,
        created_at=at,
        expires_at=int((datetime.fromisoformat(at) + KEPT).timestamp()),
    )


def tenant_entry(
    tenant_id: str,
    action: str,
    actor: AuditActor = NOBODY,
    target: AuditTarget | None = None,
    details: dict[str, Any] | None = None,
) -> AuditEntry:
    """Returns the entry in a tenant's audit log that counts all with the same values in this hour."""
    hour = this_hour()
    return AuditEntry(
        tenant_id=tenant_id,
        entry_id=_digest(hour, action, actor.user_id, target, details),
        actor=actor,
        action=action,
        target=target or AuditTarget(type="Tenant", id=tenant_id, title=tenant_id),
        details=JSON(details) if details else None,
        created_at=hour,
    )


def counted(record: SecurityEvent | AuditEntry, times: int = 1) -> Update:
    """Returns the write that adds to an event of the hour, or creates it."""
    return Update.upsert(record, add={"count": times})


def _digest(*parts: object) -> str:
    return digest(repr(parts))[:26]
