"""The social network: where each field leads, and who may see what."""

from typing import Annotated

from typing_extensions import Doc

from datastore.accounts import User
from datastore.model.keys import Key, Range
from datastore.social import Comment, Follow, Like, Notification, Post, PostCounter
from loaders.merge import Merge
from loaders.needs import Step
from loaders.pages import whole
from loaders.sharded_counts import Total
from loaders.viewer import Viewer
from loaders.visibility import seen_at, visibility
from resolvers.core.options import Options


@visibility(Post)
def post_visible(post: Post, viewer: Viewer) -> bool:
    return post.deleted_at is None and post.hidden_at is None


@visibility(Comment, inside=Post)
def comment_visible(comment: Comment, viewer: Viewer) -> bool:
    return comment.hidden_at is None


@visibility(Like)
@visibility(Follow)
def link_visible(link: Like | Follow, viewer: Viewer) -> bool:
    """A link is seen as far as both its ends are, and these have rules of their own."""
    return True


@visibility(Notification)
def notification_visible(notification: Notification, viewer: Viewer) -> bool:
    return viewer.is_user(notification.user_id)


def post(*, id: Annotated[Key[Post], Doc("The `id` of a post.")]) -> Key[Post]:
    """The post with this id."""
    return id


def feed(options: Options) -> Merge[Post]:
    """What everybody posts, newest first."""
    shards = options.all_feed_shards
    return Merge(tuple(Post.in_feed(feed_shard=shard).newest_first() for shard in shards), "everybody")


def home_feed(user: User, viewer: Viewer) -> Step[Merge[Post] | None]:
    """What the people one follows post, newest first; null for anybody but oneself."""
    if not viewer.is_user(user.user_id):
        return None
    follows: list[Follow] = yield from whole(following(user))
    people: list[User | None] = yield from seen_at([followed(follow) for follow in follows], viewer)
    ranges = tuple(posts(person) for person in people if person is not None and person.post_count)
    return Merge(ranges, user.user_id)


def author(work: Post | Comment) -> Key[User]:
    """Who made it; null once that account is deleted."""
    return User.key(user_id=work.user_id)


def like_count(post: Post) -> int | Total:
    """How many people like it."""
    return _count(post, "like_count")


def comment_count(post: Post) -> int | Total:
    """How many comments it has."""
    return _count(post, "comment_count")


def _count(post: Post, field: str) -> int | Total:
    counted: int = getattr(post, field)
    if not post.counter_shards:
        return counted
    shares = tuple(PostCounter.key(post_id=post.post_id, shard=shard) for shard in range(post.counter_shards))
    return Total(counted, shares, field)


def comments(post: Post) -> Range[Comment]:
    """What people say about it, in the order they said it."""
    return Comment.within(post_id=post.post_id)


def likes(post: Post) -> Range[Like]:
    """Who likes it, in the order of their ids."""
    return Like.within(post_id=post.post_id)


def liker(like: Like) -> Key[User]:
    return User.key(user_id=like.user_id)


def viewer_has_liked(post: Post, viewer: Viewer) -> Key[Like] | None:
    """Whether the one who asks likes it."""
    return Like.key(post_id=post.post_id, user_id=viewer.user_id) if viewer.user_id else None


def posts(user: User) -> Range[Post]:
    """What this person posted, newest first."""
    return Post.by_author(user_id=user.user_id).newest_first()


def liked_posts(user: User) -> Range[Like]:
    """The posts this person likes, by when they liked them, newest first."""
    return Like.by_user(user_id=user.user_id).newest_first()


def liked_post(like: Like) -> Key[Post]:
    return Post.key(post_id=like.post_id)


def comments_by(user: User) -> Range[Comment]:
    """What this person said about posts, newest first."""
    return Comment.by_author(user_id=user.user_id).newest_first()


def commented_post(comment: Comment) -> Key[Post]:
    """The post it is about."""
    return Post.key(post_id=comment.post_id)


def followers(user: User) -> Range[Follow]:
    """Who follows this person, in the order of their ids."""
    return Follow.followers_of(following_id=user.user_id)


def follower(follow: Follow) -> Key[User]:
    return User.key(user_id=follow.follower_id)


def following(user: User) -> Range[Follow]:
    """Whom this person follows, in the order of their ids."""
    return Follow.within(follower_id=user.user_id)


def followed(follow: Follow) -> Key[User]:
    return User.key(user_id=follow.following_id)


def viewer_follows(user: User, viewer: Viewer) -> Key[Follow] | None:
    """Whether the one who asks follows this person."""
    return Follow.key(follower_id=viewer.user_id, following_id=user.user_id) if viewer.user_id else None


def follows_viewer(user: User, viewer: Viewer) -> Key[Follow] | None:
    """Whether this person follows the one who asks."""
    return Follow.key(follower_id=user.user_id, following_id=viewer.user_id) if viewer.user_id else None


def notifications(user: User, viewer: Viewer) -> Range[Notification] | None:
    """What happened lately that concerns this person, newest first; null for anybody but oneself."""
    return Notification.within(user_id=user.user_id).newest_first() if viewer.is_user(user.user_id) else None


def actor(notification: Notification) -> Key[User]:
    """Who did it."""
    return User.key(user_id=notification.actor_id)


def notified_post(notification: Notification) -> Key[Post] | None:
    """The post it is about."""
    return Post.key(post_id=notification.post_id) if notification.post_id else None
