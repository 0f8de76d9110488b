"""Measures the CPU of execution only, without a database: 20 posts with authors, 5 comments each and commenters.

Heartwood runs from the parsed document to the response data, with keys, visibility and pagination; only the table is
replaced with dicts. graphql-js and graphql-jit resolve the same data with a DataLoader per request.
"""

import argparse
import asyncio
import json
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import history, results
from datastore.accounts import User
from datastore.client.budget import Usage
from datastore.client.errors import CorruptItem
from datastore.client.table import Page, RangeRead
from datastore.model.entity import Entity, decode
from datastore.model.keys import Key
from datastore.social import Comment, Post
from loaders.request import Loaders
from loaders.viewer import ANONYMOUS
from resolvers.core.options import Options
from schema.build import build
from schema.declare.context import RequestContext
from schema.declare.cursors import Cursors
from schema.execution.executor import Executor
from schema.execution.limits import Limits
from schema.http import garbage_collection
from schema.http.protocol import GraphQLRequest

# Targets: our CPU divided by theirs, at most.
TARGETS = {"graphql-jit": 2.0, "graphql-js": 0.5}
NODE = Path(__file__).parent / "peers" / "node" / "execution.js"
PAGE, COMMENTS, PEOPLE = 20, 5, 50
QUERY = """{ feed(first: 20) { nodes {
  id caption imageUrl createdAt likeCount commentCount author { id username displayName }
  comments(first: 5) { nodes { id content createdAt author { id username displayName } } }
} pageInfo { hasNextPage } } }"""
SDL = """
scalar DateTime
type Query { feed(first: Int): PostConnection }
type PostConnection { nodes: [Post!]! pageInfo: PageInfo! }
type CommentConnection { nodes: [Comment!]! }
type PageInfo { hasNextPage: Boolean! }
type Post { id: ID! caption: String imageUrl: String! createdAt: DateTime! likeCount: Int! commentCount: Int!
  author: User comments(first: Int): CommentConnection }
type Comment { id: ID! content: String! createdAt: DateTime! author: User }
type User { id: ID! username: String! displayName: String }
"""


class Society:
    """Returns the records as the table would."""

    def __init__(self, posts: int = PAGE, comments: int = COMMENTS, people: int = PEOPLE) -> None:
        chance = random.Random(7)
        when = "2026-01-31T12:00:00.000Z"
        stamps: dict[str, Any] = {"created_at": when, "updated_at": when}
        self.users = [
            _read(
                User(
                    user_id=_ulid(n), username=f"u{n}", email=f"u{n}@example.org", display_name=f"Person {n}", **stamps
                )
            )
            for n in range(people)
        ]
        self.posts = [
            _read(
                Post(
                    post_id=_ulid(1000 + n),
                    user_id=chance.choice(self.users).user_id,
                    image_url=f"https://example.org/{n}.jpg",
                    caption=f"Picture number {n}, taken on a walk.",
                    feed_shard=0,
                    like_count=n,
                    comment_count=comments + 1,
                    **stamps,
                )
            )
            for n in range(posts + 1)
        ]
        self.comments = {
            post.post_id: [self._comment(post, n, chance, stamps) for n in range(comments + 1)] for post in self.posts
        }

    def _comment(self, post: Post, number: int, chance: random.Random, stamps: dict[str, Any]) -> Comment:
        author = chance.choice(self.users).user_id
        comment = Comment(
            post_id=post.post_id, comment_id=_ulid(2000 + number), user_id=author, content="Well said.", **stamps
        )
        return _read(comment)


def _ulid(number: int) -> str:
    return f"01HEARTW00DBENCHMARK{number:06}"


def _read(record: Any) -> Any:
    return decode(record.encode())


class MemoryTable:
    """In-memory replacement for the table."""

    def __init__(self, society: Society) -> None:
        self.usage = Usage.lasting(86_400)
        self.items: dict[Key[Any], Entity | CorruptItem] = {user.own_key: user for user in society.users}
        self._pages: dict[str, Page[Any]] = {Post.in_feed(feed_shard=0).pk: Page(society.posts, None)}
        for post_id, comments in society.comments.items():
            self._pages[Comment.within(post_id=post_id).pk] = Page(comments, None)

    def using(self, usage: Usage) -> "MemoryTable":  # noqa: ARG002
        return self

    async def get_many(self, keys: list[Key[Any]], *, consistent: bool) -> dict[Key[Any], Any]:  # noqa: ARG002
        return {key: self.items.get(key) for key in keys}

    async def get_batch(self, keys: list[Key[Any]], **_: Any) -> dict[Key[Any], Any]:
        return {key: self.items.get(key) for key in keys}

    async def query_or_error(self, read: RangeRead, **_: Any) -> Page[Any]:
        return self._pages[read.within.pk]

    async def query_many(self, reads: list[RangeRead], *, consistent: bool) -> dict[RangeRead, Page[Any]]:  # noqa: ARG002
        return {read: self._pages[read.within.pk] for read in reads}


