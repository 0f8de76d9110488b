"""Commands of accounts: sign-up, login, profile, username, email address and password."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, NamedTuple

from typing_extensions import Doc

from datastore.accounts import Image, ProfileImages, Unique, User
from datastore.client.errors import Conflict
from datastore.client.writes import Condition, Put, Update, absent, equals
from datastore.model.keys import Key
from datastore.model.times import Time, new_id, now
from loaders.viewer import Viewer
from resolvers.accounts.constraints import Password, Username
from resolvers.accounts.guards import change_account, is_gone, is_open, own_account
from resolvers.accounts.linked_identities import not_linked
from resolvers.accounts.password_attempts import begin_password_change, begin_sign_in
from resolvers.accounts.security_writes import account_events, note_refusal
from resolvers.accounts.token_epoch import has_epoch, next_epoch
from resolvers.core import security_log
from resolvers.core.access import AccessRole, access
from resolvers.core.constraints import Email, HttpsUrl, Text
from resolvers.core.context import Context
from resolvers.core.problems import INPUT, Problem, ProblemCode, Refused, refused
from resolvers.core.retry import retries_on_conflict
from resolvers.core.unique_values import claim, release
from resolvers.core.unset import UNSET, given

DisplayName = Text(at_most=80)
# https://www.w3.org/TR/did-core/#did-syntax
DID = re.compile(r"did:[a-z0-9]+:[A-Za-z0-9._:%-]{1,500}").fullmatch


class SignedIn(NamedTuple):
    """An account and its access token."""

    user: User
    token: str | None


async def sign_up(
    context: Context,
    *,
    username: Annotated[str, Doc("Unique username."), Username()],
    email: Annotated[str, Doc("Unique email address. Other users do not see it."), Email()],
    password: Annotated[
        str | None,
        Doc("Required, unless a token proves who you are: that of an identity provider, or of a DID. Then omit it."),
        Password(),
    ] = None,
    display_name: Annotated[str | None, Doc("Display name."), DisplayName] = None,
) -> SignedIn:
    """Creates an account. With a token of an identity provider, or of a DID, the account belongs to its subject."""
    if not context.tokens.are_ours and password is not None:
        raise refused(ProblemCode.INVALID, "this server stores no passwords; leave it out", at="password")
    subject = _did_of(context.viewer) if context.tokens.are_ours else context.signed_in
    if subject is None and password is None:
        raise refused(ProblemCode.INVALID, "a password is required", at="password")
    user = User(
        user_id=subject or new_id(),
        username=username,
        email=email,
        email_verified_at=_proven_at(context, email),
        password_hash=await context.passwords.hash(password) if password else None,
        external_subject=subject,
        display_name=display_name,
    )
    account = Put(user, when=absent())
    name, address = claim("username", username, user.user_id), claim("email", email, user.user_id)
    unlinked = [] if context.tokens.are_ours or subject is None else [not_linked(subject)]
    try:
        await context.load.write(account, name, address, *unlinked, *account_events(context, user))
    except Conflict as conflict:
        if account in conflict or any(check in conflict for check in unlinked):
            raise refused(ProblemCode.CONFLICT, "this identity has an account already") from None
        raise _taken(conflict, {"username": name, "email": address}) from None
    context.load.viewer = Viewer(user.user_id, hidden_accounts=context.viewer.hidden_accounts)
    return SignedIn(user, _token_for(context, user))


def _did_of(viewer: Viewer) -> str | None:
    """Returns the viewer's decentralized identifier, if the token has one. Such an account has the DID as its key."""
    return viewer.user_id if viewer.user_id and DID(viewer.user_id) else None


