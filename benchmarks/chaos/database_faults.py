"""Scenarios in which DynamoDB fails: lost responses, unprocessed keys, throttling, hangs and conflicts."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path

from benchmarks.chaos.client import Client, Got, Tally
from benchmarks.chaos.scenarios import Figures, Scale, at_least, at_most, scenario
from benchmarks.chaos.scene import Scene, person, scene
from datastore.social import Like, Post
from schema.declare.ids import global_id
from tests.support.fault_proxy import (
    all_unprocessed,
    cut_after,
    error_500,
    half_unprocessed,
    hang,
    throttled,
)

CREATE = "mutation($input: CreatePostInput!) { createPost(input: $input) { post { id } problems { code message } } }"
LIKE = "mutation($input: LikePostInput!) { likePost(input: $input) { post { likeCount } problems { code } } }"
UNLIKE = "mutation($input: UnlikePostInput!) { unlikePost(input: $input) { post { likeCount } problems { code } } }"
USER = "query($id: ID!) { user(by: {id: $id}) { username } }"
NODES = "query($ids: [ID!]!) { nodes(ids: $ids) { ... on User { username } } }"
IMAGE = "https://example.org/p.jpg"
UNEXPECTED = ("INTERNAL", "500")


def internal(failures: list[str]) -> int:
    """Counts errors that blame the server's own code."""
    return sum(code in UNEXPECTED for code in failures)


async def all_posts(on: Scene, user_id: str) -> list[Post]:
    page = await on.table.query(Post.by_author(user_id=user_id), limit=1_000)
    return list(page.records)


@scenario(
    "Retries with one Idempotency-Key while DynamoDB loses responses, throttles and fails",
    duplicates=at_most(0),
    missing=at_most(0),
    internal_errors=at_most(0),
)
async def idempotent_retries(folder: Path, scale: Scale) -> Figures:
    clients, each = scale.of(20, 40), scale.of(3, 5)
    tally = Tally()
    async with scene(folder, REQUEST_TIMEOUT="2") as on:
        for operation in ("GetItem", "BatchGetItem", "Query", "TransactWriteItems", "PutItem", "UpdateItem"):
            on.proxy.will(operation, on.sometimes(0.08, throttled), when=lambda _: on.random.random() < 0.5)
            on.proxy.will(operation, on.sometimes(0.1, error_500))
        on.proxy.will("TransactWriteItems", on.sometimes(0.35, cut_after))

        async def write(number: int) -> int:
            client, done = on.client(person(number).user_id), 0
            for place in range(each):
                got = await client.persist(CREATE, tally, input={"imageUrl": IMAGE, "caption": f"{number}-{place}"})
                done += got is not None
            await client.close()
            return done

        answered = sum(await asyncio.gather(*map(write, range(clients))))
        on.proxy.recover()
        stored = Counter(
            [post.caption for number in range(clients) for post in await all_posts(on, person(number).user_id)]
        )
    wanted = clients * each
    return {
        "wanted": wanted,
        "answered": answered,
        "attempts": len(tally.seconds),
        "duplicates": sum(stored.values()) - len(stored),
        "missing": wanted - len(stored),
        "internal_errors": internal(tally.failures),
    }


@scenario(
    "BatchGetItem leaves keys unprocessed",
    silent_nulls=at_most(0),
    internal_errors=at_most(0),
    calls_per_wanted_call=at_most(3),
)
async def unprocessed_keys(folder: Path, scale: Scale) -> Figures:
    tally = Tally()
    async with scene(folder, REQUEST_TIMEOUT="3") as on:
        ids = [global_id(person(number)) for number in range(100)]
        on.proxy.will("BatchGetItem", on.sometimes(0.3, all_unprocessed), when=lambda _: on.random.random() < 0.4)
        on.proxy.will("BatchGetItem", on.sometimes(0.4, half_unprocessed))
        answers = await _closed_loop(on, 8, scale.of(10, 40), tally, lambda client: client.ask(NODES, ids=ids))
        seen = on.proxy.seen["BatchGetItem"]
    silent = sum(None in (got.body.get("data") or {}).get("nodes", ()) for got in answers if got.is_fine)
    return {
        "requests": len(answers),
        "complete": sum(got.is_fine for got in answers),
        "silent_nulls": silent,
        "internal_errors": internal(tally.failures),
        "calls_per_wanted_call": seen / len(answers),
    }


@scenario("Half of all calls are throttled", calls_per_wanted_call=at_most(2.2), internal_errors=at_most(0))
async def throttling_half(folder: Path, scale: Scale) -> Figures:
    return await _throttled(folder, scale, 0.5)


