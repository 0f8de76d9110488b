"""Measures live queries over real sockets: time from a write to the client, CPU, memory, and the cost of polling.

`--docs` stores the figures in docs/performance.md and draws docs/live.svg.

Servers, clients and the local engine are processes of their own. CPU and memory are those of the server.
"""

import argparse
import contextlib
import random
import sys
import time
from collections.abc import Callable, Iterator

import httpx

from benchmarks import results
from benchmarks.live.readers import Readers
from benchmarks.live.report import Report
from benchmarks.live.scene import POSTS_OF_AN_AUTHOR, Scene, Writer, a_scene, a_server
from benchmarks.live.subscribers import Subscribers
from benchmarks.peers.servers import Running, free_port
from datastore.changes.change import Change, What
from datastore.model.times import now
from datastore.social import Post
from loaders.kept import ReadSet, Window
from loaders.watching import Watching

FIELDS = """post(by: {id: $id}) { caption imageUrl likeCount commentCount author { username displayName }
  comments(first: 10) { totalCount nodes { content author { username } } } }"""
PAGE = f"query ($id: ID!) {{ {FIELDS} }}"
LIVE = f"query ($id: ID!) @live {{ {FIELDS} }}"
LIKE = "mutation ($id: ID!) { likePost(input: {postId: $id}) { post { likeCount } problems { message } } }"
UNLIKE = LIKE.replace("likePost", "unlikePost")
RENAME = "mutation ($name: String!) { updateProfile(input: {displayName: $name}) { problems { message } } }"
COMMENT = """mutation ($id: ID!, $content: String!) {
  addComment(input: {postId: $id, content: $content}) { problems { message } } }"""
PARTS = ("lag", "many", "crowd", "subscribers", "matching", "polling")
# Changes of the last five seconds are applied to what was just read.
SETTLED = 6.0


class Timer:
    """CPU of a server while something runs, as a share of a core."""

    @contextlib.contextmanager
    def of(self, server: Running) -> Iterator["Timer"]:
        began, used = time.monotonic(), server.cpu_seconds
        yield self
        self.seconds = time.monotonic() - began
        self.share = (server.cpu_seconds - used) / self.seconds


