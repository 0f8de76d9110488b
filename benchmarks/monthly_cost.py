"""Computes what a month costs in AWS at three sizes, from the read and write units of what users do.

Units are measured: each action runs on the demo data of a local engine, with the processors of its changes. Prices are
inputs, because they change and differ by region. Check them before you rely on a figure:
https://aws.amazon.com/dynamodb/pricing/ and https://aws.amazon.com/fargate/pricing/
"""

import argparse
import asyncio
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from datastore.client import transport
from datastore.client.budget import Usage
from datastore.local import engine
from datastore.local.endpoint import LOCAL_REGION, Place
from loaders.viewer import ANONYMOUS, Viewer
from resolvers import demo
from schema.http.protocol import GraphQLRequest
from schema.http.services import Services
from schema.http.settings import Settings

DAYS = 30
SECRET = "uT7-qPz0_vB3xKd9LsW2mYc6RgHn4JfE1oAi8XtQ"


@dataclass(frozen=True)
class Prices:
    """US dollars, on demand, in us-east-1, as of November 2024. Check them: they are not updated."""

    read_million: float = 0.125
    """A million read request units."""
    write_million: float = 0.625
    """A million write request units."""
    storage_gb: float = 0.25
    """A gigabyte of the table and its indexes, for a month."""
    recovery_gb: float = 0.20
    """A gigabyte of the table with point-in-time recovery."""
    backup_gb: float = 0.10
    """A gigabyte of a backup."""
    export_gb: float = 0.10
    """A gigabyte exported to S3."""
    s3_gb: float = 0.023
    stream_million: float = 0.20
    """A million reads of the stream."""
    fargate_vcpu_hour: float = 0.04048
    fargate_gb_hour: float = 0.004445
    balancer_hour: float = 0.0225
    balancer_unit_hour: float = 0.008
    logs_gb: float = 0.50
    transfer_gb: float = 0.09
    key_month: float = 1.0
    alarm_month: float = 0.10


@dataclass(frozen=True)
class Action:
    """Something that a user does, how often on a day, and what it stores and returns in kilobytes."""

    name: str
    query: str
    per_day: float
    stored: float = 0.0
    """With all indexes that its items are in."""
    response: float = 1.0
    """Compressed."""
    input: Callable[[str], dict[str, Any]] | None = None
    """Input of a mutation, with the ID of a post."""
    copies: int = 0
    """Items that processors write in production, and not in the demo: to the feeds of 50 followers."""


POSTS = (
    "nodes { id caption likeCount author { username } comments(first: 3) { nodes { content author { username } } } }"
)
PICTURE = "https://example.org/picture.jpg"
ACTIONS = (
    Action("open the feed", f"{{ feed(first: 20) {{ {POSTS} }} }}", 10, response=8),
    Action(
        "open a profile", f"{{ viewer {{ username followerCount posts(first: 10) {{ {POSTS} }} }} }}", 5, response=4
    ),
    Action("read names of users", "{ users(first: 20) { nodes { username displayName } } }", 15, response=2),
    Action(
        "publish a post",
        "mutation ($input: CreatePostInput!) { createPost(input: $input) { post { id } } }",
        0.2,
        stored=12,
        input=lambda _: {"imageUrl": PICTURE, "caption": "A chair with a new seat."},
        copies=50,
    ),
    Action(
        "comment",
        "mutation ($input: AddCommentInput!) { addComment(input: $input) { problems { code } } }",
        0.5,
        stored=3,
        input=lambda post: {"postId": post, "content": "How did you do that?"},
    ),
    Action(
        "like",
        "mutation ($input: LikePostInput!) { likePost(input: $input) { problems { code } } }",
        3,
        stored=2,
        input=lambda post: {"postId": post},
    ),
    Action(
        "sign in",
        "mutation ($input: LogInInput!) { logIn(input: $input) { token } }",
        1,
        stored=1,
        input=lambda _: {"login": "maya", "password": demo.PASSWORD},
    ),
)


@dataclass(frozen=True)
class Units:
    reads: float
    writes: float


