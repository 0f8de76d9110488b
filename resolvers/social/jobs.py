"""Background jobs of the social network."""

from typing import Any

from datastore.accounts import User
from datastore.client.errors import Conflict
from datastore.client.writes import Delete, Update, exists
from datastore.model.keys import Key, Range
from datastore.model.times import Time, now
from datastore.social import Comment, Follow, Like, Notification, Post, PostCounter
from loaders.request import Loaders
from resolvers.accounts.lifecycle import when_account_is
from resolvers.accounts.visibility_sync import match_to_account
from resolvers.background.jobs import AT_ONCE, BATCH, attempt, delete_all, for_each, job


@job
async def purge_post(load: Loaders, *, post_id: str) -> None:
    """Purges a deleted post. Its counters go first: without them it can no longer be liked."""
    for within in (PostCounter.within(post_id=post_id), Like.within(post_id=post_id), Comment.within(post_id=post_id)):
        await delete_all(load, within)
    await load.table.batch_write(deletes=[Post.key(post_id=post_id)])


@when_account_is("deleted", "restored")
@job
async def match_works_to_account(load: Loaders, *, user_id: str) -> None:
    """Hides or shows the posts and comments of an account, and removes or returns posts from the feed."""
    ranges: list[Range[Any]] = [Post.by_author(user_id=user_id), Comment.by_author(user_id=user_id)]
    await match_to_account(load, user_id, ranges, _matched)


def _matched(work: Post | Comment, hidden_at: Time | None) -> Post | Comment | None:
    if isinstance(work, Comment):
        return work.changed(hidden_at=hidden_at)
    if work.deleted_at is not None:
        return None
    return work.changed(hidden_at=hidden_at, feed_shard=None if hidden_at else 0)


@when_account_is("purged")
@job
async def purge_works(load: Loaders, *, user_id: str) -> None:
    """Purges the works of an account after its grace period, and corrects the counts of other users."""
    async for posts in load.pages(Post.by_author(user_id=user_id), AT_ONCE):
        for post in posts:
            gone = post.changed(deleted_at=now(), feed_shard=None)
            await attempt(load.write(Update.of(post, gone, when=exists())))
            await purge_post(load, post_id=post.post_id)
    ranges: list[Range[Any]] = [
        Like.by_user(user_id=user_id),
        Comment.by_author(user_id=user_id),
        Follow.within(follower_id=user_id),
        Follow.followers_of(following_id=user_id),
    ]
    for within in ranges:
        async for links in load.pages(within, BATCH):
            await for_each(links, _remove, load, user_id)
    await delete_all(load, Notification.within(user_id=user_id))


async def _count_of(load: Loaders, link: Like | Comment | Follow, user_id: str) -> Update:
    """Corrects the count at the other end of a link of this user."""
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
    """Deletes a link and its count, or the link alone if its count is gone."""
    removal = Delete(link.own_key, when=exists())
    try:
        await load.write(removal, await _count_of(load, link, user_id))
    except Conflict as conflict:
        if removal not in conflict:
            await attempt(load.write(removal))
