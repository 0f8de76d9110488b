"""The tenant of a request, and the viewer's role on its staff."""

from loaders.viewer import TENANT_ROLES, Viewer
from resolvers.core.problems import ProblemCode, refused


def tenant_of(viewer: Viewer) -> str:
    """Returns the tenant of the request. Refuses a request without one: no CMS key can be built."""
    if viewer.tenant_id is None:
        raise refused(ProblemCode.INVALID, "send the `x-tenant-id` header to select a tenant")
    return viewer.tenant_id


def is_staff(viewer: Viewer, role: str = "viewer") -> bool:
    """Returns True if the viewer has this role or a higher one on the tenant's staff."""
    own = viewer.tenant_role
    return own is not None and TENANT_ROLES.index(own) >= TENANT_ROLES.index(role)


def staff_of(viewer: Viewer, role: str = "viewer") -> str:
    """Returns the tenant of the request. Refuses viewers without this role or a higher one."""
    tenant_id = tenant_of(viewer)
    if viewer.user_id is None:
        raise refused(ProblemCode.UNAUTHENTICATED, "sign in first: send `Authorization: Bearer <token>`")
    if viewer.tenant_role is None:
        raise refused(ProblemCode.FORBIDDEN, f"your token does not cover the tenant {tenant_id}")
    if not is_staff(viewer, role):
        raise refused(
            ProblemCode.FORBIDDEN, f"this requires the role {role} on the staff of {tenant_id}, or a higher one"
        )
    return tenant_id