async def sign_up_again(
    context: Context, keys: Mapping[str, Key[User]], *, password: str | None = None, **_: object
) -> dict[str, Any]:
    """Replays `signUp` with a new token, unless the password was changed or the account deleted since."""
    (user,) = await context.load.fresh(keys["user"])
    if user is None or user.deleted_at is not None:
        raise refused(ProblemCode.NOT_FOUND, "this account was deleted since it was created")
    if user.password_hash and not await context.passwords.matches(password or "", user.password_hash):
        raise refused(ProblemCode.INVALID, "this account was created, and has another password now; log in with that")
    context.load.viewer = Viewer(user.user_id, hidden_accounts=context.viewer.hidden_accounts)
    return SignedIn(user, _token_for(context, user))._asdict()


async def log_in(
    context: Context,
    *,
    login: Annotated[str, Doc("Username or email address.")],
    password: Annotated[str, Doc("Password.")],
) -> SignedIn:
    """Returns an access token. A deleted account can log in for 30 days, so that it can be restored."""
    if not context.tokens.are_ours:
        raise refused(ProblemCode.FORBIDDEN, "this server stores no passwords; sign in at the identity provider")
    login = login.strip().lower()
    # For every reason to refuse, the reads, the hashing and the response are the same.
    user, attempt = await begin_sign_in(context, await account_of_login(context, login), login)
    matches = await attempt.matches(context, password, user.password_hash if user else None)
    if user is None or not matches or is_gone(user):
        reason = "no account" if user is None else "password" if not matches else "deleted account"
        security_log.sign_in_failed(login, user.user_id if user else None, reason)
        await note_refusal(context, "signInFailed", user, reason)
        raise refused(ProblemCode.INVALID, "the name or the password is wrong", at=INPUT)
    await attempt.succeeded(context, *account_events(context, user))
    # From here on the viewer is this user: the payload shows them their own email address.
    context.load.viewer = Viewer(user.user_id, hidden_accounts=context.viewer.hidden_accounts)
    return SignedIn(user, _token_for(context, user))


@access(requires=AccessRole.SIGNED_IN)
async def update_profile(
    context: Context,
    *,
    display_name: Annotated[str | None, Doc("Display name; null removes it."), DisplayName] = UNSET,
    bio: Annotated[str | None, Doc("Short biography; null removes it."), Text(at_most=500)] = UNSET,
    avatar_url: Annotated[str | None, Doc("URL of the avatar; null removes it."), HttpsUrl()] = UNSET,
    bluesky_handle: Annotated[str | None, Doc("Bluesky handle; null removes it."), Text(at_most=253)] = UNSET,
    bluesky_did: Annotated[str | None, Doc("Bluesky DID; null removes it."), Text(at_most=2_048)] = UNSET,
) -> User:
    """Edits the viewer's profile. Omitted fields keep their values."""
    changes = given(display_name=display_name, bio=bio, bluesky_handle=bluesky_handle, bluesky_did=bluesky_did)
    if avatar_url is not UNSET:
        changes["profile_images"] = ProfileImages(avatar=Image(url=avatar_url)) if avatar_url is not None else None
    user = await own_account(context)
    changed = user.changed(**changes)
    await change_account(context, Update.of(user, changed, when=is_open()))
    return await own_account(context)


@access(requires=AccessRole.SIGNED_IN)
async def change_username(context: Context, *, username: Annotated[str, Doc("New username."), Username()]) -> User:
    """Changes the viewer's username. Others can take the old one immediately."""
    return await _change_unique(context, "username", username)


@access(requires=AccessRole.SIGNED_IN)
async def change_email(context: Context, *, email: Annotated[str, Doc("New email address."), Email()]) -> User:
    """Changes the viewer's email address, which has to be verified again."""
    return await _change_unique(context, "email", email, email_verified_at=_proven_at(context, email))


