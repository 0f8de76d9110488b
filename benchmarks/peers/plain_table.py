"""Table access of the plain Strawberry peer: boto3 in threads and Strawberry's DataLoaders."""

import asyncio
import os
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, overload

import boto3
from botocore.config import Config
from graphql import GraphQLError
from strawberry.dataloader import DataLoader

Item = dict[str, Any]
Key = dict[str, Any]

TABLE = os.environ.get("TABLE_NAME", "heartwood")
BATCH = 100
REFILL = 100
READS_A_PAGE = 10

client = boto3.client(
    "dynamodb",
    region_name="us-east-1",
    endpoint_url=os.environ.get("DYNAMODB_ENDPOINT"),
    aws_access_key_id="local",
    aws_secret_access_key="local",
    config=Config(retries={"mode": "standard"}, max_pool_connections=64),
)


class Range(NamedTuple):
    """A range of records in order, or a page of it."""

    index: str | None
    pk: str
    prefix: str
    newest_first: bool = False
    limit: int = 0
    start: tuple[tuple[str, str], ...] | None = None


def key_of(pk: str, sk: str) -> Key:
    return {"PK": {"S": pk}, "SK": {"S": sk}}


def encode_id(*parts: str) -> str:
    return urlsafe_b64encode("#".join(parts).encode()).decode().rstrip("=")


@overload
def parts_of(id: str) -> list[str]: ...
@overload
def parts_of(id: str, entity: str) -> str: ...
def parts_of(id: str, entity: str | None = None) -> list[str] | str:
    """Decodes an ID; with the name of an entity, returns the only value of its key."""
    name, *values = urlsafe_b64decode(id + "=" * (-len(id) % 4)).decode().split("#")
    if entity is None:
        return [name, *values]
    if name != entity or not values:
        raise GraphQLError(f"{id} is not the id of a {entity}")
    return values[0]


def get_item(key: Key, *, consistent: bool = False) -> Item | None:
    item: Item | None = client.get_item(TableName=TABLE, Key=key, ConsistentRead=consistent).get("Item")
    return item


def get_items(keys: list[Key]) -> list[Item | None]:
    """Returns items in the order of the keys, which must be unique."""
    if len(keys) == 1:
        return [get_item(keys[0])]
    found: dict[tuple[str, str], Item] = {}
    wanted: dict[str, Any] = {TABLE: {"Keys": keys}}
    while wanted:
        answer = client.batch_get_item(RequestItems=wanted)
        for item in answer["Responses"][TABLE]:
            found[item["PK"]["S"], item["SK"]["S"]] = item
        wanted = answer.get("UnprocessedKeys") or {}
    return [found.get((key["PK"]["S"], key["SK"]["S"])) for key in keys]


def query(within: Range) -> tuple[list[Item], tuple[tuple[str, str], ...] | None]:
    """Returns a page and the start of the next one."""
    name = within.index or ""
    request: dict[str, Any] = {
        "TableName": TABLE,
        "KeyConditionExpression": "#pk = :pk AND begins_with(#sk, :sk)",
        "ExpressionAttributeNames": {"#pk": f"{name}PK", "#sk": f"{name}SK"},
        "ExpressionAttributeValues": {":pk": {"S": within.pk}, ":sk": {"S": within.prefix}},
        "ScanIndexForward": not within.newest_first,
        "Limit": within.limit,
    }
    if within.index:
        request["IndexName"] = within.index
    if within.start:
        request["ExclusiveStartKey"] = {attribute: {"S": value} for attribute, value in within.start}
    answer = client.query(**request)
    last = answer.get("LastEvaluatedKey")
    return answer["Items"], tuple((name, value["S"]) for name, value in last.items()) if last else None


def is_there(item: Item | None) -> bool:
    """Returns True if the item has expired; DynamoDB removes it up to days later."""
    return item is not None and ("expiresAt" not in item or int(item["expiresAt"]["N"]) > time.time())


def is_listed(item: Item | None) -> bool:
    return item is not None and is_there(item) and "deletedAt" not in item and "hiddenAt" not in item


class Context:
    """Context of a request: the viewer and its DataLoaders."""

    def __init__(self, viewer_id: str | None) -> None:
        self.viewer_id = viewer_id
        self.users = _by_id(lambda user_id: key_of(f"USER#{user_id}", "PROFILE"), self.may_see_user)
        self.posts = _by_id(lambda post_id: key_of(f"POST#{post_id}", "METADATA"), is_listed)
        self.likes = _by_id(lambda post_id: key_of(f"POST#{post_id}", f"LIKE#{viewer_id}"), is_there)
        self.counters = _by_id(lambda key: key_of(*key.split(" ")), is_there)
        self.ranges = DataLoader(load_fn=_read_ranges)

    def may_see_user(self, item: Item | None) -> bool:
        return (
            is_there(item) and item is not None and ("deletedAt" not in item or item["userId"]["S"] == self.viewer_id)
        )

    async def page(
        self, within: Range, size: int, see: Callable[[list[Item]], Awaitable[list[Any]]]
    ) -> tuple[list[Any], bool]:
        """Returns the first visible records, and True if there are more. Reads one extra record to find out."""
        nodes: list[Any] = []
        start = None
        for read in range(READS_A_PAGE):
            items, start = await self.ranges.load(within._replace(limit=REFILL if read else size + 1, start=start))
            nodes += await see(items)
            if len(nodes) > size or start is None:
                break
        return nodes[:size], len(nodes) > size or start is not None

    async def total(self, post: Item, name: str) -> int:
        base = int(post[name]["N"]) if name in post else 0
        if "counterShards" not in post:
            return base
        shards = range(int(post["counterShards"]["N"]))
        shares = await self.counters.load_many([f"{post['PK']['S']} COUNTER#{shard}" for shard in shards])
        return base + sum(int(share[name]["N"]) for share in shares if share and name in share)


def _by_id(key: Callable[[str], Key], may_see: Callable[[Item | None], bool]) -> DataLoader[str, Item | None]:
    async def read(ids: list[str]) -> list[Item | None]:
        items = await asyncio.to_thread(get_items, [key(id) for id in ids])
        return [item if may_see(item) else None for item in items]

    return DataLoader(load_fn=read, max_batch_size=BATCH)


async def _read_ranges(ranges: list[Range]) -> list[Any]:
    """Resolves queries of one batch together, so that the loads they lead to are one batch again."""
    return list(await asyncio.gather(*(asyncio.to_thread(query, within) for within in ranges)))
