"""Measures the way of changes: lag, cost, catching up after a stop, and that faults lose and double nothing.

Everything runs in one process, besides the local engine: the writers, the outbox, the log and all processors.
"""

import argparse
import asyncio
import contextlib
import random
import sys
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextvars import ContextVar
from dataclasses import replace
from datetime import datetime
from functools import partial
from statistics import quantiles
from typing import Any

from datastore.accounts import User
from datastore.changes.change import Change
from datastore.changes.records import OutboxItem
from datastore.client.budget import Usage
from datastore.client.errors import Conflict, Retryable
from datastore.client.table import Table
from datastore.client.writes import Put, Update, absent
from datastore.local import engine, provision
from datastore.local.endpoint import LOCAL_REGION, Place
from datastore.social import Like, Post, PostCounter
from loaders.viewer import Viewer
from resolvers.accounts.passwords import Passwords
from resolvers.background.change_flow import ChangeFlow
from resolvers.background.processors import PROCESSORS, Processor
from schema.declare.ids import global_id
from schema.http.protocol import GraphQLRequest
from schema.http.services import Services
from schema.http.settings import Settings
from tests.support.fault_proxy import Fault, FaultProxy, cut_after, error_500, nothing_wrong, throttled

SECRET = "benchmark-of-changes-0123456789-abcdefghij"
LIKE = "mutation ($id: ID!) { likePost(input: {postId: $id}) { post { likeCount } problems { message } } }"
PEOPLE = 500
POSTS = 100
FAULTS: tuple[Fault, ...] = (throttled, error_500, cut_after)

in_flow: ContextVar[bool] = ContextVar("in_flow", default=False)


class Measured:
    """Wraps every processor, to note the lag of each change, and counts the capacity that the flow uses."""

    def __init__(self, services: Services) -> None:
        self.lags: dict[str, list[float]] = defaultdict(list)
        self.units: Counter[str] = Counter()
        transport = services.table.transport
        call = transport.call

        async def counted(operation: str, request: Any, usage: Usage) -> Any:
            if not in_flow.get():
                return await call(operation, request, usage)
            before = usage.read_units, usage.write_units
            try:
                return await call(operation, request, usage)
            finally:
                self.units["read"] += usage.read_units - before[0]
                self.units["write"] += usage.write_units - before[1]
                self.units["calls"] += 1

        transport.call = counted  # type: ignore[method-assign]

    def wrap(self, processor: Processor) -> Processor:
        async def react(load: Any, changes: Sequence[Change], **given: Any) -> Any:
            result = await processor.react(load, changes, **given)
            now = time.time()
            self.lags[processor.name] += [now - datetime.fromisoformat(change.at).timestamp() for change in changes]
            return result

        react.__annotations__ = processor.react.__annotations__
        return replace(processor, react=react)


async def count_likes(load: Any, changes: Sequence[Change]) -> list[Update]:
    """Counts changes by post, by deltas: what is lost or doubled shows."""
    counts = Counter(change.key.values["post_id"] for change in changes)
    return [
        Update.upsert(PostCounter(post_id=f"counted-{post_id}", shard=0), add={"like_count": count})
        for post_id, count in counts.items()
    ]


COUNTING = Processor("count_likes_of_benchmark", count_likes, frozenset({Like}), at_once=50)


@contextlib.asynccontextmanager
async def started(endpoint: str, table: str, settings: Settings) -> AsyncIterator[Services]:
    place = Place(endpoint, LOCAL_REGION, keeps_data=False, has_own_engine=True)
    services = Services.at(place, settings.model_copy(update={"table_name": table}), SECRET, Passwords(rounds=4))
    try:
        yield services
    finally:
        await services.close()


@contextlib.asynccontextmanager
async def flowing(flow: ChangeFlow) -> AsyncIterator[None]:
    """Runs the flow of changes like a server."""
    token = in_flow.set(True)
    tasks = [asyncio.create_task(each.run()) for each in (*flow.tails, *flow.in_one_worker)]
    in_flow.reset(token)
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


