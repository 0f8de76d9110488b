"""The commands of accounts: signing up and in, changing and leaving."""

from typing import Annotated, Any, NamedTuple

from typing_extensions import Doc

from datastore.accounts import Image, ProfileImages, Unique, User
from datastore.client.errors import Conflict
from datastore.client.writes import Condition, Delete, Put, Update, absent, equals, exists
from datastore.model.times import Time, new_id, now
from loaders.viewer import Viewer
from resolvers.accounts.guards import change_account, is_gone, is_open, own_account
from resolvers.core.context import Context
from resolvers.core.problems import Problem, ProblemCode, Refused, refused
from resolvers.core.rate_limit import count_attempt
from resolvers.core.unique_values import claim, release
from resolvers.core.unset import UNSET
from resolvers.core.validation import Checks

WINDOW = 15 * 60
FAILURES_PER_ACCOUNT = 10
FAILURES_PER_ADDRESS = 100


class SignedIn(NamedTuple):
    """An account and the token that proves it."""

    user: User
    token: str | None


async def sign_up(
    context: Context,
    *,
    username: Annotated[str, Doc("3 to 30 letters a-z, digits, dots and underscores.")],
    email: Annotated[str, Doc("Shown to nobody else.")],
    password: Annotated[
        str | None, Doc("8 characters to 72 bytes. Left out where an identity provider signs people in.")
    ] = None,
    display_name: Annotated[str | None, Doc("The name to show, up to 80 characters.")] = None,
) -> SignedIn:
    """Open an account. With an identity provider, send its token: the account belongs to whom that names."""
    checks = Checks()
    username = checks.username("username", username)
    email = checks.email("email", email)
    display_name = checks.text("displayName", display_name, at_most=80)
    if context.tokens.are_ours:
        if password is None:
            checks.problem("password", "a password is required")
        else:
            checks.password("password", password)
    elif password is not None:
        checks.problem("password", "this server keeps no passwords; leave it out")
    checks.done()
    subject = None if context.tokens.are_ours else context.signed_in
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
    try:
        await context.load.write(account, name, address)
    except Conflict as conflict:
        if account in conflict:
            raise refused(ProblemCode.CONFLICT, "there is an account for this identity already") from None
        raise _taken(conflict, {"username": name, "email": address}) from None
    context.load.viewer = Viewer(user.user_id)
    return SignedIn(user, context.tokens.issue(user.user_id) if context.tokens.are_ours else None)


async def log_in(
    context: Context,
    *,
    login: Annotated[str, Doc("The username or the e-mail address.")],
    password: Annotated[str, Doc("The password.")],
) -> SignedIn:
    """Get a token. Works during the 30 days after an account was deleted, so that it can be restored."""
    if not context.tokens.are_ours:
        raise refused(ProblemCode.FORBIDDEN, "this server keeps no passwords; sign in at the identity provider")
    login = login.strip().lower()
    attempt = await _begin_attempt(context, login)
    kind = "email" if "@" in login else "username"
    # Whatever is wrong with it, one reads and computes the same, and answers the same.
    guard = await _guard_of(context, kind, login)
    (user,) = await context.load.fresh(User.key(user_id=guard.owner_id if guard else "nobody"))
    matches = await context.passwords.matches(password, user.password_hash if user else None)
    if user is None or not matches or is_gone(user):
        raise refused(ProblemCode.INVALID, "the name or the password is wrong", "input")
    await _forgive(context, attempt)
    # From here on the request is theirs: the payload shows them their own e-mail address.
    context.load.viewer = Viewer(user.user_id)
    return SignedIn(user, context.tokens.issue(user.user_id))