class Ours:
    def __init__(self, table: MemoryTable, *, compiled: bool, query: str = QUERY) -> None:
        self._table: Any = table
        self._query = query
        self._executor = Executor(build()._schema, Limits(), compiled=compiled)
        self._nothing: Any = None
        self._cursors = Cursors("a secret of no consequence at all")

    async def run(self) -> Any:
        context = RequestContext(
            load=Loaders(self._table, ANONYMOUS),
            tokens=self._nothing,
            passwords=self._nothing,
            mail=self._nothing,
            email_codes=self._nothing,
            security_counts=self._nothing,
            views=self._nothing,
            hidden_accounts=self._nothing,
            viewer_states=self._nothing,
            client_address="",
            options=Options(1, 1),
            search_index=self._nothing,
            cursors=self._cursors,
        )
        answer = await self._executor.run(GraphQLRequest(self._query), context, may_mutate=False)
        return answer.body


class Node:
    """graphql-js and graphql-jit in a child process."""

    def __init__(self, society: Society) -> None:
        command = [shutil.which("node") or "node", str(NODE)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._say({"schema": SDL, "query": QUERY, **_as_json(society)})

    def measure(self, name: str, runs: int) -> tuple[float, Any]:
        self._say({"name": name, "runs": runs})
        assert self._process.stdout is not None
        told = json.loads(self._process.stdout.readline())
        return told["ms"], told["answer"]

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def _say(self, what: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()


def _as_json(society: Society) -> dict[str, Any]:
    def plain(record: Entity) -> dict[str, Any]:
        return {field.attribute: getattr(record, name) for name, field in record.fields.items()}

    return {
        "users": [plain(user) for user in society.users],
        "posts": [plain(post) for post in society.posts],
        "comments": [
            {"postId": post_id, "comments": [plain(comment) for comment in comments]}
            for post_id, comments in society.comments.items()
        ],
    }


def measure(runner: asyncio.Runner, run: Callable[[], Awaitable[Any]], runs: int) -> tuple[float, Any]:
    async def all_runs() -> Any:
        for _ in range(runs):
            answer = await run()
        return answer

    begun = time.process_time()
    answer = runner.run(all_runs())
    return (time.process_time() - begun) * 1000 / runs, answer


def compare(rounds: int, runs: int) -> dict[str, float]:
    """Returns milliseconds of CPU per execution: medians of alternating rounds."""
    from uvloop import new_event_loop

    society = Society()
    node = Node(society)
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        table = MemoryTable(society)
        plans, reference = Ours(table, compiled=True), Ours(table, compiled=False)
        executors: dict[str, Callable[[int], tuple[float, Any]]] = {
            "Heartwood": lambda runs: measure(runner, plans.run, runs),
            "graphql-jit": lambda runs: node.measure("graphql-jit", runs),
            "graphql-js": lambda runs: node.measure("graphql-js", runs),
            "graphql-core": lambda runs: measure(runner, reference.run, max(1, runs // 20)),
        }
        answers = {name: execute(runs)[1] for name, execute in executors.items()}
        for name, answer in answers.items():
            if answer != answers["Heartwood"]:
                raise AssertionError(f"{name} returns a different response")
        garbage_collection.settle()
        times: dict[str, list[float]] = {name: [] for name in executors}
        for _ in range(rounds):
            for name, execute in executors.items():
                times[name].append(execute(runs)[0])
    node.close()
    return {name: median(each) for name, each in times.items()}


def render(found: dict[str, float]) -> str:
    lines = ["| | CPU, ms | |", "|---|---:|---|"]
    for name, milliseconds in found.items():
        lines.append(f"| {name} | {milliseconds:.2f} | {_verdict(name, found)} |")
    return "\n".join(lines)


def _verdict(name: str, found: dict[str, float]) -> str:
    if name not in TARGETS:
        return ""
    ratio = found["Heartwood"] / found[name]
    met = "met" if ratio <= TARGETS[name] else "**not met**"
    return f"Heartwood ÷ this: {ratio:.2f} (target {TARGETS[name]:g}), {met}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.execution", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7, help="alternating rounds of each (7)")
    parser.add_argument("--runs", type=int, default=400, help="executions per round (400)")
    parser.add_argument("--write", action="store_true", help="write results.json and docs/performance.md")
    arguments = parser.parse_args()
    found = compare(arguments.rounds, arguments.runs)
    print(render(found))
    if arguments.write:
        results.keep("execution", {"ms": found})
        results.put_into_docs("execution", render(found))
        history.remember({"execution": {f"÷ {name}": round(found["Heartwood"] / found[name], 3) for name in TARGETS}})
    return 0


if __name__ == "__main__":
    sys.exit(main())