@access(requires=AccessRole.SIGNED_IN)
async def change_password(
    context: Context,
    *,
    current_password: Annotated[str, Doc("Current password.")],
    new_password: Annotated[str, Doc("New password."), Password()],
) -> SignedIn:
    """Changes the viewer's password and returns a new access token. All tokens issued before end."""
    user = await own_account(context)
    attempt = await begin_password_change(context, user.user_id)
    if not await attempt.matches(context, current_password, user.password_hash):
        security_log.password_change_failed(user.user_id)
        await note_refusal(context, "passwordChangeFailed", user, "password")
        raise refused(ProblemCode.INVALID, "the current password is wrong", at="current_password")
    hashed = await context.passwords.hash(new_password)
    changed = user.changed(password_hash=hashed, token_epoch=next_epoch(user))
    same = equals("password_hash", user.password_hash)
    change = Update.of(user, changed, when=is_open() & same)
    await change_account(context, change, *account_events(context, user))
    signed_in = _signed_in_anew(context, changed)
    await attempt.succeeded(context)
    return signed_in


@access(requires=AccessRole.SIGNED_IN)
@retries_on_conflict
async def sign_out_everywhere(context: Context) -> SignedIn:
    """Ends all tokens of the viewer's account and returns a new one."""
    user = await own_account(context, even_deleted=True)
    changed = user.changed(token_epoch=next_epoch(user))
    change = Update.of(user, changed, when=has_epoch(user.token_epoch))
    await context.load.write(change, *account_events(context, user))
    return _signed_in_anew(context, changed)


def _signed_in_anew(context: Context, user: User) -> SignedIn:
    """Lets the request go on, although its token has ended, and the client with a new one."""
    context.viewer_states.note(user)
    context.load.viewer = replace(context.viewer, token=None)
    return SignedIn(user, _token_for(context, user))


async def signed_in_again(context: Context, keys: Mapping[str, Key[User]], **_: object) -> dict[str, Any]:
    """Replays `changePassword` and `signOutEverywhere` with a new token, for a viewer who has signed in since."""
    return _signed_in_anew(context, await own_account(context, even_deleted=True))._asdict()


def _token_for(context: Context, user: User) -> str | None:
    return context.tokens.issue(user.user_id, epoch=user.token_epoch) if context.tokens.are_ours else None


def _taken(conflict: Conflict, guards: dict[str, Put]) -> Refused:
    problems = [
        Problem(ProblemCode.TAKEN, f"this {kind} is taken", at=kind)
        for kind, guard in guards.items()
        if guard in conflict
    ]
    return Refused(*problems) if problems else refused(ProblemCode.CONFLICT, "the account changed; try again")


def _as_verified_as(user: User) -> Condition:
    """An address verified in the meantime is the old one: that must not count for the new one."""
    if user.email_verified_at is None:
        return absent("email_verified_at")
    return equals("email_verified_at", user.email_verified_at)


def _proven_at(context: Context, email: str) -> Time | None:
    """Now, if the identity provider vouches for this address."""
    return now() if context.viewer.verified_email == email else None


async def _change_unique(context: Context, kind: str, value: str, **also: Any) -> User:
    """Changes the record and both guards in one transaction, so that no value is ever free or taken twice."""
    user = await own_account(context)
    old = getattr(user, kind)
    if old == value:
        return user
    changed = user.changed(**{kind: value}, **also)
    guard = claim(kind, value, user.user_id)
    try:
        await context.load.write(
            Update.of(user, changed, when=is_open() & equals(kind, old) & _as_verified_as(user)),
            release(Unique.key(kind=kind, value=old), user.user_id),
            guard,
            *account_events(context, user, details={"before": old, "after": value}),
        )
    except Conflict as conflict:
        raise _taken(conflict, {kind: guard}) from None
    context.viewer_states.note(changed)
    return changed


async def account_of_login(context: Context, login: str) -> str | None:
    """Returns the ID of the account with this username or email address, in lower case."""
    guard = await _guard_of(context, "email" if "@" in login else "username", login)
    return guard.owner_id if guard else None


async def _guard_of(context: Context, kind: str, value: str) -> Unique | None:
    digestible = value if value and "#" not in value and value.isprintable() and len(value) < 300 else "no-user"
    (guard,) = await context.load.fresh(Unique.key(kind=kind, value=digestible))
    return guard
