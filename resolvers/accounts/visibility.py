"""Visibility rules of accounts and their email addresses."""

from datastore.accounts import HiddenAccount, KnownAddress, SignInFailures, Unique, User
from datastore.security import SecurityEvent
from loaders.viewer import Viewer
from loaders.visibility import never_shown, visibility

never_shown(Unique, because="guards are only read to tell whether a value is free")
never_shown(HiddenAccount, because="it only says whose works are hidden")
never_shown(SignInFailures, because="only the rate limiter reads its counters")
never_shown(KnownAddress, because="only the rate limiter of sign-in reads it")


@visibility(User)
def visible(user: User, viewer: Viewer) -> bool:
    """A deleted account is visible to its owner only, who may restore it."""
    is_open = user.deleted_at is None and user.user_id not in viewer.hidden_accounts
    return is_open or viewer.is_user(user.user_id)


@visibility(SecurityEvent)
def security_event_visible(event: SecurityEvent, viewer: Viewer) -> bool:
    return viewer.is_admin


def may_see_email(user: User, viewer: Viewer) -> bool:
    return viewer.is_admin or viewer.is_user(user.user_id)
