"""Counting while the database fails: requests succeed, and the counts are right."""

import asyncio
import json
import random

from datastore.accounts import User
from datastore.social import Like
from resolvers.social import post_counters
from tests.support.fault_proxy import FOR_EVER, Answer, Call, cut_after, cut_before, error_500, throttled
from tests.support.graph import id_of, viewer_of
from tests.support.social import LIKE, UNLIKE, Society

TURNS = 4


async def in_conflict(call: Call) -> Answer:
    """As if another transaction held one of the items."""
    items = call.request["TransactItems"]
    reasons = [{"Code": "None"}] * (len(items) - 1) + [{"Code": "TransactionConflict", "Message": "ongoing"}]
    body = {
        "__type": "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
        "Message": "Transaction cancelled",
        "CancellationReasons": reasons,
    }
    return Answer.of(400, json.dumps(body).encode())


async def test_many_clients_like_and_unlike_while_the_database_throttles_and_loses_answers(
    graph, faulty_graph, proxy, engine_name
):
    society = Society(graph)
    post = await society.post(await society.person("author"))
    clients = 30 if engine_name != "moto" else 8
    people = [User(user_id=f"u{n}", username=f"u{n}", email=f"u{n}@example.org") for n in range(clients)]
    await graph.table.batch_write(puts=people)
    chance = random.Random(5)
    mishaps = [throttled, in_conflict, error_500, cut_before]
    if engine_name != "moto":  # moto ignores ClientRequestToken, so there a lost answer counts twice
        mishaps.append(cut_after)
    for mishap in mishaps:
        proxy.will("TransactWriteItems", mishap, FOR_EVER, when=lambda _: chance.random() < 0.1)
    proxy.will("BatchGetItem", throttled, FOR_EVER, when=lambda _: chance.random() < 0.2)
    proxy.will("GetItem", throttled, FOR_EVER, when=lambda _: chance.random() < 0.2)
    wishes = [[chance.random() < 0.5 for _ in range(TURNS)] for _ in people]

    async def fickle(person: User, likes: list[bool]) -> None:
        for wants in likes:
            payload = await faulty_graph.command(LIKE if wants else UNLIKE, viewer_of(person), postId=id_of(post))
            assert payload["problems"] == []
            assert payload["post"]["viewerHasLiked"] is wants

    await asyncio.gather(*map(fickle, people, wishes))

    proxy.recover()
    asked = await graph.ask("query ($id: ID!) { post(by: {id: $id}) { likeCount } }", id=id_of(post))
    items = await graph.table.query(Like.within(post_id=post.post_id), limit=200)
    assert asked.data["post"]["likeCount"] == len(items.records) == sum(likes[-1] for likes in wishes)


async def test_a_contended_post_moves_its_counts_into_shards(graph, faulty_graph, proxy):
    society = Society(graph)
    ada, bob = await society.person("ada"), await society.person("bob")
    post = await society.post(ada)
    proxy.will("TransactWriteItems", in_conflict, times=post_counters.CONTENTION)

    payload = await faulty_graph.command(LIKE, viewer_of(bob), postId=id_of(post))
    again = await faulty_graph.command(LIKE, viewer_of(ada), postId=id_of(post))

    assert payload["post"] == {"likeCount": 1, "viewerHasLiked": True}
    assert again["post"] == {"likeCount": 2, "viewerHasLiked": True}
    stored = await graph.table.get(post.own_key)
    assert (stored.like_count, stored.counter_shards) == (1, post_counters.COUNTER_SHARDS)


async def test_a_post_without_contention_keeps_its_own_count(graph, faulty_graph, proxy):
    society = Society(graph)
    ada = await society.person("ada")
    post = await society.post(ada)
    proxy.will("TransactWriteItems", in_conflict, times=post_counters.CONTENTION - 1)

    await faulty_graph.command(LIKE, viewer_of(ada), postId=id_of(post))

    stored = await graph.table.get(post.own_key)
    assert (stored.like_count, stored.counter_shards) == (1, None)
