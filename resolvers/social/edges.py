"""The social network: the keys that each field reads."""

from functools import cache
from typing import Annotated

from typing_extensions import Doc

from datastore.accounts import User
from datastore.model.enums import Choice
from datastore.model.keys import Key, Range
from datastore.social import Comment, Follow, Like, Post, PostCounter
from loaders.copied import Copied
from loaders.merge import Merge
from loaders.needs import Step
from loaders.sharded_counts import Total
from loaders.viewer import Viewer
from resolvers.core.access import AccessRelation, AccessRole, access
from resolvers.core.contention import MAX_SHARDS
from resolvers.core.options import Options
from resolvers.social.home_feed import home_feed_of, posts_by


class LikeOrder(Choice):
    """Order of the likes of a post."""

    NEWEST_FIRST = "NEWEST_FIRST", "By time of the like, newest first."
    OLDEST_FIRST = "OLDEST_FIRST", "By time of the like, oldest first."
    BY_USER = "BY_USER", "By user ID."


class FollowOrder(Choice):
    """Order of followers and of followed users."""

    NEWEST_FIRST = "NEWEST_FIRST", "By time the follow began, newest first."
    OLDEST_FIRST = "OLDEST_FIRST", "By time the follow began, oldest first."
    BY_USER = "BY_USER", "By user ID."


OrderOfFollows = Annotated[FollowOrder, Doc("Order of the users.")]


def post_by_database_id(*, database_id: Annotated[str, Doc("Permanent identifier (`databaseId`).")]) -> Key[Post]:
    """The post with this permanent identifier."""
    return Post.key(post_id=database_id)


def feed(options: Options) -> Merge[Post]:
    """Posts by all users, newest first."""
    return _feed(options.all_feed_shards)


@cache
def _feed(shards: range) -> Merge[Post]:
    return Merge(tuple(Post.in_feed(feed_shard=shard).newest_first() for shard in shards), "feed")


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.SELF,))
def home_feed(user: User, viewer: Viewer) -> Step[Copied[Post] | Merge[Post] | None]:
    """Posts by the users this user follows, newest first."""
    if not viewer.is_user(user.user_id):
        return None
    return (yield from home_feed_of(user.user_id, viewer))


def author(work: Post | Comment) -> Key[User]:
    """The author, or null if the account is deleted."""
    return User.key(user_id=work.user_id)


def like_count(post: Post) -> int | Total:
    """Number of likes."""
    return _sharded(post, "like_count") if post.counter_shards else post.like_count


def comment_count(post: Post) -> int | Total:
    """Number of comments."""
    return _sharded(post, "comment_count") if post.counter_shards else post.comment_count


def _sharded(post: Post, field: str) -> Total:
    return Total(getattr(post, field), tuple(counter_keys(post)), (field,))


def counter_keys(post: Post) -> list[Key[PostCounter]]:
    """Returns the keys of the shards that a post is counted in."""
    shards = range(min(post.counter_shards or 0, MAX_SHARDS))
    return [PostCounter.key(post_id=post.post_id, shard=shard) for shard in shards]


def comments(post: Post) -> Range[Comment]:
    """Comments on the post, oldest first."""
    return Comment.within(post_id=post.post_id)


def likes(
    post: Post, *, order_by: Annotated[LikeOrder, Doc("Order of the likes.")] = LikeOrder.NEWEST_FIRST
) -> Range[Like]:
    """Users who like the post."""
    if order_by is LikeOrder.BY_USER:
        return Like.within(post_id=post.post_id)
    return Like.on_post(post_id=post.post_id).directed(descending=order_by is LikeOrder.NEWEST_FIRST)


def liker(like: Like) -> Key[User]:
    return User.key(user_id=like.user_id)


def viewer_has_liked(post: Post, viewer: Viewer) -> Key[Like] | None:
    """True if the viewer likes the post."""
    return Like.key(post_id=post.post_id, user_id=viewer.user_id) if viewer.user_id else None


def posts(user: User) -> Range[Post]:
    """Posts by this user, newest first."""
    return posts_by(user.user_id)


def liked_posts(user: User) -> Range[Like]:
    """Posts this user likes, most recently liked first."""
    return Like.by_user(user_id=user.user_id).newest_first()


def liked_post(like: Like) -> Key[Post]:
    return Post.key(post_id=like.post_id)


def comments_by(user: User) -> Range[Comment]:
    """Comments by this user on posts, newest first."""
    return Comment.by_author(user_id=user.user_id).newest_first()


def commented_post(comment: Comment) -> Key[Post]:
    """The post that was commented on."""
    return Post.key(post_id=comment.post_id)


def followers(user: User, *, order_by: OrderOfFollows = FollowOrder.NEWEST_FIRST) -> Range[Follow]:
    """Users who follow this user."""
    if order_by is FollowOrder.BY_USER:
        return Follow.followers_of(following_id=user.user_id)
    by_time = Follow.followers_by_time(following_id=user.user_id)
    return by_time.directed(descending=order_by is FollowOrder.NEWEST_FIRST)


def follower(follow: Follow) -> Key[User]:
    return User.key(user_id=follow.follower_id)


def following(user: User, *, order_by: OrderOfFollows = FollowOrder.NEWEST_FIRST) -> Range[Follow]:
    """Users this user follows."""
    if order_by is FollowOrder.BY_USER:
        return Follow.within(follower_id=user.user_id)
    by_time = Follow.following_by_time(follower_id=user.user_id)
    return by_time.directed(descending=order_by is FollowOrder.NEWEST_FIRST)


def followed(follow: Follow) -> Key[User]:
    return User.key(user_id=follow.following_id)


def viewer_follows(user: User, viewer: Viewer) -> Key[Follow] | None:
    """True if the viewer follows this user."""
    return Follow.key(follower_id=viewer.user_id, following_id=user.user_id) if viewer.user_id else None


def follows_viewer(user: User, viewer: Viewer) -> Key[Follow] | None:
    """True if this user follows the viewer."""
    return Follow.key(follower_id=user.user_id, following_id=viewer.user_id) if viewer.user_id else None
