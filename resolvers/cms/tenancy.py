"""The tenant of a request, and the viewer's role on its staff."""

from loaders.viewer import TENANT_ROLES, Viewer
from resolvers.core.access import Access, AccessRole
from resolvers.core.problems import ProblemCode, refused

GLOBAL_ID = "Global ID (`id`)."
STAFF = Access(AccessRole.TENANT_VIEWER)
"""For fields that require a role only with some of their arguments."""


def tenant_of(viewer: Viewer) -> str:
    """Returns the tenant of the request. Refuses a request without one: no CMS key can be built."""
    if viewer.tenant_id is None:
        raise refused(ProblemCode.INVALID, "send the `x-tenant-id` header to select a tenant")
    return viewer.tenant_id


def is_staff(viewer: Viewer, role: str = "viewer") -> bool:
    """Returns True if the viewer has this role or a higher one on the tenant's staff."""
    own = viewer.tenant_role
    return own is not None and TENANT_ROLES.index(own) >= TENANT_ROLES.index(role)
