"""Commands of tenants."""

from typing import Annotated

from typing_extensions import Doc

from datastore.client.writes import Put, Update, Write, absent, equals
from datastore.cms import Tenant
from datastore.model.codec import JSON
from datastore.model.keys import Key
from datastore.security import AuditTarget
from resolvers.cms.audit_entries import actor_of, audit_entry
from resolvers.cms.constraints import Domains
from resolvers.cms.edges import domain_guard
from resolvers.core.access import AccessRole, access
from resolvers.core.constraints import JsonObject, Name, Text
from resolvers.core.context import Context
from resolvers.core.problems import ProblemCode, Refused, not_found, refused
from resolvers.core.retry import retries_on_conflict, write_or_refuse
from resolvers.core.security_events import single_event
from resolvers.core.unique_values import claim, release
from resolvers.core.unset import UNSET, given

DisplayName = Text(at_most=100)
Config = JsonObject(at_most=100_000)


@access(requires=AccessRole.ADMIN)
async def create_tenant(
    context: Context,
    *,
    database_id: Annotated[str, Doc("Permanent identifier, sent in the `x-tenant-id` header."), Name()],
    name: Annotated[str, Doc("Display name."), DisplayName],
    domains: Annotated[list[str] | None, Doc("Host names of its websites."), Domains()] = None,
    config: Annotated[JSON | None, Doc("Settings."), Config] = None,
) -> Tenant:
    """Creates a tenant."""
    names = domains or []
    tenant = Tenant(
        tenant_id=database_id,
        name=name,
        domain=names[0] if names else None,
        domains=names,
        config=JSON({}) if config is None else config,
    )
    made = Put(tenant, when=absent())
    guards = {domain: claim("domain", domain, database_id) for domain in names}
    taken = refused(ProblemCode.TAKEN, "this tenant ID is taken", at="database_id")
    refusals: dict[Write, Refused] = {made: taken, **{guard: _taken(domain) for domain, guard in guards.items()}}
    entry = await audit_entry(context, None, tenant)
    event = await _event(context, tenant)
    await write_or_refuse(context.load, made, *guards.values(), event, refusals=refusals, entry=entry)
    return tenant


@access(requires=AccessRole.ADMIN)
@retries_on_conflict
async def update_tenant(
    context: Context,
    *,
    tenant_id: Annotated[Key[Tenant], Doc("ID of the tenant.")],
    name: Annotated[str, Doc("Display name."), DisplayName] = UNSET,
    domains: Annotated[
        list[str] | None, Doc("Host names of its websites. Omitted ones become available."), Domains()
    ] = UNSET,
    config: Annotated[JSON | None, Doc("Settings. Replaces the current ones."), Config] = UNSET,
) -> Tenant:
    """Edits a tenant. Omitted fields keep their values."""
    changes = given(name=name)
    if domains is not UNSET:
        changes |= {"domains": domains or [], "domain": domains[0] if domains else None}
    if config is not UNSET:
        changes["config"] = JSON({}) if config is None else config
    (tenant,) = await context.load.fresh(tenant_id)
    if tenant is None:
        raise not_found(tenant_id)
    after = tenant.changed(**changes)
    new = {
        domain: claim("domain", domain, tenant.tenant_id) for domain in after.domains if domain not in tenant.domains
    }
    gone = [release(domain_guard(domain), tenant.tenant_id) for domain in tenant.domains if domain not in after.domains]
    change = Update.of(tenant, after, when=equals("updated_at", tenant.updated_at))
    refusals: dict[Write, Refused] = {guard: _taken(domain) for domain, guard in new.items()}
    entry = await audit_entry(context, tenant, after)
    event = await _event(context, after)
    await write_or_refuse(context.load, change, *new.values(), *gone, event, refusals=refusals, entry=entry)
    return after


async def _event(context: Context, tenant: Tenant) -> Put:
    """Administrators find what they did to tenants in the security log, and the details in the log of the tenant."""
    return single_event(
        context.command,
        await actor_of(context),
        target=AuditTarget(type="Tenant", id=tenant.tenant_id, title=tenant.name),
        tenant_id=context.viewer.tenant_id,
        address=context.client_address,
    )


def _taken(domain: str) -> Refused:
    return refused(ProblemCode.TAKEN, f"{domain} belongs to another tenant", at="domains")
