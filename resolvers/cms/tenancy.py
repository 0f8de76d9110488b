"""Whose content a request is about, and what the viewer is on that tenant's staff."""

from collections.abc import Callable
from typing import Any, TypeVar

from datastore.model.entity import Entity
from loaders.viewer import Viewer
from loaders.visibility import visibility
from resolvers.accounts.tokens import TENANT_ROLES
from resolvers.core.problems import ProblemCode, refused

F = TypeVar("F", bound=Callable[[Any, Viewer], bool])


def tenant_of(viewer: Viewer) -> str:
    """The tenant the request is about, or a refusal: no key of the content system can be made without it."""
    if viewer.tenant_id is None:
        raise refused(ProblemCode.INVALID, "say whose content it is: send the header `x-tenant-id`")
    return viewer.tenant_id


def is_staff(viewer: Viewer, role: str = "viewer") -> bool:
    """Whether the viewer is on the staff of the request's tenant, in this role or a higher one."""
    own = viewer.tenant_role
    return own is not None and TENANT_ROLES.index(own) >= TENANT_ROLES.index(role)


def staff_of(viewer: Viewer, role: str = "viewer") -> str:
    """The request's tenant, or a refusal to whoever is not on its staff in this role or a higher one."""
    tenant_id = tenant_of(viewer)
    if viewer.user_id is None:
        raise refused(ProblemCode.UNAUTHENTICATED, "sign in first: send `Authorization: Bearer <token>`")
    if viewer.tenant_role is None:
        raise refused(ProblemCode.FORBIDDEN, f"your token does not cover the tenant {tenant_id}")
    if not is_staff(viewer, role):
        raise refused(ProblemCode.FORBIDDEN, f"this takes the role {role} on the staff of {tenant_id}, or a higher one")
    return tenant_id


def of_tenant(entity: type[Entity]) -> Callable[[F], F]:
    """The visibility of what belongs to a tenant: in a request about another one it is not there."""

    def declare(rule: F) -> F:
        @visibility(entity)
        def visible(record: Any, viewer: Viewer) -> bool:
            return record.tenant_id == viewer.tenant_id and rule(record, viewer)

        return rule

    return declare
