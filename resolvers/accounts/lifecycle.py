"""Lifecycle of an account: soft-deleted, restored within the grace period, purged after it."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from datastore.accounts import Unique, User
from datastore.client.writes import Delete, Put, Update, above, below, exists
from datastore.model.keys import Key
from datastore.model.times import as_time, now, seconds_from_now, time_from_now
from loaders.request import Loaders
from resolvers.accounts.guards import change_account, is_gone, is_open, own_account
from resolvers.background.jobs import Work, attempt, job, queued
from resolvers.core.context import Context
from resolvers.core.unique_values import release

GRACE = timedelta(days=30)

# Jobs of other domains that run when an account is deleted, restored or purged. They take a `user_id`.
AFTERWARDS: dict[str, list[Work]] = {"deleted": [], "restored": [], "purged": []}


def when_account_is(*events: str) -> Callable[[Work], Work]:
    def declare(work: Work) -> Work:
        for event in events:
            AFTERWARDS[event].append(work)
        return work

    return declare


async def delete_account(context: Context) -> User:
    """Hides the viewer's account immediately and its works within seconds, and purges both after 30 days.

    Until then `restoreAccount` restores them. Idempotent.
    """
    user = await own_account(context, even_deleted=True)
    if user.deleted_at is not None:
        return user
    deleted = user.changed(deleted_at=now(), expires_at=seconds_from_now(GRACE))
    await change_account(
        context,
        Update.of(user, deleted, when=is_open()),
        *(Update(guard, set={"expires_at": deleted.expires_at}, when=exists()) for guard in _guards(user)),
        *_afterwards("deleted", user),
        queued(purge_account, due_at=time_from_now(GRACE), user_id=user.user_id),
    )
    return deleted


async def restore_account(context: Context) -> User:
    """Restores the viewer's deleted account, within 30 days of its deletion. Idempotent."""
    user = await own_account(context, even_deleted=True)
    if user.deleted_at is None:
        return user
    restored = user.changed(deleted_at=None, expires_at=None)
    await change_account(
        context,
        Update.of(user, restored, when=above("expires_at", int(time.time()))),
        *(Update(guard, remove=["expires_at"], when=exists()) for guard in _guards(user)),
        *_afterwards("restored", user),
    )
    return restored


def _afterwards(event: str, user: User) -> list[Put]:
    """Queues jobs for now, and again for a minute later: indexes may not show recent works yet."""
    moments = (datetime.now(UTC), datetime.now(UTC) + timedelta(minutes=1))
    return [queued(work, due_at=as_time(at), user_id=user.user_id) for work in AFTERWARDS[event] for at in moments]


@job
async def purge_account(load: Loaders, *, user_id: str) -> None:
    """Purges an account after its grace period: first its works, then the account. Does nothing if it was restored."""
    (user,) = await load.fresh(User.key(user_id=user_id))
    if user is not None and not is_gone(user):
        return
    for work in AFTERWARDS["purged"]:
        await work(load, user_id=user_id)
    if user is not None:
        for guard in _guards(user):
            await attempt(load.write(release(guard, user_id)))
        await attempt(load.write(Delete(user.own_key, when=below("expires_at", int(time.time()) + 1))))


def _guards(user: User) -> list[Key[Unique]]:
    return [Unique.key(kind="username", value=user.username), Unique.key(kind="email", value=user.email)]
