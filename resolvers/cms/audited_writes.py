"""Writes of the CMS: find the tenant, write conditionally, with an audit entry in the same transaction."""

from typing import Any, TypeVar

from datastore.client.errors import Conflict
from datastore.client.writes import Delete, Put, Update, absent, equals, exists
from datastore.cms import Tenant
from datastore.model.entity import Entity
from datastore.model.keys import Key
from resolvers.cms.audit_entries import audit_entry
from resolvers.cms.tenancy import tenant_of
from resolvers.core.context import Context
from resolvers.core.problems import ProblemCode, Refused, not_found, refused

E = TypeVar("E", bound=Entity)


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
    await context.load.write(Put(record, when=absent()), entry=await audit_entry(context, None, record))
    return record


async def changed(context: Context, record: E, **changes: Any) -> E:
    """Updates a record, with `updated_at` as optimistic lock."""
    after = record.changed(**changes)
    same = exists() & equals("updated_at", record.updated_at)
    entry = await audit_entry(context, record, after)
    try:
        await context.load.write(Update.of(record, after, when=same), entry=entry)
    except Conflict:
        raise _changed_meanwhile(record) from None
    return after


async def deleted(context: Context, record: E) -> E:
    same = exists() & equals("updated_at", record.updated_at)
    entry = await audit_entry(context, record, None)
    try:
        await context.load.write(Delete(record.own_key, when=same), entry=entry)
    except Conflict:
        raise _changed_meanwhile(record) from None
    return record


def _changed_meanwhile(record: Entity) -> Refused:
    return refused(ProblemCode.CONFLICT, "it changed in the meantime; read it again", at=record.own_key)