def lag(scene: Scene, reading: Running, writing: Running, likes: int, first: int) -> list[float]:
    """Returns the times from the acknowledged write to the new answer."""
    posts = [scene.id(number) for number in range(first, first + 50)]
    writer = Writer(writing.url, "p1")
    with Readers(reading.url) as readers:
        readers.open(LIVE, posts)
        time.sleep(SETTLED)
        lags: list[float] = []
        for n in range(likes):
            client, given = readers.clients[n % len(posts)], posts[n % len(posts)]
            had = client.events
            writer.send(LIKE if n // len(posts) % 2 == 0 else UNLIKE, **given)
            written = time.monotonic()
            if not readers.until(lambda client=client, had=had: client.events > had):  # type: ignore[misc]
                raise SystemExit("a like did not reach the client")
            lags.append(max(0.0, client.arrived - written))
            time.sleep(random.uniform(0, 0.1))
    return lags


def many(report: Report, scene: Scene, server: Running, queries: int, seconds: int, rate: int) -> None:
    """Follows as many different queries as there are posts. Each change concerns ten of them."""
    before = server.resident_mb
    authors = queries // POSTS_OF_AN_AUTHOR
    writers = [Writer(server.url, f"p{n}") for n in range(min(authors, 50))]
    with Readers(server.url) as readers:
        readers.open(LIVE, [scene.id(number) for number in range(queries)])
        kept = (server.resident_mb - before) * 1000 / queries
        time.sleep(SETTLED)
        with Timer().of(server) as idle:
            time.sleep(min(5, seconds))
        had = readers.events
        with Timer().of(server) as timer:
            for n in _paced(seconds, rate):
                writers[n % len(writers)].send(RENAME, name=f"Name {n}")
        time.sleep(1)
        answers = (readers.events - had) / (seconds * rate)
        report.add(f"memory of one of {queries:,} live queries, its connection included", kept, "KB", 40)
        report.add_cpu(f"{queries:,} live queries without changes", idle.share)
        report.add_cpu(f"{queries:,} live queries, {rate} changes a second, each of ten queries", timer.share, 60)
        report.add("answers sent for each of these changes", answers, "answers")


def crowd(report: Report, scene: Scene, server: Running, viewers: int, seconds: int, rate: int) -> None:
    """Many viewers follow one post."""
    before = server.resident_mb
    writer = Writer(server.url, "p1")
    with Readers(server.url) as readers:
        readers.open(LIVE, [scene.id(0)] * viewers)
        kept = (server.resident_mb - before) * 1000 / viewers
        time.sleep(SETTLED)
        had = readers.events
        with Timer().of(server) as timer:
            for n in _paced(seconds, rate):
                writer.send(LIKE if n % 2 == 0 else UNLIKE, **scene.id(0))
        time.sleep(1)
        sent = (readers.events - had) / viewers
        report.add_cpu(f"{viewers:,} viewers of one post, {rate} changes a second", timer.share, 100)
        report.add("memory of each of these viewers", kept, "KB")
        report.add(f"answers to each viewer for {seconds * rate} changes in {timer.seconds:.0f} s", sent, "answers")


def subscribers(report: Report, scene: Scene, count: int, seconds: int, rate: int) -> None:
    """Many subscribers of one post get every comment once and in order, while the server restarts twice."""
    port = free_port()
    url = f"http://127.0.0.1:{port}/graphql"
    expected: list[str] = []
    shares: list[float] = []
    with Subscribers(url, count, scene.id(0)) as clients:
        for turn in range(3):
            with a_server(scene, port) as server:
                until(lambda: all(each.is_open for each in clients.all))
                if turn == 0:
                    # A subscription without a cursor begins when it is accepted.
                    time.sleep(1)
                writer = Writer(url, "p1")
                with Timer().of(server) as timer:
                    for _ in _paced(seconds, rate):
                        expected.append(f"Comment {len(expected)} of the benchmark")
                        writer.send(COMMENT, content=expected[-1], **scene.id(0))
                # The last comments of a turn are on their way when the server is told to stop.
                if turn == 2:
                    until(lambda: all(len(each.received) >= len(expected) for each in clients.all))
                shares.append(timer.share)
    missed = sum(each.received != expected for each in clients.all)
    report.add_cpu(f"{count:,} subscribers of one post, {rate} comments a second", max(shares))
    title = f"of them, those that did not get all {len(expected)} comments once, in order, through two restarts"
    report.add(title, missed, "subscribers", 0)


def until(holds: Callable[[], bool], within: float = 120.0) -> bool:
    give_up = time.monotonic() + within
    while not holds() and time.monotonic() < give_up:
        time.sleep(0.02)
    return holds()


def _paced(seconds: int, rate: int) -> Iterator[int]:
    began = time.monotonic()
    for n in range(seconds * rate):
        time.sleep(max(0.0, began + n / rate - time.monotonic()))
        yield n


def matching(report: Report, queries: int, times: int = 10_000) -> None:
    """Adds the time to find that a change concerns no one."""
    watching: Watching[int] = Watching()
    for n in range(queries):
        places = frozenset((f"POST#{n}", f"COMMENT#{m}") for m in range(10))
        watching.watch(n, ReadSet(places, frozenset({Window((None, f"POST#{n}"), "COMMENT#", "COMMENT#~")})))
    keys = {"GSI1": ("USER#absent", "POST#2026"), "GSI3": ("NOTHING", "POST#2026")}
    change = Change(Post.key(post_id="none"), What.CHANGED, now(), keys, keys)
    began = time.process_time()
    for _ in range(times):
        watching.concerned(change)
    seconds = (time.process_time() - began) / times
    report.add(f"finding that a change concerns none of {queries:,} queries", 1e6 * seconds, "µs", 20)


def polling(report: Report, scene: Scene, server: Running, queries: int, seconds: int) -> None:
    """Adds the cost of asking for the same queries once a second."""
    with httpx.Client(trust_env=False) as client:
        cost = {"x-cost": "1"}
        calls = units = 0.0
        with Timer().of(server) as timer:
            for _ in range(seconds):
                second = time.monotonic()
                for number in range(queries):
                    client.post(server.url, json={"query": PAGE, "variables": scene.id(number)}, headers=cost)
                time.sleep(max(0.0, second + 1 - time.monotonic()))
        metrics = client.get(server.url.replace("/graphql", "/metrics")).text
        for line in metrics.splitlines():
            if line.startswith("heartwood_dynamodb_calls_total"):
                calls += float(line.split()[-1])
            if line.startswith('heartwood_dynamodb_capacity_units_total{kind="read"'):
                units += float(line.split()[-1])
    report.add_cpu(f"polling {queries} queries every second", timer.share)
    report.add("DynamoDB calls of this polling", calls / seconds, "a second")
    report.add("read units of this polling", units / seconds, "a second")


def measure(options: argparse.Namespace) -> Report:
    wanted = options.only or PARTS
    report = Report()
    with a_scene(max(options.queries, 200)) as scene:
        if "lag" in wanted:
            print(f"{options.likes} likes, one after another:")
            with a_server(scene) as one, a_server(scene) as other:
                report.add_lags("the server that wrote", lag(scene, one, one, options.likes, 0))
                report.add_lags("another server", lag(scene, one, other, options.likes, 50))
        if "many" in wanted:
            print(f"{options.queries:,} different queries:")
            with a_server(scene) as server:
                many(report, scene, server, options.queries, options.seconds, 20)
        if "crowd" in wanted:
            print(f"{options.viewers:,} viewers of one post:")
            with a_server(scene) as server:
                crowd(report, scene, server, options.viewers, options.seconds, 5)
        if "subscribers" in wanted:
            print(f"{options.subscribers:,} subscribers of one post, through two restarts:")
            subscribers(report, scene, options.subscribers, max(1, options.seconds // 2), 5)
        if "matching" in wanted:
            print("Finding that a change concerns no one:")
            matching(report, options.queries // 10)
            matching(report, options.queries * 10)
        if "polling" in wanted:
            print("Polling instead:")
            with a_server(scene) as server:
                polling(report, scene, server, 100, min(5, options.seconds))
    return report


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=5_000)
    parser.add_argument("--viewers", type=int, default=10_000)
    parser.add_argument("--subscribers", type=int, default=1_000)
    parser.add_argument("--likes", type=int, default=100)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--only", nargs="+", choices=PARTS)
    parser.add_argument("--quick", action="store_true", help="the shortest form")
    parser.add_argument("--docs", action="store_true", help="store the figures in docs/performance.md")
    options = parser.parse_args(arguments)
    if options.quick:
        options.queries, options.viewers, options.likes, options.seconds = 200, 100, 10, 2
        options.subscribers = 20
    report = measure(options)
    if options.docs:
        results.put_into_docs("live", report.table)
        report.plot(results.DOCS / "live.svg")


if __name__ == "__main__":
    main(sys.argv[1:])
