"""The table's stream: shards and records, read with boto3 in a few threads, and what a record means as a change."""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

from datastore.changes.change import Change, What, is_logged
from datastore.client.budget import Usage
from datastore.client.table import Table
from datastore.client.writes import index_keys
from datastore.model.entity import REGISTRY, entity_name
from datastore.model.keys import Key
from datastore.model.times import as_time

StreamsClient = Any  # boto3 creates client classes at run time

THREADS = 8
RECORDS_READ = 1000
TIME_TO_FIND = 10.0
VIEW = "NEW_AND_OLD_IMAGES"
TTL = {"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"}
KINDS = {"INSERT": What.INSERTED, "MODIFY": What.CHANGED, "REMOVE": What.REMOVED}

R = TypeVar("R")


class StreamFailed(Exception):
    """A call failed. Retry it later."""


class NoStream(StreamFailed):
    """The table has no stream with both images."""


class IteratorExpired(StreamFailed):
    """The iterator is over 15 minutes old. Get a new one."""


class Trimmed(StreamFailed):
    """The records at this position were removed before they were read."""


class ShardGone(StreamFailed):
    """The shard was removed with all of its records."""


BY_CODE: Mapping[str, type[StreamFailed]] = {
    "ExpiredIteratorException": IteratorExpired,
    "TrimmedDataAccessException": Trimmed,
    "ResourceNotFoundException": ShardGone,
}


class Shard(NamedTuple):
    """A part of the stream. Its records come after those of its parent."""

    shard_id: str
    parent_id: str | None


class Read(NamedTuple):
    """A record of a shard. `change` is None if the log does not need it."""

    position: str
    at: float
    change: Change | None


class ReadBatch(NamedTuple):
    """Records in order, and the iterator of the next ones, or None at the end of a closed shard."""

    reads: list[Read]
    iterator: str | None


class Stream:
    """A stream of the table. Calls wait for one of a few threads."""

    def __init__(self, client: StreamsClient, arn: str, threads: Executor) -> None:
        self.arn = arn
        # True while an operation on the whole table follows every change, of bookkeeping too.
        self.everything = False
        self._client = client
        self._threads = threads

    @property
    def label(self) -> str:
        """Its part of the ARN, which distinguishes it from earlier streams of the table."""
        return self.arn.rpartition("/")[2]

    async def shards(self) -> list[Shard]:
        """Returns the shards that have records: those of the last 24 hours."""
        return await self._run(self._shards)

    async def iterator(self, shard_id: str, after: str | None) -> str:
        """Returns an iterator of the records after a position, or of all that are left."""
        return await self._run(self._iterator, shard_id, after)

    async def records(self, iterator: str) -> ReadBatch:
        return await self._run(self._records, iterator)

    async def _run(self, function: Callable[..., R], *arguments: Any) -> R:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, function, *arguments)
        except ClientError as error:
            kind = BY_CODE.get(error.response.get("Error", {}).get("Code", ""), StreamFailed)
            raise kind(str(error)) from error
        except BotoCoreError as error:
            raise StreamFailed(str(error)) from error

    def _shards(self) -> list[Shard]:
        shards: dict[str, Shard] = {}
        start: dict[str, str] = {}
        while True:
            answer = self._client.describe_stream(StreamArn=self.arn, **start)["StreamDescription"]
            if answer.get("StreamViewType") != VIEW:
                raise NoStream(f"the view type of the stream is {answer.get('StreamViewType')}, needs to be {VIEW}")
            for shard in answer["Shards"]:
                shards[shard["ShardId"]] = Shard(shard["ShardId"], shard.get("ParentShardId"))
            last = answer.get("LastEvaluatedShardId")
            if not last:
                return [*shards.values()]
            start = {"ExclusiveStartShardId": last}

    def _iterator(self, shard_id: str, after: str | None) -> str:
        place: dict[str, str] = {"ShardIteratorType": "TRIM_HORIZON"}
        if after is not None:
            place = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": after}
        answer = self._client.get_shard_iterator(StreamArn=self.arn, ShardId=shard_id, **place)
        return str(answer["ShardIterator"])

    def _records(self, iterator: str) -> ReadBatch:
        # Decoded here, because in this thread it does not delay requests as long, and images take far more memory.
        answer = self._client.get_records(ShardIterator=iterator, Limit=RECORDS_READ)
        return ReadBatch(
            [read_from(record, everything=self.everything) for record in answer["Records"]],
            answer.get("NextShardIterator"),
        )


def threads() -> Executor:
    return ThreadPoolExecutor(THREADS, thread_name_prefix="stream")


async def arn_of(table: Table) -> str:
    """Returns the ARN of the table's latest stream. Raises NoStream if there is none."""
    usage = Usage.lasting(TIME_TO_FIND)
    found = (await table.transport.call("DescribeTable", {"TableName": table.name}, usage))["Table"]
    if not found.get("StreamSpecification", {}).get("StreamEnabled") or not found.get("LatestStreamArn"):
        raise NoStream(
            f"the table {table.name} has no stream; enable one with the view type {VIEW}, or set CHANGES=outbox"
        )
    return str(found["LatestStreamArn"])


def read_from(record: Mapping[str, Any], *, everything: bool = False) -> Read:
    """Reads a record. Bookkeeping, unknown entities and writes that changed nothing are no changes."""
    data = record["dynamodb"]
    at = data["ApproximateCreationDateTime"]
    return Read(str(data["SequenceNumber"]), at.timestamp(), _change(record, data, at, everything))


def _change(record: Mapping[str, Any], data: Mapping[str, Any], at: Any, everything: bool) -> Change | None:
    old, new = data.get("OldImage") or {}, data.get("NewImage") or {}
    entity = REGISTRY.get(entity_name(new or old))
    what = KINDS.get(record["eventName"])
    if entity is None or what is None or not is_logged(entity, everything=everything) or old == new:
        return None
    key: Key[Any] = Key(entity, data["Keys"]["PK"]["S"], data["Keys"]["SK"]["S"])
    expired = what is What.REMOVED and (record.get("userIdentity") or {}) == TTL
    return Change(key, what, as_time(at), index_keys(old), index_keys(new), expired)
