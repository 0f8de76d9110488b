"""Scenarios in which the server ends, and one in which the data changes while it is read."""

import asyncio
import signal
import time
from collections import Counter
from pathlib import Path

from benchmarks.chaos.client import Tally
from benchmarks.chaos.database_faults import CREATE, IMAGE, all_posts, internal
from benchmarks.chaos.scenarios import Figures, Scale, at_least, at_most, scenario
from benchmarks.chaos.scene import Scene, person, scene
from datastore.social import Comment
from schema.declare.ids import global_id

PAGE = """query($id: ID!, $after: String) { post(by: {id: $id}) { comments(first: 10, after: $after) {
  nodes { content } pageInfo { hasNextPage endCursor } } } }"""


@scenario(
    "SIGKILL in the middle of writes; clients repeat what was not answered",
    lost=at_most(0),
    duplicates=at_most(0),
)
async def sigkill(folder: Path, scale: Scale) -> Figures:
    return await _ended_by(signal.SIGKILL, folder, scale)


@scenario(
    "SIGTERM in the middle of writes; clients repeat what was not answered",
    lost=at_most(0),
    duplicates=at_most(0),
    clean_exits=at_least(1),
)
async def sigterm(folder: Path, scale: Scale) -> Figures:
    return await _ended_by(signal.SIGTERM, folder, scale)


async def _ended_by(number: int, folder: Path, scale: Scale) -> Figures:
    writers, endings, tally = 20, scale.of(2, 5), Tally()
    answered: Counter[str] = Counter()
    over = asyncio.Event()
    async with scene(folder) as on:

        async def write(writer: int) -> None:
            client, place = on.client(person(writer).user_id), 0
            while not over.is_set():
                caption = f"{writer}-{place}"
                if await client.persist(CREATE, tally, input={"imageUrl": IMAGE, "caption": caption}):
                    answered[caption] += 1
                place += 1
            await client.close()

        tasks = [asyncio.create_task(write(writer)) for writer in range(writers)]
        exits = []
        for _ in range(endings):
            await asyncio.sleep(1.5)
            exits.append(await on.server.stop(number))
            await on.server.start()
        await asyncio.sleep(1.5)
        over.set()
        await asyncio.gather(*tasks)
        stored = Counter([post.caption for at in range(writers) for post in await _everything(on, at)])
    return {
        "endings": endings,
        "writes": len(answered),
        "lost": len(answered.keys() - stored.keys()),
        "duplicates": sum(stored.values()) - len(stored),
        "clean_exits": sum(status == 0 for status in exits) / endings,
        "internal_errors": internal(tally.failures),
    }


async def _everything(on: Scene, writer: int) -> list[object]:
    return [*await all_posts(on, person(writer).user_id)]


@scenario(
    "Paging through a list while others add to it and delete from it",
    repeated=at_most(0),
    skipped=at_most(0),
    internal_errors=at_most(0),
)
async def paging_under_churn(folder: Path, scale: Scale) -> Figures:
    kept, tally = scale.of(120, 300), Tally()
    over = asyncio.Event()
    async with scene(folder) as on:
        post = await on.add_post("churn")
        await on.table.batch_write(puts=[_comment(at, "kept") for at in range(0, kept * 4, 4)])

        async def churn(offset: int) -> None:
            """Adds comments between those that are kept, and deletes them again."""
            at = offset
            while not over.is_set():
                passing = [_comment(place, "passing") for place in range(at % (kept * 4), at % (kept * 4) + 40, 4)]
                await on.table.batch_write(puts=passing)
                await on.table.batch_write(deletes=[comment.own_key for comment in passing])
                at += 36

        churning = [asyncio.create_task(churn(offset)) for offset in (1, 2, 3)]
        repeated = skipped = 0
        until = time.monotonic() + scale.of(5, 20)
        rounds = 0
        while time.monotonic() < until:
            seen = await _read_all(on, global_id(post), tally)
            repeated += sum(seen.values()) - len(seen)
            skipped += kept - sum(content.startswith("kept") for content in seen)
            rounds += 1
        over.set()
        await asyncio.gather(*churning)
    return {
        "rounds": rounds,
        "repeated": repeated,
        "skipped": skipped,
        "internal_errors": internal(tally.failures),
        "p99_ms": tally.percentile(99),
    }


def _comment(at: int, kind: str) -> Comment:
    stamp = f"2026-01-01T{at // 3600:02}:{at // 60 % 60:02}:{at % 60:02}.000Z"
    return Comment(
        post_id="churn",
        comment_id=f"{at:06}",
        user_id=person(at % 100).user_id,
        content=f"{kind} {at}",
        created_at=stamp,
        updated_at=stamp,
    )


async def _read_all(on: Scene, id: str, tally: Tally) -> Counter[str]:
    client, seen, after = on.client(), Counter[str](), None
    while True:
        got = tally.add(await client.ask(PAGE, id=id, after=after))
        page = got.body["data"]["post"]["comments"]
        seen.update(node["content"] for node in page["nodes"])
        after = page["pageInfo"]["endCursor"]
        if not page["pageInfo"]["hasNextPage"]:
            await client.close()
            return seen
