"""Background jobs of the social network, and what a deleted account takes along here."""

from datastore.social import Comment, Follow, Like, Post, PostCounter, PostRank
from loaders.request import Loaders
from resolvers.accounts.visibility_sync import Count, Works, add_to, works
from resolvers.background.jobs import delete_all, job
from resolvers.social.edges import commented_post, followed, follower, liked_post


@job
async def purge_post(load: Loaders, *, post_id: str) -> None:
    """Deletes what is left of a deleted post. Its counters go first: without them it can no longer be liked."""
    for within in (PostCounter.within(post_id=post_id), Like.within(post_id=post_id), Comment.within(post_id=post_id)):
        await delete_all(load, within)
    await load.table.batch_write(deletes=[PostRank.key(post_id=post_id)])
    await load.table.batch_write(deletes=[Post.key(post_id=post_id)])


def _in_feed(post: Post) -> Post | None:
    """A hidden post is in no feed. One that is shown again is in the shard that every feed reads."""
    if post.deleted_at is not None:
        return None
    return post.changed(feed_shard=None if post.hidden_at else 0, updated_at=post.updated_at)


async def _empty(load: Loaders, post: Post) -> None:
    await purge_post(load, post_id=post.post_id)


# Counters in shards are added to the post's own: it does not matter which of them moves.
works(Post, Works(placed=_in_feed, empty=_empty))
works(Like, Works(counts={"hidden_at": Count(liked_post, add_to("like_count"))}))
works(Comment, Works(counts={"hidden_at": Count(commented_post, add_to("comment_count"))}))
works(
    Follow,
    Works(
        counts={
            "hidden_at": Count(followed, add_to("follower_count")),
            "followed_hidden_at": Count(follower, add_to("following_count")),
        }
    ),
)
