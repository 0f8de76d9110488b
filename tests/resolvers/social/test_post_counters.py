"""Like and comment counts under contention, in one item and in shards."""

import asyncio
import random

import pytest

from datastore.accounts import User
from datastore.social import Like, PostCounter
from resolvers.social import post_counters
from tests.conftest import THOROUGH
from tests.support.graph import id_of, problem, viewer_of
from tests.support.social import COMMENT, DELETE, LIKE, UNLIKE


@pytest.mark.parametrize("sharded", [False, True], ids=["one counter", "sharded counters"])
async def test_a_hundred_clients_like_and_unlike_one_post(graph, society, engine_name, sharded):
    clients, turns = (100, 20 if THOROUGH else 5) if engine_name != "moto" else (20, 5)
    author = await society.person("author")
    post = await society.post(author)
    if sharded:
        await post_counters.shard_counters(graph.context().load, post)
    people = [User(user_id=f"u{n}", username=f"u{n}", email=f"u{n}@example.org") for n in range(clients)]
    await graph.table.batch_write(puts=people)
    chance = random.Random(7)
    choices = [[chance.random() < 0.5 for _ in range(turns)] for _ in people]

    async def fickle(person: User, likes: list[bool]) -> None:
        for wants in likes:
            payload = await graph.command(LIKE if wants else UNLIKE, viewer_of(person), postId=id_of(post))
            assert payload["problems"] == []
            assert payload["post"]["viewerHasLiked"] is wants

    await asyncio.gather(*map(fickle, people, choices))

    expected = sum(likes[-1] for likes in choices)
    asked = await graph.ask("query ($id: ID!) { post(by: {id: $id}) { likeCount } }", id=id_of(post))
    items = await graph.table.query(Like.within(post_id=post.post_id), limit=200)
    assert asked.data["post"]["likeCount"] == len(items.records) == expected


async def test_counts_stay_right_while_they_move_into_shards(graph, society):
    author = await society.person("author")
    post = await society.post(author)
    people = [await society.person(f"u{n}") for n in range(20)]

    async def like_then_comment(person: User) -> None:
        await graph.command(LIKE, viewer_of(person), postId=id_of(post))
        await graph.command(COMMENT, viewer_of(person), postId=id_of(post), content="Hm.")

    await asyncio.gather(
        *map(like_then_comment, people[:10]),
        post_counters.shard_counters(graph.context().load, post),
        *map(like_then_comment, people[10:]),
    )

    asked = await graph.ask("query ($id: ID!) { post(by: {id: $id}) { likeCount commentCount } }", id=id_of(post))
    assert asked.data["post"] == {"likeCount": 20, "commentCount": 20}
    assert (await graph.table.get(post.own_key)).counter_shards == post_counters.COUNTER_SHARDS


async def test_a_sharded_post_can_be_deleted_and_then_liked_no_more(graph, society):
    ada, bob = await society.person("ada"), await society.person("bob")
    post = await society.post(ada)
    await post_counters.shard_counters(graph.context().load, post)
    await graph.command(LIKE, viewer_of(bob), postId=id_of(post))

    deleted = await graph.command(DELETE, viewer_of(ada), postId=id_of(post))
    liked = await graph.command(LIKE, viewer_of(bob), postId=id_of(post))

    assert deleted["problems"] == []
    assert liked["problems"] == [problem("NOT_FOUND", "there is no such post", "input", "postId")]
    assert await graph.table.get(PostCounter.key(post_id=post.post_id, shard=0)) is None
