"""Accounts that subjects of an identity provider sign in to.

An account that was made with the provider's token has the subject as its ID. A local account that was linked later
keeps its own ID, and a guard names it.
"""

import time
from dataclasses import replace

from datastore.accounts import Unique
from datastore.client.budget import Usage
from datastore.client.table import Table
from datastore.client.writes import Check, absent, below
from datastore.model.keys import Key
from loaders.viewer import Viewer

KIND = "subject"
MAX_AGE = 3.0
MOST = 10_000


def guard_of(subject: str) -> Key[Unique]:
    return Unique.key(kind=KIND, value=subject)


def not_linked(subject: str) -> Check:
    """Requires that no account is linked to this identity, so that it cannot have two."""
    return Check(guard_of(subject), when=absent() | below("expires_at", int(time.time())))


class LinkedIdentities:
    """One per server. Reads a guard every few seconds for each active viewer of an identity provider."""

    def __init__(self, table: Table, within: float, most: int = MOST) -> None:
        self.max_age = MAX_AGE
        self._table = table
        self._within = within
        self._most = most
        # The account of each subject, None if none is linked, and when it was read. The oldest reads come first.
        self._known: dict[str, tuple[str | None, float]] = {}

    async def resolved(self, viewer: Viewer) -> Viewer:
        """Returns the viewer as the linked account, if there is one."""
        if viewer.user_id is None:
            return viewer
        user_id, read_at = self._known.get(viewer.user_id, (None, 0.0))
        if viewer.user_id not in self._known or time.monotonic() - read_at >= self.max_age:
            user_id = await self._read(viewer.user_id)
            self.note(viewer.user_id, user_id)
        return viewer if user_id is None else replace(viewer, user_id=user_id, subject=viewer.user_id)

    def note(self, subject: str, user_id: str | None) -> None:
        """Takes over what this server has read or linked."""
        self._known.pop(subject, None)
        self._known[subject] = user_id, time.monotonic()
        if len(self._known) > self._most:
            del self._known[next(iter(self._known))]

    async def _read(self, subject: str) -> str | None:
        guard = await self._table.using(Usage.lasting(self._within)).get(guard_of(subject), consistent=True)
        if guard is None or (guard.expires_at is not None and guard.expires_at <= time.time()):
            return None
        return guard.owner_id
