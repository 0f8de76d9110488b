"""Items as DynamoDB stores them: read, written and compared without decoding, so that damaged ones survive too."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from decimal import Decimal
from hashlib import blake2b
from itertools import count
from typing import Any, NamedTuple

import msgspec
import orjson
from msgspec import UNSET, Raw, Struct, UnsetType

from datastore.client.budget import Usage
from datastore.client.errors import Conflict, Throttled
from datastore.client.table import BATCH_GET_KEYS, BATCH_WRITE_ITEMS, Table
from datastore.model.responses import Batch, Listed, Text

TIME_FOR_ONE = 300.0
# DynamoDB takes 16 MB. Less keeps a call short.
BATCH_BYTES = 1_000_000
AT_ONCE = 8
DIGESTS = 2**128

Place = tuple[str, str]
"""PK and SK of an item."""


class _Head(Struct, gc=False):
    PK: Text
    SK: Text
    entityType: Text | UnsetType = UNSET  # noqa: N815  the name in DynamoDB


class _Number(Struct, gc=False):
    N: str | UnsetType = UNSET


class _Expiry(Struct, gc=False):
    expiresAt: _Number | UnsetType = UNSET  # noqa: N815  the name in DynamoDB


HEADS = msgspec.json.Decoder(_Head)
EXPIRIES = msgspec.json.Decoder(_Expiry)


class Head(NamedTuple):
    """The key of an item, and the name of its entity, empty if it has none."""

    pk: str
    sk: str
    kind: str

    @property
    def place(self) -> Place:
        return self.pk, self.sk


def head_of(item: Raw | bytes) -> Head:
    head = HEADS.decode(item)
    return Head(head.PK.S, head.SK.S, "" if head.entityType is UNSET else head.entityType.S)


def is_expired(item: Raw | bytes, moment: float) -> bool:
    """True if an item had expired by a moment, so that DynamoDB may delete it any time after."""
    expires_at = EXPIRIES.decode(item).expiresAt
    if expires_at is UNSET or expires_at.N is UNSET:
        return False
    return expires_at.N.isdigit() and 0 < int(expires_at.N) <= moment


class RawItems:
    """Reads and writes whole items of one table, patiently. Counts the units that this takes."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.read_units = 0.0
        self.write_units = 0.0

    async def get(self, places: Sequence[Place]) -> dict[Place, bytes]:
        """Returns the items that exist. Strongly consistent."""
        found: dict[Place, bytes] = {}
        for some in _chunks(places, BATCH_GET_KEYS):
            keys: list[Any] = [_key(place) for place in some]
            for attempt in count():
                request = {"RequestItems": {self.table.name: {"Keys": keys, "ConsistentRead": True}}}
                answer: Batch = await self._call("BatchGetItem", request)
                for item in answer.Responses.get(self.table.name, ()):
                    found[head_of(item).place] = bytes(memoryview(item))
                keys = ((answer.UnprocessedKeys or {}).get(self.table.name) or {}).get("Keys", [])
                if not keys:
                    break
                await self._pause(attempt, f"{len(keys)} keys remain unprocessed")
        return found

    async def write(self, puts: Iterable[bytes] = (), deletes: Iterable[Place] = ()) -> None:
        """Writes and deletes items without conditions, and waits for all of them."""
        requests: list[tuple[int, Any]] = [
            (len(item), {"PutRequest": {"Item": orjson.Fragment(item)}}) for item in puts
        ]
        requests += [(100, {"DeleteRequest": {"Key": _key(place)}}) for place in deletes]
        slots = asyncio.Semaphore(AT_ONCE)

        async def send(some: list[Any]) -> None:
            async with slots:
                await self._write_batch(some)

        await asyncio.gather(*map(send, _batches(requests)))

    async def put_if_absent(self, item: bytes) -> bool:
        """Returns False if there is an item with this key, which is left as it is."""
        request = {"Item": orjson.Fragment(item), "ConditionExpression": "attribute_not_exists(PK)"}
        try:
            await self._call("PutItem", request | {"TableName": self.table.name})
        except Conflict:
            return False
        return True

    async def partition(
        self, pk: str, *, index: str = "", prefix: str = "", consistent: bool = True
    ) -> AsyncIterator[list[Raw]]:
        """Yields the pages of one partition of the table or of an index, with items of all entities."""
        condition, values = f"{index}PK = :pk", {":pk": {"S": pk}}
        if prefix:
            condition, values = f"{condition} AND begins_with({index}SK, :sk)", {**values, ":sk": {"S": prefix}}
        request: dict[str, Any] = {
            "TableName": self.table.name,
            "KeyConditionExpression": condition,
            "ExpressionAttributeValues": values,
        }
        request |= {"IndexName": index} if index else {"ConsistentRead": consistent}
        while True:
            answer: Listed = await self._call("Query", request)
            yield answer.Items
            if not answer.LastEvaluatedKey:
                return
            request["ExclusiveStartKey"] = answer.LastEvaluatedKey

    async def _write_batch(self, requests: list[Any]) -> None:
        for attempt in count():
            answer = await self._call("BatchWriteItem", {"RequestItems": {self.table.name: requests}})
            requests = (answer.get("UnprocessedItems") or {}).get(self.table.name, [])
            if not requests:
                return
            await self._pause(attempt, f"{len(requests)} writes remain unprocessed")

    async def _call(self, operation: str, request: dict[str, Any]) -> Any:
        usage = Usage.lasting(TIME_FOR_ONE, is_patient=True)
        answer = await self.table.transport.call(operation, request | {"ReturnConsumedCapacity": "TOTAL"}, usage)
        self.read_units += usage.read_units
        self.write_units += usage.write_units
        return answer

    async def _pause(self, attempt: int, why: str) -> None:
        usage = Usage.lasting(TIME_FOR_ONE, is_patient=True)
        await self.table.transport.back_off(attempt, usage, Throttled(why))


