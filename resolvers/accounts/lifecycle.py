"""Lifecycle of an account: soft-deleted, restored within the grace period, purged after it."""

import time
from datetime import UTC, datetime, timedelta

from datastore.accounts import HiddenAccount, Unique, User
from datastore.client.writes import Delete, Put, Update, above, below, equals, exists
from datastore.model.keys import Key
from datastore.model.times import Time, as_time, now, seconds_from_now, time_from_now
from loaders.request import Loaders
from resolvers.accounts.guards import change_account, is_gone, is_open, own_account
from resolvers.accounts.linked_identities import guard_of
from resolvers.accounts.security_writes import account_events
from resolvers.accounts.token_epoch import next_epoch
from resolvers.accounts.visibility_sync import match_to_account, purge_works
from resolvers.background.jobs import attempt, job, queued
from resolvers.core.access import AccessRole, access
from resolvers.core.context import Context
from resolvers.core.unique_values import release

GRACE = timedelta(days=30)

# Longer than indexes take to settle: a work that this last run does not find would be visible again.
LAST_MATCH = timedelta(seconds=30)


@access(requires=AccessRole.SIGNED_IN)
async def delete_account(context: Context) -> User:
    """Hides the viewer's account immediately and its works within seconds, and purges both after 30 days.

    Until then `restoreAccount` restores them. All tokens of the account end: log in again to restore it.
    """
    user = await own_account(context, even_deleted=True)
    if user.deleted_at is not None:
        return user
    deleted = user.changed(deleted_at=now(), expires_at=seconds_from_now(GRACE), token_epoch=next_epoch(user))
    await change_account(
        context,
        Update.of(user, deleted, when=is_open()),
        *(Update(guard, set={"expires_at": deleted.expires_at}, when=exists()) for guard in _guards(user)),
        Put(HiddenAccount(user_id=user.user_id, deleted_at=deleted.deleted_at or now())),
        *_matched(user, deleted.deleted_at),
        queued(purge_account, due_at=time_from_now(GRACE), user_id=user.user_id),
        *account_events(context, user),
    )
    context.hidden_accounts.add(user.user_id)
    context.viewer_states.note(deleted)
    return deleted


@access(requires=AccessRole.SIGNED_IN)
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
        Delete(HiddenAccount.key(user_id=user.user_id)),
        *_matched(user, None),
        *account_events(context, user),
    )
    context.hidden_accounts.discard(user.user_id)
    return restored


def _matched(user: User, deleted_at: Time | None) -> list[Put]:
    """Queues the job for now, and again for when indexes show all that was made before: then the deletion is over."""
    now_and_later = (datetime.now(UTC), None), (datetime.now(UTC) + LAST_MATCH, deleted_at)
    return [
        queued(match_works_to_account, due_at=as_time(at), user_id=user.user_id, ends=ends)
        for at, ends in now_and_later
    ]


@job
async def match_works_to_account(load: Loaders, *, user_id: str, ends: str | None = None) -> None:
    """Hides the works of a deleted account, or restores those of a restored one, and moves the counts they are in.

    `ends` is the time of the deletion that is over after this: all works are marked then, and every server hides them
    by their marks.
    """
    is_hidden = await match_to_account(load, user_id)
    if ends is not None and is_hidden is not False:
        key = HiddenAccount.key(user_id=user_id)
        await attempt(load.write(Delete(key, when=equals("deleted_at", ends))))


@job
async def purge_account(load: Loaders, *, user_id: str) -> None:
    """Purges an account after its grace period: first its works, then the account. Does nothing if it was restored."""
    (user,) = await load.fresh(User.key(user_id=user_id))
    if user is not None and not is_gone(user):
        return
    await purge_works(load, user_id)
    await load.write(Delete(HiddenAccount.key(user_id=user_id)))
    if user is not None:
        for guard in _guards(user):
            await attempt(load.write(release(guard, user_id)))
        await attempt(load.write(Delete(user.own_key, when=below("expires_at", int(time.time()) + 1))))


def _guards(user: User) -> list[Key[Unique]]:
    guards = [Unique.key(kind="username", value=user.username), Unique.key(kind="email", value=user.email)]
    # An account that was made by the identity provider's token has the subject as its ID, and needs no guard.
    if user.external_subject not in (None, user.user_id):
        guards.append(guard_of(user.external_subject))
    return guards
