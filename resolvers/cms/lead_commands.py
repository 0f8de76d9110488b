"""Commands of leads."""

from typing import Annotated, Any

from typing_extensions import Doc

from datastore.client.writes import Update, equals
from datastore.cms import Lead, LeadStatus
from datastore.model.codec import JSON
from datastore.model.keys import Key
from resolvers.cms.audit_entries import audit_entry
from resolvers.cms.audited_writes import created, deleted, own, tenant_for
from resolvers.cms.constraints import Data
from resolvers.core.access import AccessRole, access
from resolvers.core.constraints import Email, Text
from resolvers.core.context import Context
from resolvers.core.retry import retries_on_conflict
from resolvers.core.unset import UNSET, given


@access(requires=AccessRole.TENANT_EDITOR)
async def save_lead(
    context: Context,
    *,
    email: Annotated[str, Doc("Email address. Identifies the lead."), Email()],
    name: Annotated[str | None, Doc("Name."), Text(at_most=100)] = UNSET,
    source: Annotated[str | None, Doc("Source of the lead."), Text(at_most=200)] = UNSET,
    status: Annotated[LeadStatus, Doc("Status. Defaults to NEW.")] = UNSET,
    data: Annotated[JSON | None, Doc("Further data."), Data] = UNSET,
) -> Lead:
    """Creates or edits a lead. Omitted fields keep their values."""
    tenant_id = await tenant_for(context)
    fields = {"email": email, **given(name=name, source=source, status=status, data=data)}
    return await _save_lead(context, Lead.key(tenant_id=tenant_id, email=email), {"tenant_id": tenant_id, **fields})


@retries_on_conflict
async def _save_lead(context: Context, key: Key[Lead], fields: dict[str, Any]) -> Lead:
    (before,) = await context.load.fresh(key)
    if before is None:
        return await created(context, Lead(**fields))
    after = before.changed(**fields)
    change = Update.of(before, after, when=equals("updated_at", before.updated_at))
    await context.load.write(change, entry=await audit_entry(context, before, after))
    return after


async def saved_lead(context: Context, keys: object, *, email: str, **_: object) -> dict[str, Any]:
    """Replays `saveLead`: the key of a lead holds an email address, so it is not stored."""
    return {"lead": await context.load.one(Lead.key(tenant_id=context.viewer.tenant_id, email=email))}


@access(requires=AccessRole.TENANT_EDITOR)
async def delete_lead(context: Context, *, lead_id: Annotated[Key[Lead], Doc("ID of the lead.")]) -> Lead:
    """Deletes a lead."""
    return await deleted(context, await own(context, lead_id))
