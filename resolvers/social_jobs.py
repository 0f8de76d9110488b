"""What the social network clears away in the background."""

from typing import Any

from datastore.errors import Conflict
from datastore.keys import Key, Range
from datastore.social import Comment, Follow, Like, Notification, Post, PostCounter
from datastore.times import now
from datastore.users import User
from datastore.writes import Delete, Update, absent, exists
from loaders.loaders import Loaders
from resolvers.jobs import AT_ONCE, BATCH, attempt, delete_all, for_each, job
from resolvers.users_commands import when_account_is


@job
async def purge_post(load: Loaders, *, post_id: str) -> None:
    """What is left of a deleted post. Its counters go first: without them nobody can like it any more."""
    for within in (PostCounter.within(post_id=post_id), Like.within(post_id=post_id), Comment.within(post_id=post_id)):
        await delete_all(load, within)
    await load.table.batch_write(deletes=[Post.key(post_id=post_id)])


@when_account_is("deleted", "restored")
@job
async def match_works_to_account(load: Loaders, *, user_id: str) -> None:
    """Hide the posts and comments of a deleted account, show those of a restored one, whichever it is by now."""
    key = User.key(user_id=user_id)
    (user,) = await load.fresh(key)
    while user is not None:
        hidden = user.deleted_at is not None
        ranges: list[Range[Any]] = [Post.within("gsi1", user_id=user_id), Comment.within("gsi1", user_id=user_id)]
        for within in ranges:
            async for works in load.pages(within, BATCH):
                # What the index has as hidden was hidden by an earlier attempt, and need not be read again.
                await for_each([work for work in works if not (hidden and work.hidden_at)], _match, load, hidden)
        (user,) = await load.fresh(key)
        if user is not None and hidden is (user.deleted_at is not None):
            return


async def _match(found: Post | Comment, load: Loaders, hidden: bool) -> None:
    """By the work as it is now, not as an index has it. It does not change when it was last changed."""
    key: Key[Any] = found.own_key
    (work,) = await load.fresh(key)
    if work is None or hidden is (work.hidden_at is not None):
        return
    changes: dict[str, Any] = {"hidden_at": now() if hidden else None, "updated_at": work.updated_at}
    if isinstance(work, Post):
        if work.deleted_at is not None:
            return
        changes["feed_shard"] = None if hidden else 0
    when = (absent if hidden else exists)("hidden_at")
    await attempt(load.write(Update.of(work, work.changed(**changes), when=when)))


@when_account_is("purged")
@job
async def purge_works(load: Loaders, *, user_id: str) -> None:
    """Everything somebody made, once the account is past its grace, so that the counts of everybody else are right."""
    async for posts in load.pages(Post.within("gsi1", user_id=user_id), AT_ONCE):
        for post in posts:
            gone = post.changed(deleted_at=now(), feed_shard=None)
            await attempt(load.write(Update.of(post, gone, when=exists())))
            await purge_post(load, post_id=post.post_id)
    ranges: list[Range[Any]] = [
        Like.within("gsi1", user_id=user_id),
        Comment.within("gsi1", user_id=user_id),
        Follow.within(follower_id=user_id),
        Follow.within("gsi1", following_id=user_id),
    ]
    for within in ranges:
        async for links in load.pages(within, BATCH):
            await for_each(links, _remove, load, user_id)
    await delete_all(load, Notification.within(user_id=user_id))


async def _count_of(load: Loaders, link: Like | Comment | Follow, user_id: str) -> Update:
    """Where a link of this person is counted besides with them."""
    if isinstance(link, Follow):
        if link.follower_id == user_id:
            return Update(User.key(user_id=link.following_id), add={"follower_count": -1}, when=exists())
        return Update(User.key(user_id=link.follower_id), add={"following_count": -1}, when=exists())
    (post,) = await load.fresh(Post.key(post_id=link.post_id))
    sharded = post is not None and post.counter_shards
    counter: Key[Any] = PostCounter.key(post_id=link.post_id, shard=0) if sharded else Post.key(post_id=link.post_id)
    counted = "like_count" if isinstance(link, Like) else "comment_count"
    return Update(counter, add={counted: -1}, when=exists())


async def _remove(link: Like | Comment | Follow, load: Loaders, user_id: str) -> None:
    """The link and its count; the link alone where what counted it is gone."""
    removal = Delete(link.own_key, when=exists())
    try:
        await load.write(removal, await _count_of(load, link, user_id))
    except Conflict as conflict:
        if removal not in conflict:
            await attempt(load.write(removal))
