"""The accounts of active viewers, so that a token ends on every server without a read per request."""

import asyncio
import time
from collections.abc import Iterable
from typing import NamedTuple

from datastore.accounts import User
from datastore.changes.change import Change
from datastore.client.budget import Usage
from datastore.client.table import Table
from datastore.model.projections import Wanted
from loaders.viewer import Viewer
from resolvers.accounts.linked_identities import LinkedIdentities
from resolvers.accounts.token_epoch import ENDED, has_ended
from resolvers.accounts.tokens import BadToken
from resolvers.core.error_codes import ErrorCode

MAX_AGE = 3.0
MOST_VIEWERS = 10_000
TIME_FOR_ONE = 5.0
STATE = Wanted(frozenset({"token_epoch", "email"}))


class AccountState(NamedTuple):
    """The token epoch and the email address of an account."""

    token_epoch: int
    email: str


class ViewerStates:
    """One per server. Its reads belong to the process: a request that waits for one is not charged."""

    def __init__(self, table: Table, within: float = TIME_FOR_ONE, most: int = MOST_VIEWERS) -> None:
        self.max_age = MAX_AGE
        self.reads = 0
        self._table = table
        self._within = min(within, TIME_FOR_ONE)
        self.links = LinkedIdentities(table, self._within)
        self._most = most
        # The state of each account, None if there is none, and when it was read. The oldest reads come first.
        self._known: dict[str, tuple[AccountState | None, float]] = {}
        self._under_way: dict[str, asyncio.Task[AccountState | None]] = {}

    async def check(self, viewer: Viewer) -> None:
        """Raises BadToken if the viewer's token has ended, as of a few seconds ago at most."""
        if viewer.user_id is None or viewer.token is None:
            return
        state, read_at = self._known.get(viewer.user_id, (None, 0.0))
        claimed = viewer.token.epoch
        # A token from a later epoch than the known one was issued after the last read.
        if _is_newer(claimed, state) or viewer.user_id not in self._known or time.monotonic() - read_at >= self.max_age:
            joined = viewer.user_id in self._under_way
            state = await self._read_once(viewer.user_id)
            if joined and _is_newer(claimed, state):
                # The read had begun before the token was issued.
                state = await self._read_once(viewer.user_id)
        if has_ended(viewer.token, state.token_epoch if state else None):
            raise BadToken(ENDED, ErrorCode.TOKEN_EXPIRED)

    async def email_of(self, viewer: Viewer) -> str | None:
        """Returns the email address in the viewer's token or else that of the account.

        `check` has read the account of a viewer with a token, so there is a read only for those without one.
        """
        if viewer.user_id is None or viewer.verified_email is not None:
            return viewer.verified_email
        state, read_at = self._known.get(viewer.user_id, (None, 0.0))
        is_old = viewer.token is None and time.monotonic() - read_at >= self.max_age
        if is_old or viewer.user_id not in self._known:
            state = await self._read_once(viewer.user_id)
        return state.email if state else None

    def note(self, user: User) -> None:
        """Takes over a change that this server made, without waiting for the next read."""
        self._under_way.pop(user.user_id, None)
        self._keep(user.user_id, AccountState(user.token_epoch, user.email))

    def heard(self, changes: Iterable[Change]) -> None:
        """Forgets the accounts that were changed."""
        for change in changes:
            if change.entity is User:
                user_id = change.key.values["user_id"]
                self._known.pop(user_id, None)
                self._under_way.pop(user_id, None)

    async def _read_once(self, user_id: str) -> AccountState | None:
        """Requests that come during a read wait for it together. One that leaves does not end it for the others."""
        reading = self._under_way.get(user_id)
        if reading is None:
            reading = self._under_way[user_id] = asyncio.create_task(self._read(user_id))
            reading.add_done_callback(lambda done: self._arrived(user_id, done))
        return await asyncio.shield(reading)

    async def _read(self, user_id: str) -> AccountState | None:
        self.reads += 1
        table = self._table.using(Usage.lasting(self._within))
        user = await table.get(User.key(user_id=user_id), consistent=True, projection=STATE[User].items)
        return AccountState(user.token_epoch, user.email) if user else None

    def _arrived(self, user_id: str, done: "asyncio.Task[AccountState | None]") -> None:
        # A read that a change of this server has overtaken is not kept.
        if self._under_way.get(user_id) is done:
            del self._under_way[user_id]
            if not done.cancelled() and done.exception() is None:
                self._keep(user_id, done.result())

    def _keep(self, user_id: str, state: AccountState | None) -> None:
        self._known.pop(user_id, None)
        self._known[user_id] = state, time.monotonic()
        if len(self._known) > self._most:
            del self._known[next(iter(self._known))]


def _is_newer(claimed: int | None, state: AccountState | None) -> bool:
    return claimed is not None and (state is None or claimed > state.token_epoch)
