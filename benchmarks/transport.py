"""Measures CPU per call of our transport and of boto3, on the same engine, from keys to decoded records.

Counts only the CPU time of this process, not the time of the engine or the time spent waiting for it.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any

import boto3
from botocore.config import Config

from datastore.accounts import Image, ProfileImages, User
from datastore.client.budget import Usage
from datastore.client.table import Table
from datastore.client.transport import Transport
from datastore.client.writes import key_attributes
from datastore.local import engine, provision
from datastore.local.endpoint import LOCAL_REGION
from datastore.model.entity import Entity, decode
from datastore.model.keys import Key
from schema.http import garbage_collection

TABLE = "benchmark"

try:
    from uvloop import new_event_loop
except ImportError:
    new_event_loop = asyncio.new_event_loop


@dataclass(frozen=True)
class Operation:
    """An operation with our implementation, boto3's, and the target share of boto3's CPU."""

    name: str
    calls: int
    target: float
    ours: Callable[[], Awaitable[list[Any]]]
    theirs: Callable[[], list[Any]]


def person(number: int) -> User:
    """Returns users with every field set."""
    name = f"person{number:04}"
    joined = f"2026-01-{1 + number % 28:02}T09:{number % 60:02}:00.{number % 1000:03}Z"
    return User(
        user_id=f"01HEARTW00DPERS0N0000{number:05}",
        username=name,
        email=f"{name}@example.org",
        password_hash="$2b$12$C6UzMDM.H6dfI/f/IKcEeO7ZbDqQm8QzZbXx0n5vYk3b1x5mJ8W2u",
        external_subject=f"auth0|{number:024x}",
        bluesky_handle=f"{name}.bsky.social",
        bluesky_did=f"did:plc:{number:024x}",
        display_name=f"Person Number {number}",
        profile_images=ProfileImages(avatar=Image(url=f"https://example.org/people/{name}.jpg", size="large")),
        bio="Runs the repair café on Alder Street. Ask me about hinges, hardwood and how to sharpen a plane.",
        follower_count=number * 7,
        following_count=number * 3,
        post_count=number,
        created_at=joined,
        updated_at=joined,
    )


def operations(table: Table, client: Any, people: list[User], sizes: argparse.Namespace) -> list[Operation]:
    keys: list[Key[User]] = [user.own_key for user in people]
    batch = keys[: sizes.batch]
    within = User.by_time().newest_first()

    async def our_get() -> list[Any]:
        return [await table.get(keys[0])]

    async def our_batch() -> list[Any]:
        return list((await table.get_many(batch)).values())

    async def our_query() -> list[Any]:
        return list((await table.query(within, limit=sizes.page)).records)

    def their_get() -> list[Any]:
        answer = client.get_item(TableName=TABLE, Key=key_attributes(keys[0]), ReturnConsumedCapacity="TOTAL")
        return [decode(answer["Item"])]

    def their_batch() -> list[Any]:
        wanted = {TABLE: {"Keys": [key_attributes(key) for key in batch]}}
        answer = client.batch_get_item(RequestItems=wanted, ReturnConsumedCapacity="TOTAL")
        found = {(item["PK"]["S"], item["SK"]["S"]): decode(item) for item in answer["Responses"][TABLE]}
        return [found[key.pk, key.sk] for key in batch]

    def their_query() -> list[Entity]:
        answer = client.query(
            TableName=TABLE,
            IndexName=within.index_name,
            KeyConditionExpression="#pk = :pk",
            ExpressionAttributeNames={"#pk": "GSI4PK"},
            ExpressionAttributeValues={":pk": {"S": within.pk}},
            ScanIndexForward=False,
            Limit=sizes.page,
            ReturnConsumedCapacity="TOTAL",
        )
        return [decode(item) for item in answer["Items"]]

    return [
        Operation("GetItem", sizes.calls, 1 / 4, our_get, their_get),
        Operation(f"BatchGetItem of {sizes.batch}", max(1, sizes.calls // 10), 1 / 6, our_batch, their_batch),
        Operation(f"Query of {sizes.page}", max(1, sizes.calls // 4), 1 / 5, our_query, their_query),
    ]


def measure(runner: asyncio.Runner, operation: Operation, rounds: int) -> tuple[float, float]:
    """Returns milliseconds of CPU per call, ours and boto3's: medians of alternating rounds."""

    async def our_round() -> None:
        for _ in range(operation.calls):
            await operation.ours()

    def their_round() -> None:
        for _ in range(operation.calls):
            operation.theirs()

    if runner.run(_as_coroutine(operation.ours())) != operation.theirs():
        raise AssertionError(f"{operation.name}: the results differ")
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(_cpu(lambda: runner.run(our_round())) / operation.calls)
        theirs.append(_cpu(their_round) / operation.calls)
    return median(ours) * 1000, median(theirs) * 1000


async def _as_coroutine(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


def _cpu(run: Callable[[], None]) -> float:
    begun = time.process_time()
    run()
    return time.process_time() - begun


@contextmanager
def boto3_client(endpoint: str) -> Iterator[Any]:
    client = boto3.client(
        "dynamodb",
        region_name=LOCAL_REGION,
        endpoint_url=endpoint,
        aws_access_key_id="local",
        aws_secret_access_key="local",
        config=Config(retries={"mode": "standard"}),
    )
    yield client
    client.close()


def run(endpoint: str, sizes: argparse.Namespace) -> None:
    provision.connect(endpoint, LOCAL_REGION).create_table(**provision.definition(TABLE, stream=False))
    people = [person(number) for number in range(max(sizes.batch, sizes.page))]
    with asyncio.Runner(loop_factory=new_event_loop) as runner, boto3_client(endpoint) as client:
        transport = Transport(region=LOCAL_REGION, endpoint=endpoint)
        table = Table(transport, TABLE, Usage.lasting(86_400))
        runner.run(table.batch_write(puts=people))
        garbage_collection.settle()
        print(f"{'operation':<22}{'ours ms':>9}{'boto3 ms':>10}{'ratio':>8}{'target':>8}  met")
        for operation in operations(table, client, people, sizes):
            ours, theirs = measure(runner, operation, sizes.rounds)
            met = "yes" if ours / theirs <= operation.target else "NO"
            target = f"1/{1 / operation.target:.0f}"
            print(f"{operation.name:<22}{ours:>9.3f}{theirs:>10.3f}{f'1/{theirs / ours:.1f}':>8}{target:>8}  {met}")
        runner.run(transport.close())


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.transport", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7, help="alternating rounds of each (7)")
    parser.add_argument(
        "--calls", type=int, default=400, help="GetItem calls per round; other operations in proportion (400)"
    )
    parser.add_argument(
        "--batch", type=int, default=100, choices=range(2, 101), metavar="2..100", help="keys per batch (100)"
    )
    parser.add_argument("--page", type=int, default=20, help="records per query (20)")
    sizes = parser.parse_args()
    try:
        with engine.in_memory(moto=False) as running:
            run(running.endpoint, sizes)
    except engine.EngineFailed as error:
        print(error, file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
