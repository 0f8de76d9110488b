"""Ranking of posts by current activity."""

from collections.abc import Sequence

from datastore.model.keys import Key, Range
from datastore.social import Post, PostCounter, PostRank
from loaders.merge import Merge
from resolvers.core.rankings import POINTS_FOR_A_COMMENT, DaysBack, heat, hottest


def rank_of(post: Post, shards: Sequence[PostCounter]) -> PostRank | None:
    """Returns the rank of a post by its current counts, or None if it is deleted or hidden."""
    if post.deleted_at is not None or post.hidden_at is not None:
        return None
    likes = post.like_count + sum(shard.like_count for shard in shards)
    comments = post.comment_count + sum(shard.comment_count for shard in shards)
    return PostRank(
        post_id=post.post_id,
        day=post.created_at[:10],
        heat=heat(likes + POINTS_FOR_A_COMMENT * comments, post.created_at),
        created_at=post.created_at,
        updated_at=post.created_at,
    )


def trending_posts(*, days: DaysBack = 7) -> Merge[PostRank]:
    """Posts people like and discuss now. Ten times the activity offsets one day of age."""
    return hottest(days, _hot_on, "trending")


def _hot_on(day: str) -> Range[PostRank]:
    return PostRank.by_heat(day=day)


def ranked_post(rank: PostRank) -> Key[Post]:
    return Post.key(post_id=rank.post_id)
