"""The social network: posts, who likes and comments on them, and who follows whom."""

from datastore.model.entity import Entity, field
from datastore.model.enums import Choice
from datastore.model.ownership import part_of, user
from datastore.model.patterns import gsi1, gsi3
from datastore.model.times import Time


class Post(Entity, pk="POST#{post_id}", sk="METADATA", owner=user("user_id", "by_author", mark="hidden_at")):
    """A picture somebody published, with what they say about it."""

    by_author = gsi1("USER#{user_id}", "POST#{created_at}")
    in_feed = gsi3("FEED{feed_shard:shard}", "POST#{created_at}")

    post_id: str = field("The permanent identifier.")
    user_id: str = field("Who published it.")
    image_url: str = field("Where the picture is.")
    caption: str | None = field("What its author says about it.", default=None)
    like_count: int = field("Likes, less those counted in shards.", default=0, private=True)
    comment_count: int = field("Comments, less those counted in shards.", default=0, private=True)
    counter_shards: int | None = field("How many PostCounter items share the counting.", default=None, private=True)
    feed_shard: int | None = field(
        "The partition of the global feed it is in; none while it is hidden.", default=None, private=True
    )
    deleted_at: Time | None = field("When it was deleted.", default=None, private=True)
    hidden_at: Time | None = field("When its author's account was deleted.", default=None, private=True)


class PostCounter(Entity, pk="POST#{post_id}", sk="COUNTER#{shard}", owner=part_of(Post)):
    """A share of a post's counts, for posts that too many like at once to count in one item."""

    post_id: str = field("The post.")
    shard: int = field("Which share this is, from 0.")
    like_count: int = field("Likes counted here; may be negative.", default=0)
    comment_count: int = field("Comments counted here; may be negative.", default=0)


class Like(Entity, pk="POST#{post_id}", sk="LIKE#{user_id}", owner=user("user_id", "by_user", mark="hidden_at")):
    """Somebody likes a post."""

    by_user = gsi1("USER#{user_id}", "LIKE#{created_at}#{post_id}")

    post_id: str = field("What is liked.")
    user_id: str = field("Who likes it.")
    hidden_at: Time | None = field("Time the account of who likes it was deleted.", default=None, private=True)


class Comment(
    Entity,
    pk="POST#{post_id}",
    sk="COMMENT#{created_at}#{comment_id}",
    owner=user("user_id", "by_author", mark="hidden_at"),
):
    """What somebody says about a post."""

    by_author = gsi1("USER#{user_id}", "COMMENT#{created_at}#{post_id}")

    post_id: str = field("The post it is about.")
    comment_id: str = field("The permanent identifier.")
    user_id: str = field("Who wrote it.")
    content: str = field("What it says.")
    hidden_at: Time | None = field("When its author's account was deleted.", default=None, private=True)


class Follow(
    Entity,
    pk="USER#{follower_id}",
    sk="FOLLOWING#{following_id}",
    owner=user("follower_id", mark="hidden_at"),
    about=user("following_id", "followers_of", mark="followed_hidden_at"),
):
    """Somebody follows somebody."""

    followers_of = gsi1("USER#{following_id}", "FOLLOWER#{follower_id}")

    follower_id: str = field("Who follows.")
    following_id: str = field("Who is followed.")
    hidden_at: Time | None = field("Time the follower's account was deleted.", default=None, private=True)
    followed_hidden_at: Time | None = field("Time the followed user's account was deleted.", default=None, private=True)


class NotificationKind(Choice):
    """What happened."""

    LIKE = "LIKE", "Somebody likes a post of yours."
    COMMENT = "COMMENT", "Somebody said something about a post of yours."
    FOLLOW = "FOLLOW", "Somebody follows you."


class Notification(
    Entity,
    pk="USER#{user_id}",
    sk="NOTIFICATION#{created_at}#{notification_id}",
    owner=user("user_id"),
):
    """Something happened that a person may want to know; kept for 30 days."""

    user_id: str = field("Whom it is for.", private=True)
    notification_id: str = field("The permanent identifier.")
    kind: NotificationKind = field("What happened.")
    actor_id: str = field("Who did it.", private=True)
    post_id: str | None = field("The post it is about.", default=None, private=True)
