"""Deterministic benchmark data: a social network, plus the records that the queries return."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.load_social import network
from benchmarks.peers.dataset_parts import add_comments, add_groups, add_post, add_profile, follow, moment
from benchmarks.peers.popularity import popular_set
from benchmarks.social_data import Network
from benchmarks.transport import person
from datastore.accounts import User
from datastore.model.entity import Entity
from datastore.social import Comment, Follow, Like, PostCounter
from schema.declare.ids import global_id

PEOPLE = 500
FRESH_POSTS = 100
LIKES = 3
PROFILES = 50
SETS_OF_PEOPLE = 100
SHARDS = 2
GONE = "01HEARTW00DSOMEB0DYG0NE000"
ODD_POSTS = ("discussed", "sharded", "gone", "hidden")

Variables = dict[str, Any]


@dataclass(frozen=True)
class Dataset:
    """The records, the variables of each query by popularity, and viewers and posts for new likes.

    `distinct` are variables in groups that have no record in common. `corners` are compared but not timed: deleted,
    hidden and sharded records.
    """

    title: str
    records: list[Entity]
    variables: dict[str, list[Variables]]
    distinct: dict[str, list[list[Variables]]]
    corners: dict[str, list[Variables]]
    refused_likes: list[tuple[str | None, str]]
    likes: Iterator[tuple[str, str]]


def dataset(ldbc: Path | None) -> Dataset:
    chance = random.Random(7)
    title, below = network(ldbc)
    strangers = list(below.posts.values())
    liked = {(link.user_id, link.post_id) for link in below.links.values() if isinstance(link, Like)}
    people = [person(number) for number in range(PEOPLE)]
    below.users.update({user.user_id: user for user in people})
    follow(below, people, chance)
    fresh = _fresh_posts(below, people, chance)
    distinct = add_groups(below, chance)
    corners = _corners(below, people)
    records = [*below.records(), *(PostCounter(post_id="sharded", shard=n, like_count=n + 1) for n in range(SHARDS))]
    ids = [global_id(user) for user in people]
    variables: dict[str, list[Variables]] = {
        "post_page": [{"id": global_id(below.posts[post_id])} for post_id in fresh],
        "feed": [{}],
        "profile": [{"username": user.username} for user in people[:PROFILES]],
        "people": [{"ids": popular_set(ids, 100, chance)} for _ in range(SETS_OF_PEOPLE)],
        "person": [{"id": id} for id in ids],
    }
    pairs = ((viewer, post) for viewer, post in _pairs(people, strangers) if (viewer, post.post_id) not in liked)
    likes = ((viewer, global_id(post)) for viewer, post in pairs if viewer != post.user_id)
    gone = global_id(below.posts["gone"])
    refused_likes = [
        (None, variables["post_page"][0]["id"]),
        (GONE, variables["post_page"][0]["id"]),
        (people[0].user_id, gone),
    ]
    return Dataset(title, records, variables, distinct, corners, refused_likes, likes)


def _fresh_posts(network: Network, people: list[User], chance: random.Random) -> list[str]:
    """The newest posts, each by another author with comments by different users, after those of the profiles."""
    for user in people[:PROFILES]:
        add_profile(network, user)
    fresh = []
    for number in range(FRESH_POSTS):
        post_id = f"fresh{number:03}"
        add_post(network, post_id, people[-number - 1], 10_000 + number)
        fresh.append(post_id)
        add_comments(network, post_id, people, chance)
        for user in chance.sample(people, LIKES):
            network.add(Like(post_id=post_id, user_id=user.user_id, created_at=moment(30_000)))
    return fresh[::-1]


def _corners(network: Network, people: list[User]) -> dict[str, list[Variables]]:
    """One user and a few posts with hidden records, all older than the posts of the feed."""
    odd, gone = person(PEOPLE), replace(person(PEOPLE + 1), user_id=GONE, deleted_at=moment(0))
    network.users.update({odd.user_id: odd, GONE: gone})
    for follower in (gone, *people[:12]):
        network.add(Follow(follower_id=follower.user_id, following_id=odd.user_id, created_at=moment(0)))
    for place, post_id in enumerate(ODD_POSTS):
        add_post(network, post_id, odd, -100 - place)
    posts = network.posts
    posts["sharded"] = replace(posts["sharded"], counter_shards=SHARDS)
    posts["gone"] = replace(posts["gone"], deleted_at=moment(0), feed_shard=None)
    posts["hidden"] = replace(posts["hidden"], hidden_at=moment(0), feed_shard=None)
    for place, user in enumerate((gone, *people[:24])):
        said = Comment(post_id="discussed", comment_id=f"{place:02}", user_id=user.user_id, content="Oh?")
        network.add(replace(said, created_at=moment(place), hidden_at=moment(0) if place in (1, 2, 3) else None))
    return {
        "post_page": [{"id": global_id(post)} for post in (posts[name] for name in ODD_POSTS)],
        "profile": [{"username": odd.username.upper()}, {"username": gone.username}, {"username": "missing"}],
        "people": [{"ids": [global_id(record) for record in (gone, odd, posts["gone"], posts["discussed"])]}],
        "person": [{"id": global_id(gone)}],
    }


def _pairs(people: list[User], posts: list[Any]) -> Iterator[tuple[str, Any]]:
    """Pairs users and posts so that consecutive likes share neither, to avoid contention."""
    for shift in count():
        for place, post in enumerate(posts):
            yield people[(place + shift) % len(people)].user_id, post
