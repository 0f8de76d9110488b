"""Edges of leads: the key or range each field reads."""

from typing import Annotated

from typing_extensions import Doc

from datastore.cms import Lead, LeadStatus
from datastore.model.keys import Key, Range
from loaders.viewer import Viewer
from resolvers.cms.tenancy import tenant_of
from resolvers.core.access import AccessRole, access
from resolvers.core.constraints import Email


@access(requires=AccessRole.TENANT_VIEWER)
def lead_by_email(
    viewer: Viewer, *, email: Annotated[str, Doc("Email address, case-insensitive.")]
) -> Key[Lead] | None:
    """A lead by email address."""
    tenant_id = tenant_of(viewer)
    problems: list[str] = []
    normalized = Email().check(email, problems.append)
    return None if problems else Lead.key(tenant_id=tenant_id, email=normalized)


@access(requires=AccessRole.TENANT_VIEWER)
def leads(
    viewer: Viewer, *, status: Annotated[LeadStatus | None, Doc("Returns only leads with this status.")] = None
) -> Range[Lead]:
    """Leads, most recently updated first."""
    tenant_id = tenant_of(viewer)
    if status is None:
        return Lead.of_tenant(tenant_id=tenant_id).newest_first()
    return Lead.by_status(tenant_id=tenant_id, status=status).newest_first()