async def update_profile(
    context: Context,
    *,
    display_name: Annotated[str | None, Doc("The name to show, up to 80 characters; null removes it.")] = UNSET,
    bio: Annotated[str | None, Doc("A few words, up to 500 characters; null removes them.")] = UNSET,
    avatar_url: Annotated[str | None, Doc("The https address of a picture; null removes it.")] = UNSET,
    bluesky_handle: Annotated[str | None, Doc("The handle on Bluesky; null removes it.")] = UNSET,
    bluesky_did: Annotated[str | None, Doc("The identifier on Bluesky; null removes it.")] = UNSET,
) -> User:
    """Change what one's profile says. What is left out stays as it is."""
    checks = Checks()
    changes: dict[str, Any] = {
        name: checks.text(path, value, at_most=limit)
        for name, path, value, limit in (
            ("display_name", "displayName", display_name, 80),
            ("bio", "bio", bio, 500),
            ("bluesky_handle", "blueskyHandle", bluesky_handle, 253),
            ("bluesky_did", "blueskyDid", bluesky_did, 2048),
        )
        if value is not UNSET
    }
    if avatar_url is not UNSET:
        avatar = Image(url=checks.https_url("avatarUrl", avatar_url)) if avatar_url is not None else None
        changes["profile_images"] = ProfileImages(avatar=avatar) if avatar else None
    checks.done()
    user = await own_account(context)
    changed = user.changed(**changes)
    await change_account(context, Update.of(user, changed, when=is_open()))
    return await own_account(context)


async def change_username(context: Context, *, username: Annotated[str, Doc("The new one.")]) -> User:
    """Take another username; the old one is free for others at once."""
    checks = Checks()
    username = checks.username("username", username)
    checks.done()
    return await _change_unique(context, "username", username)


async def change_email(context: Context, *, email: Annotated[str, Doc("The new one.")]) -> User:
    """Take another e-mail address, to be verified anew."""
    checks = Checks()
    email = checks.email("email", email)
    checks.done()
    return await _change_unique(context, "email", email, email_verified_at=_proven_at(context, email))


async def change_password(
    context: Context,
    *,
    current_password: Annotated[str, Doc("The one that is valid now.")],
    new_password: Annotated[str, Doc("8 characters to 72 bytes.")],
) -> User:
    """Set another password. Tokens that were issued before stay valid until they expire."""
    checks = Checks()
    checks.password("newPassword", new_password)
    checks.done()
    user = await own_account(context)
    attempt = await _begin_attempt(context, user.user_id)
    if not await context.passwords.matches(current_password, user.password_hash):
        raise refused(ProblemCode.INVALID, "the current password is wrong", "input", "currentPassword")
    changed = user.changed(password_hash=await context.passwords.hash(new_password))
    same = equals("password_hash", user.password_hash)
    await change_account(context, Update.of(user, changed, when=is_open() & same))
    await _forgive(context, attempt)
    return changed


def _taken(conflict: Conflict, guards: dict[str, Put]) -> Refused:
    problems = [
        Problem(ProblemCode.TAKEN, f"this {kind} is taken", ("input", kind))
        for kind, guard in guards.items()
        if guard in conflict
    ]
    return Refused(*problems) if problems else refused(ProblemCode.CONFLICT, "the account changed; try again")


def _as_verified_as(user: User) -> Condition:
    """What is verified in the meantime is the old address: it must not count for the new one."""
    if user.email_verified_at is None:
        return absent("email_verified_at")
    return equals("email_verified_at", user.email_verified_at)


def _proven_at(context: Context, email: str) -> Time | None:
    """Now, where the identity provider vouches for this very address."""
    return now() if context.viewer.verified_email == email else None


async def _change_unique(context: Context, kind: str, value: str, **also: Any) -> User:
    """The record and both guards move in one transaction, so no value is ever free or taken twice."""
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
        )
    except Conflict as conflict:
        raise _taken(conflict, {kind: guard}) from None
    return changed


async def _guard_of(context: Context, kind: str, value: str) -> Unique | None:
    digestible = value if value and "#" not in value and value.isprintable() and len(value) < 300 else "nobody"
    (guard,) = await context.load.fresh(Unique.key(kind=kind, value=digestible))
    return guard


async def _begin_attempt(context: Context, account: str) -> list[Update]:
    """Count the attempt before the password is looked at: guesses sent all at once are counted too."""
    address = context.client_address
    limits = {f"{address} {account}": FAILURES_PER_ACCOUNT, address: FAILURES_PER_ADDRESS}
    too_many = "too many failed attempts"
    return await count_attempt(context.load, limits, every=WINDOW, too_many=too_many, path=("input",))


async def _forgive(context: Context, attempt: list[Update]) -> None:
    """A success is no failure: take the attempt back, and forget the failures of this account here."""
    account, address = attempt
    await context.load.write(Delete(account.key), Update(address.key, add={"count": -1}, when=exists()))
