"""Limits on guessing passwords: by account and address, by address, and by account across all addresses.

Attempts are counted by account ID, so a username and an email address are one account. The limit across all addresses
does not apply to an address that has signed in to the account before: strangers cannot lock its owner out there.
"""

import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from datastore.accounts import KnownAddress, User
from datastore.client.errors import DatastoreError
from datastore.client.writes import Delete, Put, Update, exists
from datastore.model.keys import Key
from loaders.threads import Busy
from resolvers.accounts.security_writes import note_limit
from resolvers.core import security_log
from resolvers.core.context import Context
from resolvers.core.problems import INPUT, Refused
from resolvers.core.rate_limit import count_attempt, digest

WINDOW = 15 * 60
PER_ACCOUNT_AND_ADDRESS = 10
PER_ADDRESS = 100
PER_ACCOUNT = 100
KNOWN_FOR = 90 * 24 * 3600
NO_USER = "no-user"


@dataclass(frozen=True)
class Attempt:
    """A counted attempt. `remembers` is the record that marks its address as known, for a sign-in."""

    of_account: Update
    others: tuple[Update, ...]
    remembers: KnownAddress | None = None

    async def matches(self, context: Context, password: str, hashed: str | None) -> bool:
        """Checks the password. An attempt that cannot be checked, because the server is busy, does not count."""
        try:
            return await context.passwords.matches(password, hashed)
        except Busy:
            with suppress(DatastoreError):
                await context.load.write_aside(*_uncounted((self.of_account, *self.others)))
            raise

    async def succeeded(self, context: Context, *events: Put | Update) -> None:
        """Uncounts the attempt, resets the failures of this account from this address, and remembers the address.

        `events` are written with that.
        """
        known = [Put(self.remembers)] if self.remembers else []
        await context.load.write_aside(Delete(self.of_account.key), *_uncounted(self.others), *known, *events)


def _uncounted(counts: Iterable[Update]) -> list[Update]:
    return [Update(count.key, add={"count": -1}, when=exists()) for count in counts]


async def begin_sign_in(context: Context, user_id: str | None, login: str) -> tuple[User | None, Attempt]:
    """Reads the account and counts the attempt. Does the same work for a login that belongs to no account."""
    address = context.client_address
    remembers = KnownAddress(
        subject=digest(f"{user_id or NO_USER} signed in from {address}"), expires_at=int(time.time()) + KNOWN_FOR
    )
    keys: list[Key[Any]] = [User.key(user_id=user_id or NO_USER), remembers.own_key]
    user, known = await context.load.fresh(*keys)
    account = user_id or f"unknown login {login}"
    limits = {f"{address} {account}": PER_ACCOUNT_AND_ADDRESS, address: PER_ADDRESS}
    if not isinstance(known, KnownAddress) or (known.expires_at or 0) <= time.time():
        limits[account] = PER_ACCOUNT
    attempt = await _counted(context, limits, user_id)
    return user if isinstance(user, User) else None, Attempt(attempt[0], tuple(attempt[1:]), remembers)


async def begin_password_change(context: Context, user_id: str) -> Attempt:
    """Counts the attempt of a signed-in viewer, across addresses: a stolen token must not find the password."""
    limits = {f"password of {user_id}": PER_ACCOUNT_AND_ADDRESS, context.client_address: PER_ADDRESS}
    attempt = await _counted(context, limits, user_id)
    return Attempt(attempt[0], tuple(attempt[1:]))


async def _counted(context: Context, limits: dict[str, int], user_id: str | None) -> list[Update]:
    """Counts before the password is checked, so that concurrent guesses are counted too."""
    message = "too many failed attempts"
    try:
        return await count_attempt(context.load, limits, every=WINDOW, message=message, at=INPUT)
    except Refused:
        security_log.sign_in_limited(user_id)
        note_limit(context, user_id)
        raise
