"""Hides the works of a deleted account, and shows them again when it is restored."""

from collections.abc import Callable, Sequence
from typing import Any

from datastore.accounts import User
from datastore.client.writes import Condition, Update, absent, exists
from datastore.model.keys import Range
from datastore.model.times import Time, now
from loaders.request import Loaders
from resolvers.background.jobs import BATCH, for_each
from resolvers.core.retry import retries_on_conflict

Matched = Callable[[Any, Time | None], Any]
"""Takes a record and the time it was hidden, or None; returns the changed record, or None to leave it as it is."""

AsRead = Callable[[Any], Condition]
"""Returns the condition that what `matched` used has not changed since the record was read."""


async def match_to_account(
    load: Loaders,
    user_id: str,
    ranges: Sequence[Range[Any]],
    matched: Matched,
    as_read: AsRead = lambda _: exists(),
) -> None:
    """Hides the works of a deleted account, or shows those of a restored one, until they match the account."""
    key = User.key(user_id=user_id)
    (user,) = await load.fresh(key)
    while user is not None:
        hidden = user.deleted_at is not None
        for within in ranges:
            async for works in load.pages(within, BATCH):
                # An earlier attempt hid those that are hidden in the index: they need not be read again.
                open_ones = [work for work in works if not (hidden and work.hidden_at)]
                await for_each(open_ones, _match, load, hidden, matched, as_read)
        (user,) = await load.fresh(key)
        if user is not None and hidden is (user.deleted_at is not None):
            return


@retries_on_conflict
async def _match(found: Any, load: Loaders, hidden: bool, matched: Matched, as_read: AsRead) -> None:
    """Reads the work itself, since an index may be stale. `updated_at` stays as it is."""
    (work,) = await load.fresh(found.own_key)
    if work is None or hidden is (work.hidden_at is not None):
        return
    changed = matched(work, now() if hidden else None)
    if changed is not None:
        when = exists() & (absent if hidden else exists)("hidden_at") & as_read(work)
        changed = changed.changed(updated_at=work.updated_at)
        await load.write(Update.of(work, changed, when=when))
