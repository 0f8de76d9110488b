"""Writes of the CMS: find the tenant, write conditionally, and add an audit entry."""

from enum import Enum
from typing import Any, TypeVar

import orjson

from datastore.client.errors import Conflict
from datastore.client.writes import Delete, Put, Update, absent, equals, exists
from datastore.cms import AuditActor, AuditEntry, AuditTarget, Tenant
from datastore.model.codec import JSON, camel
from datastore.model.decoding import UNREAD
from datastore.model.entity import Entity
from datastore.model.keys import Key
from datastore.model.times import new_id
from resolvers.cms.tenancy import tenant_of
from resolvers.core.context import Context
from resolvers.core.problems import ProblemCode, Refused, not_found, refused

E = TypeVar("E", bound=Entity)

MAX_SNAPSHOT = 20_000
NOT_IN_SNAPSHOTS = {"tenant_id", "created_at", "updated_at", "expires_at", "blocks"}
"""Blocks are stored in the versions, and a snapshot contains the version number."""


async def tenant_for(context: Context) -> str:
    """Returns the tenant of the request, which must exist."""
    tenant_id = tenant_of(context.viewer)
    key = Tenant.key(tenant_id=tenant_id)
    # A tenant created just now may not be replicated yet.
    if await context.load.stored(key) is None and (await context.load.fresh(key))[0] is None:
        raise refused(ProblemCode.NOT_FOUND, f"there is no tenant {tenant_id}")
    return tenant_id


async def own(context: Context, key: Key[E]) -> E:
    """A record of the request's tenant, read with strong consistency; those of other tenants are not found."""
    if key.values["tenant_id"] == tenant_of(context.viewer):
        await context.load.fresh(key)
        record = await context.load.one(key)
        if record is not None:
            return record
    raise not_found(key)


async def created(context: Context, record: E) -> E:
    await context.load.write(Put(record, when=absent()))
    noted(context, None, record)
    return record


async def changed(context: Context, record: E, **changes: Any) -> E:
    """Updates a record, with `updated_at` as optimistic lock."""
    after = record.changed(**changes)
    same = exists() & equals("updated_at", record.updated_at)
    try:
        await context.load.write(Update.of(record, after, when=same))
    except Conflict:
        raise _changed_meanwhile(record) from None
    noted(context, record, after)
    return after


async def deleted(context: Context, record: E) -> E:
    try:
        await context.load.write(Delete(record.own_key, when=exists() & equals("updated_at", record.updated_at)))
    except Conflict:
        raise _changed_meanwhile(record) from None
    noted(context, record, None)
    return record


def _changed_meanwhile(record: Entity) -> Refused:
    return refused(ProblemCode.CONFLICT, "it changed in the meantime; read it again", at=record.own_key)


def noted(context: Context, before: Entity | None, after: Entity | None) -> None:
    """Adds an entry to the audit log, written after the response was sent. Its action is the running command."""
    record = after or before
    assert record is not None
    old, new = _shown(before), _shown(after)
    if before is not None and after is not None:
        different = [name for name in new | old if old.get(name) != new.get(name)]
        old, new = ({name: each.get(name) for name in different} for each in (old, new))
    viewer = context.viewer
    entry = AuditEntry(
        tenant_id=record.__dict__["tenant_id"],
        entry_id=new_id(),
        actor=AuditActor(user_id=viewer.user_id, email=viewer.verified_email),
        action=context.command,
        target=_target(record),
        before=JSON(old) if before is not None else None,
        after=JSON(new) if after is not None else None,
    )
    context.audit.note(entry)


def _target(record: Entity) -> AuditTarget:
    own_id = "/".join(str(getattr(record, hole)) for hole in record.key_holes if hole != "tenant_id")
    named = (getattr(record, name, None) for name in ("title", "name", "slug", "email", "author_name", "visitor_id"))
    return AuditTarget(type=type(record).__name__, id=own_id or "", title=next(filter(None, named), own_id))


def _shown(record: Entity | None) -> dict[str, Any]:
    if record is None:
        return {}
    values = {name: getattr(record, name) for name in record.fields if name not in NOT_IN_SNAPSHOTS}
    return {camel(name): _plain(value) for name, value in values.items() if value is not None and value is not UNREAD}


def _plain(value: Any) -> Any:
    plain = value.value if isinstance(value, Enum) else value
    size = len(orjson.dumps(plain))
    return plain if size <= MAX_SNAPSHOT else f"{size:,} bytes, too many to record"
