"""What people made is hidden while their account is deleted, and shown again when it is restored."""

from collections.abc import Callable, Sequence
from typing import Any

from datastore.keys import Key, Range
from datastore.times import Time, now
from datastore.users import User
from datastore.writes import Update, absent, exists
from loaders.loaders import Loaders
from resolvers.jobs import BATCH, attempt, for_each

Matched = Callable[[Any, Time | None], Any]
"""From a record and the time since which it is hidden, if it is, to the record as it should be; None to leave it."""


async def match_to_account(load: Loaders, user_id: str, ranges: Sequence[Range[Any]], matched: Matched) -> None:
    """Hide the works of a deleted account, show those of a restored one, whichever it is by now."""
    key = User.key(user_id=user_id)
    (user,) = await load.fresh(key)
    while user is not None:
        hidden = user.deleted_at is not None
        for within in ranges:
            async for works in load.pages(within, BATCH):
                # What the index has as hidden was hidden by an earlier attempt, and need not be read again.
                open_ones = [work for work in works if not (hidden and work.hidden_at)]
                await for_each(open_ones, _match, load, hidden, matched)
        (user,) = await load.fresh(key)
        if user is not None and hidden is (user.deleted_at is not None):
            return


async def _match(found: Any, load: Loaders, hidden: bool, matched: Matched) -> None:
    """By the work as it is now, not as an index has it. It does not change when it was last changed."""
    key: Key[Any] = found.own_key
    (work,) = await load.fresh(key)
    if work is None or hidden is (work.hidden_at is not None):
        return
    changed = matched(work, now() if hidden else None)
    if changed is not None:
        when = (absent if hidden else exists)("hidden_at")
        changed = changed.changed(updated_at=work.updated_at)
        await attempt(load.write(Update.of(work, changed, when=when)))
