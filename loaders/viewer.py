"""Who is asking."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Viewer:
    """Nobody in particular, or whom the bearer token names."""

    user_id: str | None = None
    roles: frozenset[str] = frozenset()
    verified_email: str | None = None
    """The address an identity provider vouches for in the token, in lower case."""
    tenant_id: str | None = None
    """The tenant the request is about."""
    tenants: frozenset[tuple[str, str]] = frozenset()
    """The tenants whose staff they are on, each with their role."""
    hidden_accounts: AbstractSet[str] = field(default=frozenset(), compare=False, repr=False)
    """The accounts whose works are not shown: the server's own set, which changes while requests are under way."""

    @property
    def is_admin(self) -> bool:
        return "admin" in self.roles

    @property
    def is_builder(self) -> bool:
        return "builder" in self.roles

    @property
    def tenant_role(self) -> str | None:
        """What they are on the staff of the tenant the request is about."""
        return next((role for tenant_id, role in self.tenants if tenant_id == self.tenant_id), None)

    def is_user(self, user_id: str) -> bool:
        return self.user_id == user_id


ANONYMOUS = Viewer()