def _key(place: Place) -> dict[str, Any]:
    return {"PK": {"S": place[0]}, "SK": {"S": place[1]}}


def _batches(requests: Iterable[tuple[int, Any]]) -> Iterator[list[Any]]:
    batch: list[Any] = []
    size = 0
    for length, request in requests:
        if batch and (len(batch) == BATCH_WRITE_ITEMS or size + length > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(request)
        size += length
    if batch:
        yield batch


def _chunks(places: Sequence[Place], size: int) -> Iterator[Sequence[Place]]:
    return (places[start : start + size] for start in range(0, len(places), size))


plain_number = re.compile(r"-?(0|[1-9][0-9]*)").fullmatch


def canonical(item: Raw | bytes) -> bytes:
    """Returns the item in the one form that equal items have, regardless of the engine that wrote them."""
    return orjson.dumps(_normal(orjson.loads(memoryview(item))), option=orjson.OPT_SORT_KEYS)


def _normal(attributes: dict[str, Any]) -> dict[str, Any]:
    return {name: _normal_value(value) for name, value in attributes.items()}


def _normal_value(value: dict[str, Any]) -> dict[str, Any]:
    """Numbers without zeros that mean nothing, and sets in order."""
    ((kind, content),) = value.items()
    match kind:
        case "N":
            return {kind: _normal_number(content)}
        case "NS":
            return {kind: sorted(map(_normal_number, content))}
        case "SS" | "BS":
            return {kind: sorted(content)}
        case "L":
            return {kind: [*map(_normal_value, content)]}
        case "M":
            return {kind: _normal(content)}
    return value


def _normal_number(text: str) -> str:
    return text if plain_number(text) else format(Decimal(text).normalize(), "f")


class Digest:
    """Digest of a set of items, in any order: two tables with the same items have the same."""

    def __init__(self, total: int = 0, items: int = 0) -> None:
        self.total = total
        self.items = items

    def add(self, item: Raw | bytes) -> None:
        self.total = (self.total + int.from_bytes(blake2b(canonical(item), digest_size=16).digest())) % DIGESTS
        self.items += 1

    @property
    def text(self) -> str:
        return f"{self.total:032x}"
