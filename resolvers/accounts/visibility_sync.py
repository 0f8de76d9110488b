"""What people made is hidden while their account is deleted, and shown again when it is restored."""

from collections.abc import Callable, Sequence
from typing import Any

from datastore.accounts import User
from datastore.client.writes import Condition, Update, absent, exists
from datastore.model.keys import Key, Range
from datastore.model.times import Time, now
from loaders.request import Loaders
from resolvers.background.jobs import BATCH, for_each
from resolvers.core.retry import settled

Matched = Callable[[Any, Time | None], Any]
"""From a record and the time since which it is hidden, if it is, to the record as it should be; None to leave it."""

AsRead = Callable[[Any], Condition]
"""That what this is worked out from has not changed since the record was read."""


async def match_to_account(
    load: Loaders,
    user_id: str,
    ranges: Sequence[Range[Any]],
    matched: Matched,
    as_read: AsRead = lambda _: exists(),
) -> None:
    """Hide the works of a deleted account, show those of a restored one, whichever it is by now."""
    key = User.key(user_id=user_id)
    (user,) = await load.fresh(key)
    while user is not None:
        hidden = user.deleted_at is not None
        for within in ranges:
            async for works in load.pages(within, BATCH):
                # What the index has as hidden was hidden by an earlier attempt, and need not be read again.
                open_ones = [work for work in works if not (hidden and work.hidden_at)]
                await for_each(open_ones, _match, load, hidden, matched, as_read)
        (user,) = await load.fresh(key)
        if user is not None and hidden is (user.deleted_at is not None):
            return


async def _match(found: Any, load: Loaders, hidden: bool, matched: Matched, as_read: AsRead) -> None:
    """By the work as it is now, not as an index has it. It does not change when it was last changed."""
    await settled(lambda: _match_now(found.own_key, load, hidden, matched, as_read))


async def _match_now(key: Key[Any], load: Loaders, hidden: bool, matched: Matched, as_read: AsRead) -> None:
    (work,) = await load.fresh(key)
    if work is None or hidden is (work.hidden_at is not None):
        return
    changed = matched(work, now() if hidden else None)
    if changed is not None:
        when = exists() & (absent if hidden else exists)("hidden_at") & as_read(work)
        changed = changed.changed(updated_at=work.updated_at)
        await load.write(Update.of(work, changed, when=when))