def people() -> list[User]:
    return [User(user_id=f"u{n}", username=f"user{n}", email=f"user{n}@example.org") for n in range(PEOPLE)]


def posts() -> list[Post]:
    return [
        Post(post_id=f"p{n}", user_id=f"u{n}", image_url="https://example.org/1.png", feed_shard=0)
        for n in range(POSTS)
    ]


async def fill(table: Table) -> None:
    await table.using(Usage.lasting(120)).batch_write(puts=[*people(), *posts()])


async def like(services: Services, number: int) -> None:
    """Sends a like as a client would, and waits for the answer."""
    user, post = number % PEOPLE, number // PEOPLE % POSTS
    context = services.context_of(Viewer(user_id=f"u{user}"))
    request = GraphQLRequest(LIKE, {"id": global_id(posts_by_number[post])})
    answer = await services.executor.run(request, context, may_mutate=True)
    assert "errors" not in answer.body, answer.body


posts_by_number = posts()


async def settled(flow: ChangeFlow) -> None:
    """Waits until the processors have done everything."""
    while not await _is_settled(flow):  # noqa: ASYNC110
        await asyncio.sleep(0.05)


async def _is_settled(flow: ChangeFlow) -> bool:
    table = flow.table.using(Usage.lasting(30))
    if (await table.query(OutboxItem.within(), limit=1, consistent=True)).records:
        return False
    heads = [await flow.log.head(partition) for partition in range(flow.log.partitions)]
    courses = [course for each in flow.processing.running.values() for course in each]
    return bool(courses) and all(course.sequence >= heads[course.partition] for course in courses)


async def lag(services: Services, rate: float, seconds: float) -> None:
    """Sends likes at a steady rate, and reports how long each processor took from the write on."""
    measured = Measured(services)
    originals = dict(PROCESSORS)
    PROCESSORS.update({name: measured.wrap(each) for name, each in PROCESSORS.items()})
    try:
        async with flowing(services.changes):
            await settled(services.changes)
            measured.lags.clear()
            measured.units.clear()
            sending: set[asyncio.Task[None]] = set()
            began = time.monotonic()
            total = int(rate * seconds)
            for number in range(total):
                await asyncio.sleep(max(0.0, began + number / rate - time.monotonic()))
                task = asyncio.create_task(like(services, number))
                sending.add(task)
                task.add_done_callback(sending.discard)
            await asyncio.gather(*sending)
            took = time.monotonic() - began
            await settled(services.changes)
    finally:
        PROCESSORS.clear()
        PROCESSORS.update(originals)
    print(f"\n{total} likes in {took:.1f} s ({total / took:.0f} a second), seconds from the write to the end:\n")
    print("| processor | changes | p50 | p99 | worst |\n|---|---:|---:|---:|---:|")
    for name, lags in sorted(measured.lags.items()):
        cuts = quantiles(lags, n=100) if len(lags) > 1 else [0.0] * 99
        print(f"| {name} | {len(lags)} | {cuts[49]:.3f} | {cuts[98]:.3f} | {max(lags):.3f} |")
    units = measured.units
    print(
        f"\nfor each like: {units['write'] / total:.1f} write units, {units['read'] / total:.1f} read units and "
        f"{units['calls'] / total:.2f} calls, with the outbox, the log and all processors\n"
    )


async def catch_up(services: Services, changes: int) -> None:
    """Writes changes while nothing runs, then measures how fast the processors get through."""
    table = services.table.using(Usage.lasting(600))
    likes = [Like(post_id=f"p{n % POSTS}", user_id=f"catching-up-{n}") for n in range(changes)]
    for start in range(0, changes, 1_000):
        await table.batch_write(puts=likes[start : start + 1_000])
    began = time.monotonic()
    async with flowing(services.changes):
        await settled(services.changes)
    took = time.monotonic() - began
    print(f"after a stop: {changes} changes in {took:.1f} s, {changes / took:.0f} a second, by all processors\n")


