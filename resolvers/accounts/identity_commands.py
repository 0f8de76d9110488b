"""Links a local account to the identity provider that has replaced its password."""

import time
from dataclasses import replace
from typing import Annotated

from typing_extensions import Doc

from datastore.accounts import Unique, User
from datastore.client.errors import Conflict
from datastore.client.writes import Check, Put, Update, absent, below, equals, exists, same
from resolvers.accounts.commands import account_of_login
from resolvers.accounts.guards import is_gone
from resolvers.accounts.linked_identities import KIND
from resolvers.accounts.password_attempts import begin_sign_in
from resolvers.accounts.security_writes import account_events, note_refusal
from resolvers.core import security_log
from resolvers.core.access import AccessRole, access
from resolvers.core.context import Context
from resolvers.core.problems import INPUT, ProblemCode, refused

NO_PROVIDER = "this server issues its own tokens, so there is no identity to link"
LINKED = "this identity is linked to an account already"
HAS_ACCOUNT = "this identity has an account of its own; delete that first, or keep using it"
OTHER_IDENTITY = "this account is linked to another identity; ask an administrator"


@access(requires=AccessRole.SIGNED_IN)
async def link_identity(
    context: Context,
    *,
    login: Annotated[str, Doc("Username or email address of the account from before the identity provider.")],
    password: Annotated[str, Doc("Password of that account.")],
) -> User:
    """Links an account with a password to the identity in the token. From then on, the token signs in to the account.

    The token proves who the viewer is at the identity provider, and the password whose account it is. The account keeps
    its ID and everything it owns.
    """
    if context.tokens.are_ours:
        raise refused(ProblemCode.CONFLICT, NO_PROVIDER)
    subject = context.viewer.subject or context.signed_in
    user = await _proven(context, login, password)
    if context.viewer.subject is not None:
        # Linking twice changes nothing.
        if user.user_id == context.viewer.user_id:
            return user
        raise refused(ProblemCode.CONFLICT, LINKED)
    if user.external_subject is not None:
        raise refused(ProblemCode.CONFLICT, OTHER_IDENTITY)
    linked = user.changed(external_subject=subject)
    # A deletion in the meantime would leave the guard behind.
    unchanged = exists() & absent("external_subject") & same("expires_at", user.expires_at)
    unchanged &= equals("password_hash", user.password_hash)
    account = Update.of(user, linked, when=unchanged)
    guard = Put(
        Unique(kind=KIND, value=subject, owner_id=user.user_id, expires_at=user.expires_at),
        when=absent() | below("expires_at", int(time.time())),
    )
    no_other = Check(User.key(user_id=subject), when=absent())
    try:
        await context.load.write(account, guard, no_other, *account_events(context, user))
    except Conflict as conflict:
        if no_other in conflict:
            raise refused(ProblemCode.CONFLICT, HAS_ACCOUNT) from None
        if guard in conflict:
            raise refused(ProblemCode.CONFLICT, LINKED) from None
        raise refused(ProblemCode.CONFLICT, "the account changed in the meantime; try again") from None
    context.viewer_states.links.note(subject, user.user_id)
    context.load.viewer = replace(context.viewer, user_id=user.user_id, subject=subject, token=None)
    return linked


async def _proven(context: Context, login: str, password: str) -> User:
    """Returns the account whose password this is. Guesses are limited and logged like those of `logIn`."""
    login = login.strip().lower()
    user, attempt = await begin_sign_in(context, await account_of_login(context, login), login)
    matches = await attempt.matches(context, password, user.password_hash if user else None)
    if user is None or not matches or is_gone(user):
        reason = "no account" if user is None else "password" if not matches else "deleted account"
        security_log.sign_in_failed(login, user.user_id if user else None, reason)
        await note_refusal(context, "signInFailed", user, reason)
        raise refused(ProblemCode.INVALID, "the name or the password is wrong", at=INPUT)
    await attempt.succeeded(context)
    return user
