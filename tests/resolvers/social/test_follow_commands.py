"""Commands of follows: effects, limits and races."""

import asyncio
import random
from collections import Counter

from datastore.accounts import User
from datastore.social import Follow
from resolvers.social import follow_commands
from tests.support.graph import id_of, problem, viewer_of
from tests.support.social import FOLLOW, UNFOLLOW


async def test_following_counts_once_and_both_ways(graph, society):
    ada, bob = await society.person("ada"), await society.person("bob")

    first = await graph.ask(FOLLOW, viewer_of(ada), input={"userId": id_of(bob)})
    again = await graph.command(FOLLOW, viewer_of(ada), userId=id_of(bob))
    following = (await graph.table.get(ada.own_key)).following_count
    back = await graph.command(UNFOLLOW, viewer_of(ada), userId=id_of(bob))
    nothing = await graph.command(UNFOLLOW, viewer_of(ada), userId=id_of(bob))

    followed = {"username": "bob", "followerCount": 1, "viewerFollows": True}
    unfollowed = {"username": "bob", "followerCount": 0, "viewerFollows": False}
    assert first.data["followUser"] == again == {"user": followed, "problems": []}
    assert following == 1
    assert back == nothing == {"user": unfollowed, "problems": []}
    assert (await graph.table.get(ada.own_key)).following_count == 0


async def test_nobody_follows_themselves(graph, society):
    ada = await society.person("ada")

    payload = await graph.command(FOLLOW, viewer_of(ada), userId=id_of(ada))

    assert payload["problems"] == [problem("INVALID", "you cannot follow yourself", "input", "userId")]


async def test_there_is_a_limit_to_following(graph, society, monkeypatch):
    monkeypatch.setattr(follow_commands, "MAX_FOLLOWING", 1)
    ada, bob, eve = [await society.person(name) for name in ("ada", "bob", "eve")]
    await graph.command(FOLLOW, viewer_of(ada), userId=id_of(bob))

    payload = await graph.command(FOLLOW, viewer_of(ada), userId=id_of(eve))

    assert payload["problems"] == [problem("INVALID", "you can follow at most 1 users", "input", "userId")]
    assert (await graph.table.get(eve.own_key)).follower_count == 0


async def test_racing_follows_and_unfollows_leave_exact_counts(graph, society):
    people = [await society.person(f"person{n}") for n in range(6)]
    chance = random.Random(11)

    async def sociable(person: User) -> None:
        for _ in range(6):
            other = chance.choice([other for other in people if other is not person])
            await graph.command(chance.choice([FOLLOW, UNFOLLOW]), viewer_of(person), userId=id_of(other))

    await asyncio.gather(*map(sociable, people))

    follows = Counter()
    for item in await graph.items():
        if item["entityType"]["S"] == Follow.__name__:
            follows["out", item["followerId"]["S"]] += 1
            follows["in", item["followingId"]["S"]] += 1
    for person in people:
        stored = await graph.table.get(person.own_key)
        assert stored.following_count == follows["out", person.user_id]
        assert stored.follower_count == follows["in", person.user_id]
