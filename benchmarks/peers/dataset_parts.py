"""Parts of the benchmark data: profiles, posts with comments, and groups of people who have nothing in common."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any

from benchmarks.peers.scenarios import GROUPS
from benchmarks.social_data import Network
from benchmarks.transport import person
from datastore.accounts import User
from datastore.model.times import Time, as_time
from datastore.social import Comment, Follow
from schema.declare.ids import global_id

FOLLOWERS = 15
COMMENTS = 25
POSTS_OF_A_PROFILE = 15
# People of the groups follow others of their own group only.
FIRST_OF_GROUPS = 50_000
GROUP = 100
FOLLOWED = 30
VARIANTS = 4

# Later than everything in the network, so that these are the newest posts.
THEN = datetime(2026, 1, 1, tzinfo=UTC)


def follow(network: Network, people: list[User], chance: random.Random) -> None:
    for followed in people:
        for follower in chance.sample(people, FOLLOWERS + 1):
            if follower is not followed:
                when = moment(chance.randrange(1_000))
                network.add(Follow(follower_id=follower.user_id, following_id=followed.user_id, created_at=when))


def add_profile(network: Network, user: User) -> None:
    for number in range(POSTS_OF_A_PROFILE):
        add_post(network, f"{user.username}-{number:02}", user, -number - 1)


def add_post(network: Network, post_id: str, author: User, minute: int) -> None:
    caption = f"{post_id}: planed, oiled and back where it belongs. Two evenings of work, and none of them wasted."
    network.post(post_id, author.user_id, f"{post_id}.jpg", caption, moment(minute))


def add_comments(network: Network, post_id: str, people: list[User], chance: random.Random) -> None:
    for place, user in enumerate(chance.sample(people, COMMENTS)):
        said = f"No. {place}: I had one just like it, and the hinge went first. Is it oak?"
        when = moment(20_000 + place)
        ids = {"post_id": post_id, "comment_id": f"{post_id}-{place:02}", "user_id": user.user_id}
        network.add(Comment(**ids, content=said, created_at=when, updated_at=when))


def add_groups(network: Network, chance: random.Random) -> dict[str, list[list[dict[str, Any]]]]:
    """Returns the variables of each query by group. There is only one feed, so it has none."""
    variables: dict[str, list[list[dict[str, Any]]]] = {"post_page": [], "profile": [], "people": [], "person": []}
    for group in range(GROUPS):
        first = FIRST_OF_GROUPS + group * GROUP
        people = [person(number) for number in range(first, first + GROUP)]
        known = people[:FOLLOWED]
        network.users.update({user.user_id: user for user in people})
        follow(network, known, chance)
        for user in known[:VARIANTS]:
            add_profile(network, user)
        posts = [f"group{group}-{number}" for number in range(VARIANTS)]
        for post_id in posts:
            add_post(network, post_id, chance.choice(known), -1_000)
            add_comments(network, post_id, known, chance)
        ids = [global_id(user) for user in people]
        variables["post_page"].append([{"id": global_id(network.posts[post_id])} for post_id in posts])
        variables["profile"].append([{"username": user.username} for user in known[:VARIANTS]])
        variables["people"].append([{"ids": chance.sample(ids, GROUP)} for _ in range(VARIANTS)])
        variables["person"].append([{"id": id} for id in ids])
    return variables


def moment(minute: int) -> Time:
    return as_time(THEN + timedelta(minutes=minute))
