"""Who is asking."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Viewer:
    """Nobody in particular, or whom the bearer token names."""

    user_id: str | None = None
    roles: frozenset[str] = frozenset()
    verified_email: str | None = None
    """The address an identity provider vouches for in the token, in lower case."""

    @property
    def is_admin(self) -> bool:
        return "admin" in self.roles

    @property
    def is_builder(self) -> bool:
        return "builder" in self.roles

    def is_user(self, user_id: str) -> bool:
        return self.user_id == user_id


ANONYMOUS = Viewer()
