"""Accounts: who sees them and how they are found."""

from typing import Annotated

from typing_extensions import Doc

from datastore.accounts import User
from datastore.model.keys import Key, Range
from datastore.model.times import Time
from loaders.viewer import Viewer
from loaders.visibility import visibility


@visibility(User)
def visible(user: User, viewer: Viewer) -> bool:
    return user.deleted_at is None or viewer.is_user(user.user_id)


def viewer(viewer: Viewer) -> Key[User] | None:
    """Who is asking, by the bearer token; null for nobody in particular."""
    return User.key(user_id=viewer.user_id) if viewer.user_id else None


def user(*, id: Annotated[Key[User], Doc("The `id` of a user.")]) -> Key[User]:
    """The person with this id."""
    return id


def user_by_username(*, username: Annotated[str, Doc("The username, in any case.")]) -> Range[User]:
    """The person with this username."""
    return User.by_username(username=username.strip().lower())


def user_by_email(*, email: Annotated[str, Doc("The whole address, in any case.")]) -> Range[User]:
    """The person with this e-mail address: for oneself and for administrators."""
    return User.by_email(email=email.strip().lower())


def users(
    *,
    created_after: Annotated[Time | None, Doc("Only accounts made at this time or later.")] = None,
    created_before: Annotated[Time | None, Doc("Only accounts made before this time.")] = None,
) -> Range[User]:
    """Everybody, newest first."""
    return User.by_time().between(created_after, created_before).newest_first()


def may_see_email(user: User, viewer: Viewer) -> bool:
    return viewer.is_admin or viewer.is_user(user.user_id)


def email(user: User, viewer: Viewer) -> str | None:
    """The e-mail address; null unless it is your own or you are an administrator."""
    return user.email if may_see_email(user, viewer) else None


def email_verified_at(user: User, viewer: Viewer) -> Time | None:
    """When the e-mail address was verified; null unless it is your own or you are an administrator."""
    return user.email_verified_at if may_see_email(user, viewer) else None


def email_is_verified(user: User, viewer: Viewer) -> bool:
    """Once and for all, or by the very token this viewer came with."""
    return user.email_verified_at is not None or token_proves_email(user, viewer)


def token_proves_email(user: User, viewer: Viewer) -> bool:
    return viewer.is_user(user.user_id) and viewer.verified_email == user.email
