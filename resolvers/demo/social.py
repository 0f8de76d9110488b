"""Posts, likes, comments and follows of the demo."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

from datastore.model.entity import Entity
from datastore.model.times import now, seconds_from_now
from datastore.notifications import Noted, Notification, NotificationGroup, NotificationKind, about
from datastore.social import Comment, Follow, Like, Post
from resolvers.demo.people import IDS, at, identifier
from resolvers.notifications.groups import KEPT_DAYS
from resolvers.notifications.notices import digest, group_id

FOLLOWS = {
    "maya": ("jonas", "amira", "teo", "winnie"),
    "jonas": ("maya", "priya"),
    "amira": ("maya", "oskar", "jonas"),
    "teo": ("maya",),
    "winnie": ("maya", "hana", "teo", "priya"),
    "hana": ("maya", "oskar"),
    "oskar": ("amira", "hana"),
    "priya": ("maya", "jonas", "winnie"),
}

# Author, day, caption, likes, comments.
POSTS = (
    ("maya", 30, "The café opens at ten. Bring what is broken.", "jonas amira teo winnie hana priya", (
        ("winnie", "I have a toaster that bites."),
        ("teo", "I bring the long clamps."),
        ("maya", "Both are welcome."),
    )),
    ("jonas", 31, "First rye of the year. The bees slept through it.", "maya priya", (
        ("maya", "Keep a heel for me!"),
    )),
    ("amira", 33, "The oak behind the library is older than the library.", "maya oskar winnie jonas", (
        ("oskar", "By how much?"),
        ("amira", "About two hundred and forty rings."),
    )),
    ("oskar", 34, "Door no. 112.", "hana amira", ()),
    ("teo", 36, "A chair that four people gave up on. Five is the charm.", "maya winnie", (
        ("winnie", "Does it squeak?"),
        ("teo", "Only politely."),
    )),
    ("winnie", 40, "My first program prints my shopping list. It forgot the eggs.", "maya hana teo priya jonas", (
        ("hana", "Off by one?"),
        ("winnie", "Off by six."),
    )),
    ("priya", 42, "Tomato no. 1, on a balcony that faces north.", "jonas winnie maya", ()),
    ("maya", 45, "Forty-one things repaired, and one clock that is happier broken.", "jonas amira teo hana", (
        ("jonas", "Which one is the clock?"),
    )),
    ("hana", 46, "Rain.", "oskar", ()),
    ("maya", 48, "Looking for somebody who understands sewing machines from 1930.", "winnie", (
        ("winnie", "I am older than that machine, and I do."),
        ("maya", "Saturday?"),
        ("winnie", "Saturday."),
    )),
)  # fmt: skip


def social() -> list[Entity]:
    posted = [*_posts()]
    return [*_follows(), *posted, *_notified(posted)]


def _follows() -> Iterator[Entity]:
    for follower, followed in FOLLOWS.items():
        for place, username in enumerate(followed):
            yield at(27 + place, Follow(follower_id=IDS[follower], following_id=IDS[username]))


def _posts() -> Iterator[Entity]:
    for number, (author, published, caption, likers, comments) in enumerate(POSTS):
        post = Post(
            post_id=identifier("P0ST", number),
            user_id=IDS[author],
            image_url=f"https://example.org/pictures/{number + 1}.jpg",
            caption=caption,
            like_count=len(likers.split()),
            comment_count=len(comments),
            feed_shard=0,
        )
        yield at(published, post)
        for place, username in enumerate(likers.split(), 1):
            yield at(published + place / 50, Like(post_id=post.post_id, user_id=IDS[username]))
        for place, (username, content) in enumerate(comments, 1):
            comment_id = identifier("C0MMENT", 10 * number + place)
            comment = Comment(post_id=post.post_id, comment_id=comment_id, user_id=IDS[username], content=content)
            yield at(published + place / 20, comment)


def _notified(posted: Sequence[Entity]) -> Iterator[Entity]:
    """Yields the notifications of likes and comments, and their groups, as if they were noted today."""
    posts = {record.post_id: record for record in posted if isinstance(record, Post)}
    groups: dict[tuple[str, NotificationKind], list[Like | Comment]] = {}
    for record in posted:
        if isinstance(record, Like | Comment) and record.user_id != posts[record.post_id].user_id:
            kind = NotificationKind.LIKE if isinstance(record, Like) else NotificationKind.COMMENT
            groups.setdefault((record.post_id, kind), []).append(record)
    expires_at = seconds_from_now(timedelta(days=KEPT_DAYS))
    for (post_id, kind), causes in groups.items():
        given: Any = {"user_id": posts[post_id].user_id, "kind": kind, "expires_at": expires_at}
        given |= about(posts[post_id].own_key)
        for cause in causes:
            times: Any = {"created_at": cause.created_at, "updated_at": cause.created_at}
            source_id = digest(cause.own_key)
            yield Notification(notification_id=source_id, actor_id=cause.user_id, **times, **given)
        latest = [
            Noted(source_id=digest(cause.own_key), actor_id=cause.user_id, noted_at=cause.created_at)
            for cause in reversed(causes)
        ]
        yield NotificationGroup(
            group_id=group_id(kind, posts[post_id].own_key),
            noted_at=latest[0].noted_at,
            days={now()[:10]: len(causes)},
            latest=latest,
            **given,
        )


def counts(records: list[Entity]) -> Counter[tuple[str, str]]:
    """Returns the counts of each user, as the commands would store them."""
    counts: Counter[tuple[str, str]] = Counter()
    for record in records:
        if isinstance(record, Follow):
            counts["follows", record.follower_id] += 1
            counts["followed", record.following_id] += 1
        elif isinstance(record, Post):
            counts["posted", record.user_id] += 1
    return counts