@scenario(
    "All calls are throttled",
    calls_per_wanted_call=at_most(1.5),
    internal_errors=at_most(0),
    p50_ms=at_most(500),
    recovered=at_least(1),
)
async def throttling_all(folder: Path, scale: Scale) -> Figures:
    return await _throttled(folder, scale, 1.0)


async def _throttled(folder: Path, scale: Scale, share: float) -> Figures:
    tally = Tally()
    async with scene(folder, REQUEST_TIMEOUT="3") as on:
        on.proxy.seen.clear()
        on.proxy.will("GetItem", on.sometimes(share, throttled))
        on.proxy.will("Query", on.sometimes(share, throttled))
        id = global_id(person(1))
        answers = await _closed_loop(on, 16, scale.of(10, 40), tally, lambda client: client.ask(USER, id=id))
        calls = on.proxy.seen["GetItem"]
        on.proxy.recover()
        recovered = await _recovers(on, id)
    return {
        "requests": len(answers),
        "answered": sum(got.is_fine for got in answers) / len(answers),
        "calls_per_wanted_call": calls / len(answers),
        "p50_ms": tally.percentile(50),
        "p99_ms": tally.percentile(99),
        "internal_errors": internal(tally.failures),
        "recovered": float(recovered),
    }


async def _recovers(on: Scene, id: str) -> bool:
    """True if a request succeeds within half a minute after the fault is over."""
    client = on.client()
    for _ in range(60):
        if (await client.ask(USER, id=id)).is_fine:
            await client.close()
            return True
        await asyncio.sleep(0.5)
    return False


@scenario(
    "A tenth of all calls hang",
    answered=at_least(0.99),
    internal_errors=at_most(0),
    p99_ms=at_most(3_000),
)
async def hangs(folder: Path, scale: Scale) -> Figures:
    tally, warm = Tally(), Tally()
    async with scene(folder) as on:
        id = global_id(person(1))
        await _closed_loop(on, 8, 40, warm, lambda client: client.ask(USER, id=id))
        on.proxy.will("GetItem", on.sometimes(0.1, hang))
        answers = await _closed_loop(on, 16, scale.of(15, 60), tally, lambda client: client.ask(USER, id=id))
    return {
        "requests": len(answers),
        "answered": sum(got.is_fine for got in answers) / len(answers),
        "p50_ms": tally.percentile(50),
        "p99_ms": tally.percentile(99),
        "internal_errors": internal(tally.failures),
    }


@scenario(
    "A hundred clients like and unlike one post while DynamoDB throttles",
    count_error=at_most(0),
    unanswered=at_most(0),
    internal_errors=at_most(0),
)
async def conflict_storm(folder: Path, scale: Scale) -> Figures:
    clients, turns = 100, scale.of(2, 6)
    tally = Tally()
    async with scene(folder) as on:
        post = await on.add_post("storm")
        on.proxy.will("TransactWriteItems", on.sometimes(0.2, throttled))

        async def turn(number: int) -> bool | None:
            client, likes = on.client(person(number).user_id), False
            for place in range(turns + number % 2):
                likes = place % 2 == 0
                got = await client.persist(LIKE if likes else UNLIKE, tally, input={"postId": global_id(post)})
                if got is None:
                    return None
            await client.close()
            return likes

        ends = await asyncio.gather(*map(turn, range(clients)))
        on.proxy.recover()
        client = on.client()
        shown = await client.ask("query($id: ID!) { post(by: {id: $id}) { likeCount } }", id=global_id(post))
        await client.close()
        likes = (await on.table.query(Like.within(post_id="storm"), limit=1_000, consistent=True)).records
    expected = sum(end is True for end in ends)
    return {
        "mutations": len(tally.seconds),
        "likes": expected,
        "count_error": abs(shown.body["data"]["post"]["likeCount"] - expected) + abs(len(likes) - expected),
        "unanswered": sum(end is None for end in ends),
        "internal_errors": internal(tally.failures),
        "p99_ms": tally.percentile(99),
    }


async def _closed_loop(
    on: Scene, clients: int, each: int, tally: Tally, ask: Callable[[Client], Awaitable[Got]]
) -> list[Got]:
    """Sends `each` requests with each of the clients, one after the other."""
    answers: list[Got] = []

    async def one() -> None:
        client = on.client()
        answers.extend([tally.add(await ask(client)) for _ in range(each)])
        await client.close()

    await asyncio.gather(*(one() for _ in range(clients)))
    return answers
