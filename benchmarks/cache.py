"""Measures hot data (CACHE_MB): the same load of popular reads without it and with it, and how stale it may be.

The load follows Zipf's law: 95 % reads (a post, a profile, a person, the feed), 5 % likes and comments. CPU is that of
the whole process: requests, writes, the change log and its processors, without the local engine.

Staleness is measured on two servers: posts are edited on one and read on the other. A read that began after an edit was
acknowledged, and does not show it, is as stale as that edit is old.
"""

import argparse
import asyncio
import random
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from statistics import quantiles
from typing import Any

from benchmarks import bulk, social_data
from benchmarks.changes import SECRET, flowing
from benchmarks.peers.popularity import popular
from datastore.local.endpoint import LOCAL_REGION, Place
from datastore.social import Post
from loaders.hot_reads import RECENT, HotReads
from loaders.viewer import ANONYMOUS, Viewer
from resolvers.accounts.passwords import Passwords
from schema.declare.ids import global_id
from schema.http.protocol import GraphQLRequest
from schema.http.services import Services
from schema.http.settings import Settings

TABLE = "cache"
POST = """query ($id: ID!) { post(by: {id: $id}) { caption imageUrl likeCount commentCount viewerHasLiked
  author { username displayName } comments(first: 10) { totalCount nodes { content author { username } } } } }"""
PROFILE = """query ($id: ID!) { user(by: {id: $id}) { username displayName bio followerCount followingCount postCount
  posts(first: 12) { nodes { caption imageUrl likeCount } } } }"""
PERSON = "query ($id: ID!) { user(by: {id: $id}) { username displayName } }"
FEED = "{ feed(first: 20) { nodes { id caption likeCount commentCount author { username displayName } } } }"
LIKE = "mutation ($id: ID!) { likePost(input: {postId: $id}) { problems { message } } }"
COMMENT = 'mutation ($id: ID!) { addComment(input: {postId: $id, content: "So true."}) { problems { message } } }'
EDIT = """mutation ($id: ID!, $caption: String!) { updatePost(input: {postId: $id, caption: $caption}) {
  problems { message } } }"""
CAPTION = "query ($id: ID!) { post(by: {id: $id}) { caption } }"
MIX = {POST: 40, PROFILE: 20, PERSON: 20, FEED: 15, LIKE: 3, COMMENT: 2}
AT_ONCE = 8
ROUNDS = 5

Request = tuple[str, str | None, Viewer]


def load(network: social_data.Network, requests: int, seed: int) -> list[Request]:
    """Returns random requests. The newest posts are the most popular. Half of the viewers are signed in."""
    chance = random.Random(seed)
    newest = sorted(network.posts.values(), key=lambda post: post.created_at, reverse=True)
    posts = iter(popular([global_id(post) for post in newest], requests, chance))
    people = iter(popular([global_id(user) for user in network.users.values()], requests, chance))
    viewers = [Viewer(user_id) for user_id in network.users]
    made: list[Request] = []
    for query in chance.choices([*MIX], weights=[*MIX.values()], k=requests):
        signed_in = query in (LIKE, COMMENT) or chance.random() < 0.5
        about = None if query is FEED else next(people if query in (PROFILE, PERSON) else posts)
        made.append((query, about, chance.choice(viewers) if signed_in else ANONYMOUS))
    return made


async def started(endpoint: str, megabytes: int) -> Services:
    settings = Settings(table_name=TABLE, auth_secret=SECRET, request_timeout=30, cache_mb=megabytes)
    place = Place(endpoint, LOCAL_REGION, keeps_data=False, has_own_engine=True)
    services = Services.at(place, settings, SECRET, Passwords(rounds=4))
    await services.hidden_accounts.load()
    return services


async def ready(services: Services) -> None:
    """Waits until reads are kept: changes have to be followed for some seconds before."""
    reads = services.shared_reads
    if isinstance(reads, HotReads):
        while not reads.is_current:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        await asyncio.sleep(RECENT + 0.1)


