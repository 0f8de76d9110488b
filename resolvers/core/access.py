"""Access to fields and mutations: declared once, then enforced, described and shown in the schema as `@access`."""

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
    TENANT_VIEWER = "TENANT_VIEWER", "The role `viewer` or a higher one on the staff of the tenant."
    TENANT_EDITOR = "TENANT_EDITOR", "The role `editor` or a higher one on the staff of the tenant."
    TENANT_ADMIN = "TENANT_ADMIN", "The role `admin` on the staff of the tenant."


class AccessRelation(Choice):
    """A relation of the viewer to the record. One of those listed is enough."""

    SELF = "SELF", "The record is the viewer's own account."
    AUTHOR = "AUTHOR", "The author of the record."
    POST_AUTHOR = "POST_AUTHOR", "The author of the post that the record is on."
    CARD_AUTHOR = "CARD_AUTHOR", "The author of the card that the record is on."
    OWNER = "OWNER", "The owner of the record, or of what it belongs to."
    SUBJECT = "SUBJECT", "The user whose membership it is."
    SHARED_WITH = "SHARED_WITH", "The user the record is shared with."
    MODERATOR = "MODERATOR", "A member of the neighborhood with the role `MODERATOR` or a higher one."
    NEIGHBORHOOD_ADMIN = "NEIGHBORHOOD_ADMIN", "A member of the neighborhood with the role `ADMIN` or a higher one."
    TREE_EDITOR = "TREE_EDITOR", "A user the tree is shared with as an editor."
    TENANT_STAFF = "TENANT_STAFF", "A user with any role on the staff of the tenant."
    BUILDER = "BUILDER", "A token with the role `builder`."
    ADMIN = "ADMIN", "A token with the role `admin`: a system administrator."


REQUIRED = {
    AccessRole.SIGNED_IN: "Requires sign-in.",
    AccessRole.BUILDER: "Requires the `builder` role.",
    AccessRole.ADMIN: "Requires the `admin` role.",
    AccessRole.TENANT_VIEWER: "Requires a role on the staff of the tenant.",
    AccessRole.TENANT_EDITOR: "Requires the `editor` role on the staff of the tenant.",
    AccessRole.TENANT_ADMIN: "Requires the `admin` role on the staff of the tenant.",
}

WHO = {
    AccessRelation.SELF: "the user",
    AccessRelation.AUTHOR: "the author",
    AccessRelation.POST_AUTHOR: "the author of the post",
    AccessRelation.CARD_AUTHOR: "the author of the card",
    AccessRelation.OWNER: "the owner",
    AccessRelation.SUBJECT: "the member",
    AccessRelation.SHARED_WITH: "the user it is shared with",
    AccessRelation.MODERATOR: "a moderator of the neighborhood",
    AccessRelation.NEIGHBORHOOD_ADMIN: "an admin of the neighborhood",
    AccessRelation.TREE_EDITOR: "an editor of the tree",
    AccessRelation.TENANT_STAFF: "a member of the tenant's staff",
    AccessRelation.BUILDER: "a builder",
    AccessRelation.ADMIN: "a system administrator",
}


@dataclass(frozen=True)
class Access:
    """`requires` is checked before the function runs. `only` is decided by the function, which knows the record."""

    requires: AccessRole | None = None
    only: tuple[AccessRelation, ...] = ()

    def check(self, viewer: Viewer) -> None:
        """Raises Refused if the viewer lacks the role."""
        if self.requires is None:
            return
        if viewer.user_id is None:
            raise unauthenticated()
        if self.requires in (AccessRole.BUILDER, AccessRole.ADMIN):
            role = self.requires.value.lower()
            if role not in viewer.roles:
                raise _forbidden(f"a token with the role `{role}`")
        elif self.requires is not AccessRole.SIGNED_IN:
            _check_staff(viewer, self.requires)

    def describe(self, *, is_command: bool) -> str:
        """The sentences at the end of the description."""
        sentences = [REQUIRED[self.requires]] if self.requires else []
        if self.only:
            who = [WHO[relation] for relation in self.only]
            sentences.append(f"Only {_any_of(who)} may do this." if is_command else self._null_unless())
        return " ".join(sentences)

    def _null_unless(self) -> str:
        clauses = ["this is the viewer's own account"] if AccessRelation.SELF in self.only else []
        others = [WHO[relation] for relation in self.only if relation is not AccessRelation.SELF]
        clauses += [f"the viewer is {_any_of(others)}"] if others else []
        return f"Null unless {' or '.join(clauses)}."


def _any_of(phrases: list[str]) -> str:
    *others, last = phrases
    return f"{', '.join(others)} or {last}" if others else last


EVERYONE = Access()


def access(*, requires: AccessRole | None = None, only: tuple[AccessRelation, ...] = ()) -> Callable[[F], F]:
    """Declares who may use the field or mutation that a resolver function serves."""

    def declare(function: F) -> F:
        function.access = Access(requires, only)  # type: ignore[attr-defined]
        return function

    return declare


def access_of(function: Callable[..., Any]) -> Access:
    found: Access = getattr(function, "access", EVERYONE)
    return found


def unauthenticated() -> Refused:
    return refused(ProblemCode.UNAUTHENTICATED, "sign in first: send `Authorization: Bearer <token>`")


def _forbidden(what: str) -> Refused:
    return refused(ProblemCode.FORBIDDEN, f"this requires {what}")


def _check_staff(viewer: Viewer, role: AccessRole) -> None:
    if viewer.tenant_id is None:
        raise refused(ProblemCode.INVALID, "send the `x-tenant-id` header to select a tenant")
    if viewer.tenant_role is None:
        raise refused(ProblemCode.FORBIDDEN, f"your token does not cover the tenant {viewer.tenant_id}")
    wanted = role.value.removeprefix("TENANT_").lower()
    if TENANT_ROLES.index(viewer.tenant_role) < TENANT_ROLES.index(wanted):
        raise _forbidden(f"the role {wanted} on the staff of {viewer.tenant_id}, or a higher one")
