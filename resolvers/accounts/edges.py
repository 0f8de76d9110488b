"""Accounts: the keys that each field reads."""

from typing import Annotated

from typing_extensions import Doc

from datastore.accounts import User
from datastore.model.keys import Key, Range
from datastore.model.times import Time
from loaders.viewer import Viewer
from resolvers.accounts.visibility import may_see_email
from resolvers.core.access import AccessRelation, access


def viewer(viewer: Viewer) -> Key[User] | None:
    """The authenticated user, or null for an anonymous request."""
    return User.key(user_id=viewer.user_id) if viewer.user_id else None


def user_by_database_id(
    *, database_id: Annotated[str, Doc("Permanent identifier (`databaseId`): a ULID, a UUID or a DID.")]
) -> Key[User]:
    """The user with this permanent identifier."""
    return User.key(user_id=database_id)


def user_by_username(*, username: Annotated[str, Doc("Username, case-insensitive.")]) -> Range[User]:
    """The user with this username, or null."""
    return User.by_username(username=username.strip().lower())


@access(only=(AccessRelation.SELF, AccessRelation.ADMIN))
def user_by_email(*, email: Annotated[str, Doc("Email address, case-insensitive.")]) -> Range[User]:
    """The user with this email address, or null."""
    return User.by_email(email=email.strip().lower())


def users(
    *,
    created_after: Annotated[Time | None, Doc("Only accounts created at this time or later.")] = None,
    created_before: Annotated[Time | None, Doc("Only accounts created before this time.")] = None,
) -> Range[User]:
    """All users, newest first."""
    return User.by_time().between(created_after, created_before).newest_first()


@access(only=(AccessRelation.SELF, AccessRelation.ADMIN))
def email(user: User, viewer: Viewer) -> str | None:
    """Email address."""
    return user.email if may_see_email(user, viewer) else None


@access(only=(AccessRelation.SELF, AccessRelation.ADMIN))
def email_verified_at(user: User, viewer: Viewer) -> Time | None:
    """Time the email address was verified."""
    return user.email_verified_at if may_see_email(user, viewer) else None


def email_is_verified(user: User, viewer: Viewer) -> bool:
    """Verified before, or by the token of this request."""
    return user.email_verified_at is not None or token_proves_email(user, viewer)


def token_proves_email(user: User, viewer: Viewer) -> bool:
    return viewer.is_user(user.user_id) and viewer.verified_email == user.email
