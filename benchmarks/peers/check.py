"""Checks before timing: all servers return the same responses. Counts their DynamoDB calls."""

import asyncio
import difflib
import json
import tempfile
from dataclasses import dataclass
from typing import Any

import orjson

from benchmarks.peers.asking import LIKE, Asker, Request
from benchmarks.peers.counting import CountingProxy, counting
from benchmarks.peers.load import Job, carry_out
from benchmarks.peers.scenarios import Scenario
from benchmarks.peers.servers import Running, Server, running
from datastore.client.table import Table
from datastore.social import Like, Post
from schema.declare.ids import key_of

REPEATS = 3
COUNTED_FOR = 0.2
MOST_LIKES = 1_000

Calls = dict[str, int]


class Differs(Exception):
    """Two servers return different responses."""


@dataclass(frozen=True)
class Checked:
    """A server's responses by query, in the order of the variables, and the calls of the first one."""

    answers: dict[str, list[Any]]
    calls: dict[str, Calls]
    calls_under_load: dict[str, dict[str, float]]


async def check(
    servers: list[Server],
    queries: list[str],
    asker: Asker,
    table: Table,
    endpoint: str,
    *,
    counted: tuple[Scenario, ...] = (),
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the calls of one request by server and query, and the mean number of calls in the counted scenarios."""
    checked: dict[str, Checked] = {}
    async with counting(endpoint) as proxy:
        for server in servers:
            with tempfile.TemporaryFile("w+") as errors:
                checked[server.name] = await _check_one(server, queries, asker, table, proxy, errors, counted)
            print(f"  {server.title} answers all queries", flush=True)
    first, *others = servers
    for other in others:
        for query in queries:
            _compare(query, first, checked[first.name], other, checked[other.name])
    under_load = {name: found.calls_under_load for name, found in checked.items() if found.calls_under_load}
    return {name: found.calls for name, found in checked.items()}, under_load


async def _check_one(
    server: Server,
    queries: list[str],
    asker: Asker,
    table: Table,
    proxy: CountingProxy,
    errors: Any,
    counted: tuple[Scenario, ...],
) -> Checked:
    answers: dict[str, list[Any]] = {}
    under_load: dict[str, dict[str, float]] = {}
    calls: dict[str, Calls] = {}
    # Starts the server in a thread, because the proxy runs on this event loop.
    manager = running(server, proxy.endpoint, table.name, errors)
    started = await asyncio.to_thread(manager.__enter__)
    try:
        for query in queries:
            if query == LIKE:
                answers[query], calls[query] = await _like(started, asker, table, proxy)
            else:
                requests = asker.compared(query)
                calls[query] = await _counted(started, asker, requests[0], proxy)
                answers[query] = [_whole(query, await asker.ask(started, request)) for request in requests]
            answers[query] += [await asker.ask(started, request) for request in asker.corners(query)]
        if server.shares_reads:
            for scenario in counted:
                under_load[scenario.name] = {
                    query: await _counted_under_load(started, asker, query, scenario, proxy) for query in queries
                }
    except Exception:
        errors.seek(0)
        print(errors.read()[-4000:])
        raise
    finally:
        await asyncio.to_thread(manager.__exit__, None, None, None)
    return Checked(answers, calls, under_load)


async def _counted(started: Running, asker: Asker, request: Request, proxy: CountingProxy) -> Calls:
    """Returns the minimum of several runs, because background work may add calls to one."""
    counts: list[Calls] = []
    for _ in range(REPEATS):
        proxy.calls.clear()
        await asker.ask(started, request)
        counts.append(dict(proxy.calls))
    return min(counts, key=lambda calls: sum(calls.values()))


async def _counted_under_load(
    started: Running, asker: Asker, query: str, scenario: Scenario, proxy: CountingProxy
) -> float:
    """Returns the mean number of calls per request."""
    plan = asker.plan(query, scenario, MOST_LIKES)
    assert plan is not None
    job = Job.of(started.url, query, plan, seconds=COUNTED_FOR, concurrency=scenario.concurrency)
    proxy.calls.clear()
    result = await carry_out(job)
    return round(proxy.calls.total() / result.count, 2)


async def _like(started: Running, asker: Asker, table: Table, proxy: CountingProxy) -> tuple[list[Any], Calls]:
    """Sends likes by users reserved for this server; compares the response and the like in the table.

    Not the notification: Heartwood's processor writes it afterwards, the others in the same transaction.
    """
    shapes, counts = [], []
    for _ in range(REPEATS):
        viewer, post_id = asker.next_like()
        post = await table.get(key_of(Post, post_id), consistent=True)
        assert post is not None
        proxy.calls.clear()
        answer = await asker.ask(started, asker.like_request(viewer, post_id))
        counts.append(dict(proxy.calls))
        liked = await table.get(Like.key(post_id=post.post_id, user_id=viewer), consistent=True)
        payload = answer["data"]["likePost"]
        said = (payload["post"]["id"], payload["post"]["likeCount"], payload["post"]["viewerHasLiked"])
        if said != (post_id, post.like_count + 1, True) or liked is None:
            raise Differs(f"{started.server.title} did not store the like on {post_id}: {answer}")
        payload["post"] |= {"id": "the post's", "likeCount": payload["post"]["likeCount"] - post.like_count}
        stored = [(name, None) for name in sorted(liked.encode())] if liked else []
        shapes.append(json.loads(json.dumps({"answer": answer, "like": stored})))
        again = await asker.ask(started, asker.like_request(viewer, post_id))
        shapes.append({"again": again["data"]["likePost"]["post"]["likeCount"] - post.like_count})
    return shapes, min(counts, key=lambda calls: sum(calls.values()))


def _whole(query: str, answer: Any) -> Any:
    """Raises if a response contains a null or an empty list: equal empty responses prove nothing."""
    text = orjson.dumps(answer)
    if b"null" in text or b"[]" in text:
        raise Differs(f"{query}: null or empty values in {text[:2000].decode()}")
    return answer


def _compare(query: str, one: Server, left: Checked, other: Server, right: Checked) -> None:
    for mine, theirs in zip(left.answers[query], right.answers[query], strict=True):
        if mine != theirs:
            lines = difflib.unified_diff(_lines(mine), _lines(theirs), one.title, other.title, lineterm="", n=3)
            raise Differs(f"{query}: {one.title} and {other.title} differ\n" + "\n".join(list(lines)[:60]))


def _lines(answer: Any) -> list[str]:
    return orjson.dumps(answer, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS).decode().splitlines()
