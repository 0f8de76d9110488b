"""The requester."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, fields
from typing import Any

TENANT_ROLES = ("viewer", "editor", "admin")
"""Roles on the staff of a tenant, lowest first."""


@dataclass(frozen=True)
class TokenAge:
    """Tells whether a token is older than the last time that the tokens of its account were ended."""

    epoch: int | None
    """The account's epoch when the server issued it. None for tokens of operators and identity providers."""
    issued_at: int
    """Time of issue, in seconds."""
    expires_at: int | None = None
    """Time of expiry, in seconds."""


@dataclass(frozen=True)
class Viewer:
    """The user of the bearer token, or an anonymous requester."""

    user_id: str | None = None
    roles: frozenset[str] = frozenset()
    verified_email: str | None = None
    """Email address that the identity provider has verified, in lower case."""
    tenant_id: str | None = None
    """Tenant of the request."""
    tenants: frozenset[tuple[str, str]] = frozenset()
    """Tenants that the user works for, each with the role."""
    token: TokenAge | None = None
    """The token of the request. None if the server itself vouches for the viewer, such as after `logIn`."""
    subject: str | None = None
    """Subject at the identity provider, if it is not the ID of the account because that was linked to it."""
    hidden_accounts: AbstractSet[str] = field(default=frozenset(), compare=False, repr=False)
    """Accounts whose works are hidden: the server's own set, which changes while requests run."""

    @property
    def is_admin(self) -> bool:
        return "admin" in self.roles

    @property
    def is_builder(self) -> bool:
        return "builder" in self.roles

    @property
    def tenant_role(self) -> str | None:
        """Role in the tenant of the request."""
        return next((role for tenant_id, role in self.tenants if tenant_id == self.tenant_id), None)

    def is_user(self, user_id: str) -> bool:
        return self.user_id == user_id


ANONYMOUS = Viewer()

_PERSONAL = frozenset(each.name for each in fields(Viewer)) - {"hidden_accounts"}


class Observed(Viewer):
    """A viewer that notes whether anything about it was looked at. If not, every viewer gets the same answer."""

    was_consulted = False

    @classmethod
    def of(cls, viewer: Viewer) -> "Observed":
        return cls(**{each.name: getattr(viewer, each.name) for each in fields(Viewer)})

    def __getattribute__(self, name: str) -> Any:
        if name in _PERSONAL:
            # A frozen dataclass has no other way.
            object.__setattr__(self, "was_consulted", True)
        return super().__getattribute__(name)
