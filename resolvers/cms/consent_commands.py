"""The command that records a visitor's consent."""

from typing import Annotated, Any

from typing_extensions import Doc

from datastore.cms import Consent
from resolvers.cms.audited_writes import tenant_for
from resolvers.cms.constraints import Purposes, VisitorKey
from resolvers.cms.visitor_writes import created_at_unique_time, limit_client
from resolvers.core.constraints import Text
from resolvers.core.context import Context

CONSENTS_PER_CLIENT = 200


async def record_consent(
    context: Context,
    *,
    visitor_key: Annotated[str, Doc("Key the website assigned to the visitor."), VisitorKey],
    purposes: Annotated[
        list[str], Doc("All purposes consented to from now on. An empty list withdraws consent."), Purposes()
    ],
    policy_version: Annotated[str | None, Doc("Version of the policy consented to."), Text(at_most=100)] = None,
) -> Consent:
    """Records a visitor's consent. Earlier ones are kept. Needs no token."""
    tenant_id = await tenant_for(context)
    await limit_client(context, tenant_id, "consents", per_hour=CONSENTS_PER_CLIENT)
    fields: dict[str, Any] = {"visitor_id": visitor_key, "purposes": purposes, "policy_version": policy_version}
    return await created_at_unique_time(context, lambda: Consent(tenant_id=tenant_id, **fields))
