"""What the social network clears away in the background. Every step is a transaction that leaves all counts right."""

import asyncio
from typing import Any

from datastore.errors import Conflict
from datastore.keys import Range
from datastore.social import Comment, Follow, Like, Notification, Post, PostCounter
from datastore.times import now
from datastore.users import User
from datastore.writes import Delete, Update, Write, absent, exists
from loaders.loaders import Loaders
from resolvers.jobs import job
from resolvers.users_commands import when_account_is

BATCH = 100


@job
async def purge_post(load: Loaders, *, post_id: str) -> None:
    """What is left of a deleted post. Its counters go first: without them nobody can like it any more."""
    for within in (PostCounter.within(post_id=post_id), Like.within(post_id=post_id), Comment.within(post_id=post_id)):
        await _delete_all(load, within)
    await load.table.batch_write(deletes=[Post.key(post_id=post_id)])


@when_account_is("deleted", "restored")
@job
async def match_works_to_account(load: Loaders, *, user_id: str) -> None:
    """Hide the posts and comments of a deleted account, show those of a restored one, whichever it is by now."""
    key = User.key(user_id=user_id)
    (user,) = await load.fresh(key)
    while user is not None:
        await (_hide_works(load, user_id) if user.deleted_at else _show_works(load, user_id))
        before, (user,) = user, await load.fresh(key)
        if user is not None and user.deleted_at == before.deleted_at:
            return


async def _hide_works(load: Loaders, user_id: str) -> None:
    for post in await load.whole(Post.within("gsi1", user_id=user_id)):
        hidden = post.changed(hidden_at=now(), feed_shard=None, updated_at=post.updated_at)
        await _attempt(load, Update.of(post, hidden, when=exists() & absent("hidden_at")))
    for comment in await load.whole(Comment.within("gsi1", user_id=user_id)):
        await _attempt(load, Update(comment.own_key, set={"hidden_at": now()}, when=exists()))


async def _show_works(load: Loaders, user_id: str) -> None:
    for post in await load.whole(Post.within("gsi1", user_id=user_id)):
        shown = post.changed(hidden_at=None, feed_shard=0, updated_at=post.updated_at)
        await _attempt(load, Update.of(post, shown, when=exists("hidden_at") & absent("deleted_at")))
    for comment in await load.whole(Comment.within("gsi1", user_id=user_id)):
        await _attempt(load, Update(comment.own_key, remove=["hidden_at"], when=exists()))


@when_account_is("purged")
@job
async def purge_works(load: Loaders, *, user_id: str) -> None:
    """Everything somebody made, once the account is past its grace, so that the counts of everybody else are right."""
    for post in await load.whole(Post.within("gsi1", user_id=user_id)):
        gone = post.changed(deleted_at=now(), feed_shard=None)
        await _attempt(load, Update.of(post, gone, when=exists()))
        await purge_post(load, post_id=post.post_id)
    for like in await load.whole(Like.within("gsi1", user_id=user_id)):
        await _uncount(load, like, like_count=-1)
    for comment in await load.whole(Comment.within("gsi1", user_id=user_id)):
        await _uncount(load, comment, comment_count=-1)
    for follow in await load.whole(Follow.within(follower_id=user_id)):
        person = Update(User.key(user_id=follow.following_id), add={"follower_count": -1}, when=exists())
        await _remove(load, follow, person)
    for follow in await load.whole(Follow.within("gsi1", following_id=user_id)):
        person = Update(User.key(user_id=follow.follower_id), add={"following_count": -1}, when=exists())
        await _remove(load, follow, person)
    await _delete_all(load, Notification.within(user_id=user_id))


async def _uncount(load: Loaders, link: Like | Comment, **counts: int) -> None:
    (post,) = await load.fresh(Post.key(post_id=link.post_id))
    if post is None:
        await _attempt(load, Delete(link.own_key, when=exists()))
    else:
        counter = PostCounter.key(post_id=post.post_id, shard=0) if post.counter_shards else post.own_key
        await _remove(load, link, Update(counter, add=counts, when=exists()))


async def _remove(load: Loaders, link: Like | Comment | Follow, count: Update) -> None:
    """The link and its count; the link alone where what counted it is gone."""
    removal = Delete(link.own_key, when=exists())
    try:
        await load.write(removal, count)
    except Conflict as conflict:
        if removal not in conflict:
            await _attempt(load, removal)


async def _attempt(load: Loaders, write: Write) -> None:
    """Where the condition does not hold, somebody was there before."""
    try:
        await load.write(write)
    except Conflict:
        return


async def _delete_all(load: Loaders, within: Range[Any]) -> None:
    records = await load.whole(within)
    batches = [records[at : at + BATCH] for at in range(0, len(records), BATCH)]
    await asyncio.gather(*(load.table.batch_write(deletes=[r.own_key for r in batch]) for batch in batches))
