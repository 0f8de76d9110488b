"""Benchmark data: the LDBC Social Network Benchmark sample if available, otherwise a synthetic network."""

import csv
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from datastore.accounts import Unique, User
from datastore.model.entity import Entity
from datastore.model.times import Time, as_time
from datastore.social import Comment, Follow, Like, Post

BEGINNING = datetime(2010, 1, 1, tzinfo=UTC)


@dataclass
class Network:
    """Records by key, without duplicates."""

    users: dict[str, User] = field(default_factory=dict)
    posts: dict[str, Post] = field(default_factory=dict)
    links: dict[object, Like | Comment | Follow] = field(default_factory=dict)

    def add(self, link: Like | Comment | Follow) -> None:
        self.links.setdefault(link.own_key, link)

    def records(self) -> Iterator[Entity]:
        """Returns all records, with the counts that the commands would have stored."""
        counts: Counter[tuple[str, str]] = Counter()
        for link in self.links.values():
            match link:
                case Like():
                    counts["likes", link.post_id] += 1
                case Comment():
                    counts["comments", link.post_id] += 1
                case Follow():
                    counts["follows", link.follower_id] += 1
                    counts["followed", link.following_id] += 1
        counts.update(("posts", post.user_id) for post in self.posts.values())
        for user in self.users.values():
            yield replace(
                user,
                follower_count=counts["followed", user.user_id],
                following_count=counts["follows", user.user_id],
                post_count=counts["posts", user.user_id],
            )
            for kind in ("username", "email"):
                yield Unique(kind=kind, value=getattr(user, kind), owner_id=user.user_id)
        for post in self.posts.values():
            yield replace(
                post, like_count=counts["likes", post.post_id], comment_count=counts["comments", post.post_id]
            )
        yield from self.links.values()

    def user(self, user_id: str, name: str, when: Time) -> None:
        username = f"p{user_id}"
        self.users[user_id] = User(
            user_id=user_id,
            username=username,
            email=f"{username}@example.org",
            display_name=name,
            created_at=when,
            updated_at=when,
        )

    def post(self, post_id: str, user_id: str, picture: str, caption: str, when: Time) -> None:
        self.posts[post_id] = Post(
            post_id=post_id,
            user_id=user_id,
            image_url=f"https://example.org/{picture or post_id}",
            caption=caption[:2200] or None,
            feed_shard=0,
            created_at=when,
            updated_at=when,
        )


def ldbc(folder: Path) -> Network:
    """Reads LDBC's CSV files. `knows` becomes two follows; replies become comments on the original post."""

    def rows(name: str) -> Iterator[list[str]]:
        with (folder / "dynamic" / f"{name}_0_0.csv").open(newline="", encoding="utf-8") as file:
            lines = csv.reader(file, delimiter="|", quoting=csv.QUOTE_NONE)
            next(lines)
            yield from lines

    network = Network()
    for person_id, first, last, _, _, created, *_ in rows("person"):
        network.user(person_id, f"{first} {last}", _time(created))
    for one, other, created in rows("person_knows_person"):
        for follower, followed in ((one, other), (other, one)):
            when = _time(created)
            network.add(Follow(follower_id=follower, following_id=followed, created_at=when, updated_at=when))
    authors = dict(rows("post_hasCreator_person"))
    for post_id, picture, created, _, _, _, content, _ in rows("post"):
        network.post(post_id, authors[post_id], picture, content, _time(created))
    for person_id, post_id, created in rows("person_likes_post"):
        when = _time(created)
        network.add(Like(post_id=post_id, user_id=person_id, created_at=when, updated_at=when))
    replies, of_post = dict(rows("comment_replyOf_comment")), dict(rows("comment_replyOf_post"))
    authors = dict(rows("comment_hasCreator_person"))
    for comment_id, created, _, _, content, _ in rows("comment"):
        root = comment_id
        while root in replies:
            root = replies[root]
        if root in of_post:
            network.add(_comment(of_post[root], comment_id, authors[comment_id], content, _time(created)))
    return network


def synthetic(people: int = 222, posts: int = 5_924, comments: int = 2_218, likes: int = 1_383) -> Network:
    """Generates a network from a seed, with activity concentrated on a few people."""
    chance = random.Random(92)
    network = Network()
    ids = [f"{number:06d}" for number in range(people)]
    for user_id in ids:
        network.user(user_id, f"Person {user_id}", _moment(chance))

    def somebody() -> str:
        return ids[int(people * chance.random() ** 2)]

    for _ in range(people * 4):
        one, other, when = somebody(), somebody(), _moment(chance)
        if one != other:
            network.add(Follow(follower_id=one, following_id=other, created_at=when, updated_at=when))
            network.add(Follow(follower_id=other, following_id=one, created_at=when, updated_at=when))
    for number in range(posts):
        network.post(f"post{number:06d}", somebody(), "", f"Picture no. {number}.", _moment(chance))
    post_ids = list(network.posts)
    for _ in range(likes):
        when = _moment(chance)
        like = Like(post_id=chance.choice(post_ids), user_id=somebody(), created_at=when, updated_at=when)
        network.add(like)
    for number in range(comments):
        network.add(_comment(chance.choice(post_ids), f"c{number:06d}", somebody(), "Well said.", _moment(chance)))
    return network


def _comment(post_id: str, comment_id: str, user_id: str, content: str, when: Time) -> Comment:
    return Comment(
        post_id=post_id,
        comment_id=comment_id,
        user_id=user_id,
        content=content[:1000] or "…",
        created_at=when,
        updated_at=when,
    )


def _time(milliseconds: str) -> Time:
    return as_time(datetime.fromtimestamp(int(milliseconds) / 1000, UTC))


def _moment(chance: random.Random) -> Time:
    return as_time(BEGINNING + timedelta(milliseconds=chance.randrange(3 * 365 * 86_400_000)))