async def faults(endpoint: str, table: str, settings: Settings, changes: int, share: float) -> bool:
    """Sends changes through a proxy with faults, restarts the flow again and again, and counts."""
    chance = random.Random(1)

    async def unreliable(call: Any) -> Any:
        fault = chance.choice(FAULTS) if chance.random() < share else nothing_wrong
        return await fault(call)

    originals = dict(PROCESSORS)
    PROCESSORS.clear()
    PROCESSORS[COUNTING.name] = COUNTING
    try:
        async with FaultProxy(endpoint) as proxy, started(proxy.endpoint, table, settings) as services:
            for operation in ("TransactWriteItems", "UpdateItem", "PutItem", "GetItem", "Query", "BatchGetItem"):
                proxy.will(operation, unreliable)
            writing = asyncio.create_task(_write(services, changes))
            stops = 0
            while not writing.done():
                async with flowing(services.changes):
                    await asyncio.wait([writing], timeout=chance.uniform(0.5, 2))
                stops += 1
            applied = await writing
            proxy.recover()
            async with flowing(services.changes):
                await settled(services.changes)
            counted = {}
            for post in range(POSTS):
                key = PostCounter.key(post_id=f"counted-faulty{post}", shard=0)
                found = await services.table.using(Usage.lasting(30)).get(key, consistent=True)
                counted[f"faulty{post}"] = found.like_count if found else 0
    finally:
        PROCESSORS.clear()
        PROCESSORS.update(originals)
    wrong = [post for post in applied if counted[post] != applied[post]]
    written, processed = sum(applied.values()), sum(counted.values())
    print(
        f"under faults ({share:.0%} of calls) and {stops} stops: {written} changes written, {processed} processed, "
        f"{len(wrong)} of {POSTS} counts wrong\n"
    )
    return not wrong


async def _write(services: Services, changes: int) -> Counter[str]:
    """Writes likes, each until it is acknowledged. Returns how many there are by post."""
    waiting = iter(range(changes))
    applied: Counter[str] = Counter()

    async def some() -> None:
        for number in waiting:
            post_id = f"faulty{number % POSTS}"
            await _until_done(partial(_send, services, Like(post_id=post_id, user_id=f"u{number}")))
            applied[post_id] += 1

    await asyncio.gather(*(some() for _ in range(16)))
    return applied


async def _send(services: Services, record: Like) -> None:
    with contextlib.suppress(Conflict):
        # It was there already: an earlier attempt was applied.
        await services.table.using(Usage.lasting(20)).transact(Put(record, when=absent()))


async def _until_done(send: Callable[[], Awaitable[None]]) -> None:
    while True:
        try:
            return await send()
        except Retryable:
            await asyncio.sleep(0.05)


async def main(options: argparse.Namespace) -> int:
    PROCESSORS[COUNTING.name] = COUNTING
    settings = Settings(auth_secret=SECRET, request_timeout=30, metrics=False)
    with engine.in_memory(moto=False) as running:
        client = provision.connect(running.endpoint, LOCAL_REGION)
        for table in ("lag", "stop", "faults"):
            provision.ensure(client, table, backups=False, stream=False)
        async with started(running.endpoint, "lag", settings) as services:
            await fill(services.table)
            await lag(services, options.rate, options.seconds)
        async with started(running.endpoint, "stop", settings) as services:
            await fill(services.table)
            await catch_up(services, options.stop)
        return 0 if await faults(running.endpoint, "faults", settings, options.faults, options.share) else 1


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=float, default=200, help="likes a second")
    parser.add_argument("--seconds", type=float, default=30, help="how long to send them")
    parser.add_argument("--stop", type=int, default=20_000, help="changes that wait after a stop")
    parser.add_argument("--faults", type=int, default=10_000, help="changes to write under faults")
    parser.add_argument("--share", type=float, default=0.05, help="share of the calls that fail")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(asyncio.run(main(arguments())))
