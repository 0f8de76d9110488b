"""Who may use a field or a mutation: declared once, then enforced, described and shown in the schema as `@access`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from datastore.model.enums import Choice
from loaders.viewer import TENANT_ROLES, Viewer
from resolvers.core.problems import ProblemCode, Refused, refused

F = TypeVar("F", bound=Callable[..., Any])


class AccessRole(Choice):
    """A role that the viewer needs, regardless of the record."""

    SIGNED_IN = "SIGNED_IN", "Any signed-in user."
    BUILDER = "BUILDER", "A token with the role `builder`."
    ADMIN = "ADMIN", "A token with the role `admin`: a system administrator."
    TENANT_VIEWER = "TENANT_VIEWER", "A role on the staff of the tenant: `viewer` or higher."
    TENANT_EDITOR = "TENANT_EDITOR", "The role `editor` or higher on the staff of the tenant."
    TENANT_ADMIN = "TENANT_ADMIN", "The role `admin` on the staff of the tenant."


class AccessRelation(Choice):
    """A relation of the viewer to the record. One of those listed is enough."""

    SELF = "SELF", "the user"
    AUTHOR = "AUTHOR", "the author"
    OWNER = "OWNER", "the owner"
    MEMBER = "MEMBER", "a member"
    MODERATOR = "MODERATOR", "a moderator"
    NEIGHBORHOOD_ADMIN = "NEIGHBORHOOD_ADMIN", "an admin of the neighborhood"
    TREE_EDITOR = "TREE_EDITOR", "an editor of the tree"
    TENANT_STAFF = "TENANT_STAFF", "on the staff of the tenant"
    BUILDER = "BUILDER", "a builder"
    ADMIN = "ADMIN", "a system administrator"


REQUIRED = {
    AccessRole.SIGNED_IN: "Requires sign-in.",
    AccessRole.BUILDER: "Requires the `builder` role.",
    AccessRole.ADMIN: "Requires the `admin` role.",
    AccessRole.TENANT_VIEWER: "Requires a role on the staff of the tenant.",
    AccessRole.TENANT_EDITOR: "Requires the `editor` role on the staff of the tenant.",
    AccessRole.TENANT_ADMIN: "Requires the `admin` role on the staff of the tenant.",
}


@dataclass(frozen=True)
class Access:
    """`requires` is checked before the function runs. `only` is decided by the function, which knows the record."""

    requires: AccessRole | None = None
    only: tuple[AccessRelation, ...] = ()

    def check(self, viewer: Viewer) -> None:
        """Raises Refused if the viewer lacks the role."""
        if self.requires is None or self.requires is AccessRole.SIGNED_IN:
            refusal = None if self.requires is None or viewer.user_id else unauthenticated()
        elif viewer.user_id is None:
            refusal = unauthenticated()
        elif self.requires in (AccessRole.BUILDER, AccessRole.ADMIN):
            role = self.requires.value.lower()
            refusal = None if role in viewer.roles else _forbidden(f"a token with the role `{role}`")
        else:
            refusal = _staff_refusal(viewer, self.requires)
        if refusal is not None:
            raise refusal

    def describe(self, *, is_command: bool) -> str:
        """The sentences at the end of the description."""
        sentences = [REQUIRED[self.requires]] if self.requires else []
        if self.only:
            *others, last = (relation.description for relation in self.only)
            who = f"{', '.join(others)} or {last}" if others else last
            sentences.append(f"Only {who} may do this." if is_command else f"Null unless the viewer is {who}.")
        return " ".join(sentences)


NOBODY_SAID = Access()


def access(*, requires: AccessRole | None = None, only: tuple[AccessRelation, ...] = ()) -> Callable[[F], F]:
    """Declares who may use the field or mutation that a resolver function serves."""

    def declare(function: F) -> F:
        function.access = Access(requires, only)  # type: ignore[attr-defined]
        return function

    return declare


def access_of(function: Callable[..., Any]) -> Access:
    found: Access = getattr(function, "access", NOBODY_SAID)
    return found


def unauthenticated() -> Refused:
    return refused(ProblemCode.UNAUTHENTICATED, "sign in first: send `Authorization: Bearer <token>`")


def _forbidden(what: str) -> Refused:
    return refused(ProblemCode.FORBIDDEN, f"this requires {what}")


def _staff_refusal(viewer: Viewer, role: AccessRole) -> Refused | None:
    if viewer.tenant_id is None:
        return refused(ProblemCode.INVALID, "send the `x-tenant-id` header to select a tenant")
    if viewer.tenant_role is None:
        return refused(ProblemCode.FORBIDDEN, f"your token does not cover the tenant {viewer.tenant_id}")
    wanted = role.value.removeprefix("TENANT_").lower()
    if TENANT_ROLES.index(viewer.tenant_role) < TENANT_ROLES.index(wanted):
        return _forbidden(f"the role {wanted} on the staff of {viewer.tenant_id}, or a higher one")
    return None
