"""A small, lively place to look around in: who is in it, what they do, and how it is loaded.

Follow Maya: she runs the neighbourhood's repair café, and everybody here met there.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from datastore.entity import Entity
from datastore.social import Comment, Follow, Like, Notification, NotificationKind, Post
from datastore.table import Table
from datastore.times import Time, as_time, seconds_from_now
from datastore.users import Image, ProfileImages, Unique, User
from resolvers.passwords import Passwords

PASSWORD = "heartwood demo"  # noqa: S105  of people who do not exist, on this machine only

PEOPLE = {
    "maya": ("Maya Lindqvist", "Runs the repair café on Alder Street. Ask me about hinges."),
    "jonas": ("Jonas Okafor", "Beekeeper, baker, early riser."),
    "amira": ("Amira Haddad", "Maps the old trees of this town."),
    "teo": ("Teo Marchetti", "Carpenter. Measures twice."),
    "winnie": ("Winnie Clarke", "Eighty-one and learning to code."),
    "hana": ("Hana Kim", None),
    "oskar": ("Oskar Wójcik", "Photographs doors."),
    "priya": ("Priya Raman", "Grows tomatoes where no tomato grew before."),
}

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

# Author, day, caption, who likes it, who says what about it.
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

BEGINNING = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


def day(number: float) -> Time:
    """A moment of the story, counted from its beginning."""
    return as_time(BEGINNING + timedelta(days=number))


def identifier(kind: str, number: int) -> str:
    """The same for everybody who loads the demo."""
    return f"01HEARTW00D{kind:0<12}{number:03d}"


IDS = {username: identifier("PERS0N", number) for number, username in enumerate(PEOPLE)}
MAYA = IDS["maya"]


async def load(table: Table, passwords: Passwords) -> bool:
    """Fill an empty table; False if there is anybody in it already."""
    if (await table.query(User.within("gsi4"), limit=1)).records:
        return False
    await table.batch_write(puts=everything(await passwords.hash(PASSWORD)))
    return True


def everything(password_hash: str) -> list[Entity]:
    social = [*_follows(), *_posts()]
    return [*_people(password_hash, _counts(social)), *social]


def _people(password_hash: str, counts: Counter[tuple[str, str]]) -> Iterator[Entity]:
    for place, (username, (name, bio)) in enumerate(PEOPLE.items()):
        joined, user_id = day(place * 3.25), IDS[username]
        avatar = Image(url=f"https://example.org/people/{username}.jpg", size="large")
        user = User(
            user_id=user_id,
            username=username,
            email=f"{username}@example.org",
            password_hash=password_hash,
            display_name=name,
            bio=bio,
            profile_images=ProfileImages(avatar=avatar),
            follower_count=counts["followed", user_id],
            following_count=counts["follows", user_id],
            post_count=counts["posted", user_id],
            created_at=joined,
            updated_at=joined,
        )
        yield user
        for kind in ("username", "email"):
            yield Unique(kind=kind, value=getattr(user, kind), owner_id=user_id, created_at=joined, updated_at=joined)


def _follows() -> Iterator[Entity]:
    for follower, followed in FOLLOWS.items():
        for place, username in enumerate(followed):
            yield _at(27 + place, Follow(follower_id=IDS[follower], following_id=IDS[username]))


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
        yield _at(published, post)
        for place, username in enumerate(likers.split(), 1):
            yield _at(published + place / 50, Like(post_id=post.post_id, user_id=IDS[username]))
            yield from _notice(NotificationKind.LIKE, published + place / 50, post, username)
        for place, (username, content) in enumerate(comments, 1):
            comment_id = identifier("C0MMENT", 10 * number + place)
            comment = Comment(post_id=post.post_id, comment_id=comment_id, user_id=IDS[username], content=content)
            yield _at(published + place / 20, comment)
            yield from _notice(NotificationKind.COMMENT, published + place / 20, post, username)


def _notice(kind: NotificationKind, when: float, post: Post, actor: str) -> Iterator[Entity]:
    if IDS[actor] != post.user_id:
        notice = Notification(
            user_id=post.user_id,
            notification_id=f"{post.post_id}-{actor}-{kind.value}",
            kind=kind,
            actor_id=IDS[actor],
            post_id=post.post_id,
            expires_at=seconds_from_now(timedelta(days=30)),
        )
        yield _at(when, notice)


def _at(when: float, record: Entity) -> Entity:
    return replace(record, created_at=day(when), updated_at=day(when))


def _counts(records: list[Entity]) -> Counter[tuple[str, str]]:
    """What the commands would have counted."""
    counts: Counter[tuple[str, str]] = Counter()
    for record in records:
        if isinstance(record, Follow):
            counts["follows", record.follower_id] += 1
            counts["followed", record.following_id] += 1
        elif isinstance(record, Post):
            counts["posted", record.user_id] += 1
    return counts