@dataclass
class Server:
    """A server, and what its requests have used."""

    services: Services
    calls: int = 0
    units: float = 0.0
    seconds: list[float] = field(default_factory=list)

    async def ask(self, query: str, viewer: Viewer = ANONYMOUS, **variables: Any) -> dict[str, Any]:
        context = self.services.context_of(viewer)
        begun = time.perf_counter()
        answer = await self.services.executor.run(GraphQLRequest(query, variables), context, may_mutate=True)
        self.seconds.append(time.perf_counter() - begun)
        usage = context.load.table.usage
        self.calls += usage.calls.total()
        self.units += usage.read_units
        assert "errors" not in answer.body, answer.body
        data: dict[str, Any] = answer.body["data"]
        return data


async def each(requests: list[Request], send: Callable[[Request], Awaitable[Any]]) -> None:
    """Sends requests, several at a time."""
    left: Iterator[Request] = iter(requests)

    async def work() -> None:
        for request in left:
            await send(request)

    await asyncio.gather(*(work() for _ in range(AT_ONCE)))


async def measure_load(endpoint: str, network: social_data.Network, megabytes: int, requests: int) -> None:
    services = await started(endpoint, megabytes)
    server, chosen = Server(services), load(network, 2 * requests, seed=megabytes + 1)

    async def send(request: Request) -> None:
        query, about, viewer = request
        await server.ask(query, viewer, **({"id": about} if about else {}))

    async with flowing(services.changes):
        await ready(services)
        await each(chosen[:requests], send)
        reads = services.shared_reads
        hot = reads.data if isinstance(reads, HotReads) else None
        before = (hot.hits, hot.misses, hot.corrections) if hot else (0, 0, 0)
        server.calls, server.units, server.seconds = 0, 0.0, []
        used = time.process_time()
        await each(chosen[requests:], send)
        used = time.process_time() - used
    cuts = quantiles(server.seconds, n=100)
    print(
        f"  {1e3 * used / requests:.2f} ms of CPU, {server.calls / requests:.2f} DynamoDB calls and "
        f"{server.units / requests:.1f} read units a request; p50 {1e3 * cuts[49]:.1f} ms, p99 {1e3 * cuts[98]:.1f} ms"
    )
    if hot:
        hits, misses, corrections = hot.hits - before[0], hot.misses - before[1], hot.corrections - before[2]
        print(
            f"  hit rate {hits / (hits + misses):.1%}; {corrections} pages corrected; {len(hot):,} entries, "
            f"{hot.bytes / 1e6:.1f} MB; {hot.invalidations} invalidations, {hot.evictions} evictions"
        )
    await services.close()


async def measure_kinds(endpoint: str, network: social_data.Network, megabytes: int, times: int) -> None:
    """Repeats each kind of read, one request after another. Nothing is written meanwhile."""
    services = await started(endpoint, megabytes)
    server = Server(services)
    about = {POST: next(iter(network.posts.values())), FEED: None}
    async with flowing(services.changes):
        await ready(services)
        for name, query in (("post", POST), ("profile", PROFILE), ("person", PERSON), ("feed", FEED)):
            record = about.get(query, next(iter(network.users.values())))
            variables: dict[str, Any] = {"id": global_id(record)} if record else {}
            await server.ask(query, **variables)
            best, before = float("inf"), server.calls
            for _ in range(ROUNDS):
                used = time.process_time()
                for _ in range(times):
                    await server.ask(query, **variables)
                best = min(best, (time.process_time() - used) / times)
            calls = (server.calls - before) / (ROUNDS * times)
            print(f"  {name}: {1e3 * best:.2f} ms of CPU, {calls:.0f} calls")
    await services.close()


@dataclass
class Edits:
    """Times at which the edits of each post were acknowledged, in one of several runs."""

    run: str
    at: dict[str, list[float]] = field(default_factory=dict)

    def caption(self, number: int) -> str:
        return f"{self.run} {number}"

    def staleness(self, post_id: str, caption: str | None, begun: float) -> float:
        """Returns the age of the first edit that a read should have shown and did not, or 0."""
        run, _, number = (caption or "").rpartition(" ")
        shown = int(number) if run == self.run else 0
        missed = self.at.get(post_id, [])[shown : shown + 1]
        return max(0.0, begun - missed[0]) if missed else 0.0