async def measured(place: Place) -> dict[str, Units]:
    """Returns the units of each action, with those of the processors of its changes."""
    services = Services.at(place, Settings(table_name="cost", auth_secret=SECRET, rate_limits="off"), SECRET)
    total = Usage.lasting(0)
    record = transport._record

    def counted(operation: str, answer: Any, usage: Usage) -> None:
        record(operation, answer, usage)
        record(operation, answer, total)

    transport._record = counted
    await demo.load(services.table.using(Usage.lasting(120)), services.passwords)
    await services.changes.settle()
    post_of = "{ feed(first: 3) { nodes { id } } }"
    answer = await _run(services, post_of, None, ANONYMOUS)
    post = answer["data"]["feed"]["nodes"][2]["id"]
    found = {}
    for action in ACTIONS:
        await services.changes.settle()
        total.read_units = total.write_units = 0.0
        await _run(services, action.query, action.input(post) if action.input else None, Viewer(demo.MAYA))
        if action.input:
            await services.changes.settle()
        found[action.name] = Units(total.read_units, total.write_units + action.copies)
    transport._record = record
    await services.close()
    return found


async def _run(services: Services, query: str, given: dict[str, Any] | None, viewer: Viewer) -> dict[str, Any]:
    request = GraphQLRequest(query, {"input": given} if given else {})
    answer = await services.executor.run(request, services.context_of(viewer), may_mutate=True)
    if "errors" in answer.body:
        raise SystemExit(f"{query}: {answer.body}")
    return answer.body


@dataclass(frozen=True)
class Size:
    name: str
    users: int
    """Active in a day."""
    tasks: int
    """Fargate tasks of 1 vCPU and 2 GB, on average."""
    months_stored: int


SIZES = (Size("small", 500, 1, 12), Size("medium", 20_000, 3, 12), Size("large", 500_000, 40, 12))


def monthly(size: Size, units: dict[str, Units], prices: Prices) -> dict[str, float]:
    """Returns US dollars by kind of cost."""
    times = size.users * DAYS
    reads = times * sum(units[each.name].reads * each.per_day for each in ACTIONS)
    writes = times * sum(units[each.name].writes * each.per_day for each in ACTIONS)
    requests = times * sum(each.per_day for each in ACTIONS)
    gigabytes = times * sum(each.stored * each.per_day for each in ACTIONS) / 1e6 * size.months_stored
    out = times * sum(each.response * each.per_day for each in ACTIONS) / 1e6
    # The stream has few shards at these sizes, each of which is read four times a second.
    shards = max(1, writes / DAYS / 86_400 / 1_000)
    hours = DAYS * 24
    return {
        "reads": reads / 1e6 * prices.read_million,
        "writes": writes / 1e6 * prices.write_million,
        "storage": gigabytes * prices.storage_gb,
        "recovery and backups": gigabytes * (prices.recovery_gb + 2 * prices.backup_gb),
        "daily exports": gigabytes * DAYS * prices.export_gb + gigabytes * DAYS * prices.s3_gb,
        "stream": shards * 4 * 86_400 * DAYS / 1e6 * prices.stream_million,
        "servers": size.tasks * hours * (prices.fargate_vcpu_hour + 2 * prices.fargate_gb_hour),
        "load balancer": hours
        * (prices.balancer_hour + prices.balancer_unit_hour * max(1, requests / hours / 3600 / 25)),
        "logs": requests * 0.6 / 1e6 * prices.logs_gb,
        "transfer": out * prices.transfer_gb,
        "key and alarms": prices.key_month + 30 * prices.alarm_month,
    }


def table(units: dict[str, Units], prices: Prices) -> str:
    costs = {size: monthly(size, units, prices) for size in SIZES}
    totals = {size: sum(costs[size].values()) for size in SIZES}
    lines = [
        "| action | times a day and user | read units | write units |",
        "|---|---:|---:|---:|",
        *(
            f"| {each.name} | {each.per_day:g} | {units[each.name].reads:g} | {units[each.name].writes:g} |"
            for each in ACTIONS
        ),
        "",
        "| US dollars | " + " | ".join(f"{size.name}: {size.users:,} users a day" for size in SIZES) + " |",
        "|---|" + "---:|" * len(SIZES),
        *(
            f"| {kind} | " + " | ".join(f"{costs[size][kind]:,.2f}" for size in SIZES) + " |"
            for kind in costs[SIZES[0]]
        ),
        "| **a month** | " + " | ".join(f"**{totals[size]:,.0f}**" for size in SIZES) + " |",
        "| a month, for each user of a day | " + " | ".join(f"{totals[s] / s.users:,.4f}" for s in SIZES) + " |",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for field in fields(Prices):
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=float, default=field.default, metavar="USD")
    given = parser.parse_args()
    with engine.in_memory(moto=False) as local:
        place = Place(local.endpoint, LOCAL_REGION, keeps_data=False, has_own_engine=True)
        place.ensure_table("cost")
        units = asyncio.run(measured(place))
    print(table(units, Prices(**{field.name: getattr(given, field.name) for field in fields(Prices)})))


if __name__ == "__main__":
    main()
