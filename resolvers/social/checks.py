"""Rules of consistency of the social network."""

from typing import Any

from datastore.accounts import User
from datastore.client.writes import Check, Put, absent, same
from datastore.social import Comment, Follow, Like, Post, PostCounter
from resolvers.maintenance.rules import counter, derived, needs, placed, purged_by
from resolvers.social.edges import commented_post, comments, counter_keys, followed, follower, liked_post
from resolvers.social.jobs import purge_post
from resolvers.social.processors import rank_posts

IN_PARTS: dict[str, Any] = {
    "weight": lambda item: item.hidden_at is None,
    "parts": PostCounter,
    "part_keys": lambda post: [post.own_key, *counter_keys(post)],
    "subject_of": lambda part: Post.key(post_id=part.post_id),
}

counter("like_count", Post, of=Like, at=liked_post, items=lambda post: Like.within(post_id=post.post_id), **IN_PARTS)
counter("comment_count", Post, of=Comment, at=commented_post, items=comments, **IN_PARTS)
counter(
    "post_count",
    User,
    of=Post,
    at=lambda post: User.key(user_id=post.user_id),
    items=lambda user: Post.by_author(user_id=user.user_id),
    weight=lambda post: post.deleted_at is None,
    when=lambda _: True,
)
counter(
    "follower_count",
    User,
    of=Follow,
    at=followed,
    items=lambda user: Follow.followers_of(following_id=user.user_id),
    weight=lambda follow: follow.hidden_at is None,
    when=lambda _: True,
)
counter(
    "following_count",
    User,
    of=Follow,
    at=follower,
    items=lambda user: Follow.within(follower_id=user.user_id),
    weight=lambda follow: follow.followed_hidden_at is None,
    when=lambda _: True,
)

needs(Like, keys=liked_post)
needs(Comment, keys=commented_post)
needs(
    Post,
    keys=lambda post: counter_keys(post) if post.deleted_at is None else None,
    mend=lambda post, key: [
        Put(PostCounter(post_id=post.post_id, shard=int(key.values["shard"])), when=absent()),
        Check(post.own_key, when=same("counter_shards", post.counter_shards) & absent("deleted_at")),
    ],
)


def _in_feed(post: Post) -> Post:
    """A post is in the global feed as long as it is shown; any shard is right."""
    is_shown = post.deleted_at is None and post.hidden_at is None
    shard = (post.feed_shard or 0) if is_shown else None
    return post.changed(feed_shard=shard, updated_at=post.updated_at)


placed(Post, _in_feed)
purged_by(Post, purge_post)
derived(Post, rank_posts)