async def measure_staleness(endpoint: str, network: social_data.Network, megabytes: int, seconds: float) -> None:
    """Edits popular posts on one server, ten times a second, and reads them on another one all the time."""
    writer, reader = Server(await started(endpoint, megabytes)), Server(await started(endpoint, megabytes))
    newest = sorted(network.posts.values(), key=lambda post: post.created_at, reverse=True)[:20]
    edits, chance = Edits(f"Edit with {megabytes} MB:"), random.Random(1)
    of_posts: list[float] = []
    of_feeds: list[float] = []

    async def edit(until: float) -> None:
        while time.monotonic() < until:
            post: Post = popular(newest, 1, chance)[0]
            done = edits.at.setdefault(post.post_id, [])
            await writer.ask(EDIT, Viewer(post.user_id), id=global_id(post), caption=edits.caption(len(done) + 1))
            done.append(time.monotonic())
            await asyncio.sleep(chance.uniform(0.05, 0.15))

    async def read(until: float) -> None:
        ids = {global_id(post): post.post_id for post in newest}
        while time.monotonic() < until:
            post, begun = popular(newest, 1, chance)[0], time.monotonic()
            data = await reader.ask(CAPTION, id=global_id(post))
            of_posts.append(edits.staleness(post.post_id, data["post"]["caption"], begun))
            begun = time.monotonic()
            data = await reader.ask(FEED)
            shown = [node for node in data["feed"]["nodes"] if node["id"] in ids]
            of_feeds.append(max(edits.staleness(ids[node["id"]], node["caption"], begun) for node in shown))
            await asyncio.sleep(0.002)

    async with flowing(writer.services.changes), flowing(reader.services.changes):
        await ready(reader.services)
        until = time.monotonic() + seconds
        await asyncio.gather(edit(until), read(until))
    for what, found in (("posts", of_posts), ("feeds, by the stalest of 20 posts", of_feeds)):
        stale = [age for age in found if age]
        cuts = quantiles(found, n=100)
        print(
            f"  {len(found)} {what}: {len(stale) / len(found):.1%} stale; of all reads p50 {1e3 * cuts[49]:.0f} ms, "
            f"p99 {1e3 * cuts[98]:.0f} ms, at most {1e3 * max(found):.0f} ms"
        )
        if len(stale) > 1:
            cuts = quantiles(stale, n=100)
            print(f"    of the stale ones p50 {1e3 * cuts[49]:.0f} ms, p99 {1e3 * min(cuts[98], max(stale)):.0f} ms")
    await writer.services.close()
    await reader.services.close()


async def measure(options: argparse.Namespace) -> None:
    network = social_data.synthetic(
        people=options.people, posts=options.posts, comments=3 * options.posts, likes=3 * options.posts
    )
    with bulk.filled({TABLE: network.records()}) as engine:
        for megabytes in (0, options.megabytes):
            print(f"CACHE_MB={megabytes}, {options.requests:,} requests after as many to warm up:")
            await measure_load(engine.endpoint, network, megabytes, options.requests)
        for megabytes in (0, options.megabytes):
            print(f"CACHE_MB={megabytes}, the same request again and again:")
            await measure_kinds(engine.endpoint, network, megabytes, options.requests // 50)
        for megabytes in (0, options.megabytes):
            print(f"CACHE_MB={megabytes}, staleness of reads on another server than the writes:")
            await measure_staleness(engine.endpoint, network, megabytes, options.seconds)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=500)
    parser.add_argument("--posts", type=int, default=2_000)
    parser.add_argument("--requests", type=int, default=3_000)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--megabytes", type=int, default=50)
    parser.add_argument("--quick", action="store_true", help="the shortest form")
    options = parser.parse_args(arguments)
    if options.quick:
        options.people, options.posts, options.requests, options.seconds = 100, 300, 500, 2
    asyncio.run(measure(options))


if __name__ == "__main__":
    main(sys.argv[1:])
