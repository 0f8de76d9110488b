"""The social network: posts, likes, comments, follows and home feeds."""

from datastore.model.codec import BigInt
from datastore.model.entity import Entity, field, own_id
from datastore.model.enums import Choice
from datastore.model.ownership import part_of, user
from datastore.model.patterns import gsi1, gsi2, gsi3, gsi4, gsi5
from datastore.model.times import Time


class Post(Entity, pk="POST#{post_id}", sk="METADATA", owner=user("user_id", "by_author", mark="hidden_at")):
    """A published picture with an optional caption."""

    by_author = gsi1("USER#{user_id}", "POST#{created_at}")
    in_feed = gsi3("FEED{feed_shard:shard}", "POST#{created_at}")

    post_id: str = own_id()
    user_id: str = field("ID of the author.", private=True)
    image_url: str = field("URL of the picture.")
    caption: str | None = field("Caption.", default=None)
    like_count: int = field("Number of likes, except those counted in shards.", default=0, private=True)
    comment_count: int = field("Number of comments, except those counted in shards.", default=0, private=True)
    counter_shards: int | None = field(
        "Number of PostCounter items that share the counting.", default=None, private=True
    )
    feed_shard: int | None = field(
        "Partition of the global feed; none while the post is hidden.", default=None, private=True
    )
    deleted_at: Time | None = field("Time of deletion.", default=None, private=True)
    hidden_at: Time | None = field("Time the author's account was deleted.", default=None, private=True)


class PostCounter(Entity, pk="POST#{post_id}", sk="COUNTER#{shard}", owner=part_of(Post)):
    """A shard of a post's counts, for posts with too many concurrent likes to count in one item."""

    post_id: str = field("ID of the post.")
    shard: int = field("Number of the shard, from 0.")
    like_count: int = field("Number of likes counted here; may be negative.", default=0)
    comment_count: int = field("Number of comments counted here; may be negative.", default=0)


class PostRank(Entity, pk="POST#{post_id}", sk="RANK", owner=part_of(Post), logged=False):
    """The place of a post in the rankings. The processor `rank_posts` derives it from the counts."""

    by_heat = gsi5("HOT#POST#{day}", "HEAT#{heat:score}#{post_id}")

    post_id: str = field("ID of the post.")
    day: str = field("Date of the post.")
    heat: BigInt = field("Hot score: time of the post and activity.")


class Like(Entity, pk="POST#{post_id}", sk="LIKE#{user_id}", owner=user("user_id", "by_user", mark="hidden_at")):
    """A like: a user likes a post."""

    by_user = gsi1("USER#{user_id}", "LIKE#{created_at}#{post_id}")
    on_post = gsi2("POST#{post_id}", "LIKE#{created_at}#{user_id}")

    post_id: str = field("ID of the liked post.")
    user_id: str = field("ID of the user who likes it.")
    hidden_at: Time | None = field("Time the account of the user who likes it was deleted.", default=None, private=True)


class Comment(
    Entity,
    pk="POST#{post_id}",
    sk="COMMENT#{created_at}#{comment_id}",
    owner=user("user_id", "by_author", mark="hidden_at"),
):
    """A comment on a post."""

    by_author = gsi1("USER#{user_id}", "COMMENT#{created_at}#{post_id}")

    post_id: str = field("ID of the post.", private=True)
    comment_id: str = own_id()
    user_id: str = field("ID of the author.", private=True)
    content: str = field("Text of the comment.")
    hidden_at: Time | None = field("Time the author's account was deleted.", default=None, private=True)


class Follow(
    Entity,
    pk="USER#{follower_id}",
    sk="FOLLOWING#{following_id}",
    owner=user("follower_id", mark="hidden_at"),
    about=user("following_id", "followers_of", mark="followed_hidden_at"),
):
    """A follow: one user follows another."""

    followers_of = gsi1("USER#{following_id}", "FOLLOWER#{follower_id}")
    followers_by_time = gsi2("USER#{following_id}", "FOLLOWER#{created_at}#{follower_id}")
    following_by_time = gsi3("USER#{follower_id}", "FOLLOWING#{created_at}#{following_id}")
    merged_for = gsi4("USER#{follower_id}", "MERGED#{merged_at}#{following_id}")

    follower_id: str = field("ID of the user who follows.")
    following_id: str = field("ID of the user who is followed.")
    hidden_at: Time | None = field("Time the follower's account was deleted.", default=None, private=True)
    followed_hidden_at: Time | None = field("Time the followed user's account was deleted.", default=None, private=True)
    merged_at: Time | None = field(
        "Time since which the home feed reads the posts of the followed user from that user, not from its own entries.",
        default=None,
        private=True,
    )


class FeedEntry(Entity, pk="HOMEFEED#{user_id}", sk="POST#{created_at}#{author_id}#{post_id}", owner=user("user_id")):
    """A post in the home feed of a follower. Sorted like the posts of all authors together: by time, then by author."""

    user_id: str = field("ID of the follower.")
    author_id: str = field("ID of the author.")
    post_id: str = field("ID of the post.")


class FeedState(Entity, pk="HOMEFEED#{user_id}", sk="STATE", owner=user("user_id"), logged=False):
    """The state of a home feed. Without it, the feed is merged from the posts of the followed users."""

    user_id: str = field("ID of the follower.")
    floor: Time | None = field(
        "Time up to which entries may be missing. Null if all posts of the followed users have one.", default=None
    )


class FeedMode(Choice):
    """The way of an author's posts into home feeds."""

    COPIED = "COPIED", "New posts are copied to the followers."
    LEAVING = "LEAVING", "Too many followers: follows are being marked as merged. New posts are still copied."
    MERGED = "MERGED", "All follows are marked as merged. New posts are not copied."
    RETURNING = "RETURNING", "Few enough followers again: posts are being copied, then marks are removed."

    @property
    def merges(self) -> bool:
        """True if a follow should be marked as merged."""
        return self in (FeedMode.LEAVING, FeedMode.MERGED)


class FeedAuthor(Entity, pk="HOMEFEED#{user_id}", sk="AUTHOR", owner=user("user_id"), logged=False):
    """The feed mode of an author. Without it, the mode is COPIED."""

    user_id: str = field("ID of the author.")
    mode: FeedMode = field("Way of new posts into home feeds.")
    changed_at: Time = field("Time of the last change of the mode.")
