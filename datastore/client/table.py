"""Table client: all reads and writes of DynamoDB."""

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count, islice
from typing import Any, Generic, NamedTuple, TypeVar, cast
from uuid import uuid4

import orjson
from msgspec import UNSET, Raw

from datastore.client.budget import Usage
from datastore.client.damage import report
from datastore.client.errors import (
    Conflict,
    CorruptItem,
    DatastoreError,
    Failure,
    Rejected,
    Throttled,
    TooLarge,
    raise_first,
)
from datastore.client.expressions import asking_for, key_condition
from datastore.client.positions import Position, position_in, start_key
from datastore.client.transport import Transport
from datastore.client.turns import Slice, in_parallel
from datastore.client.writes import Condition, Delete, Put, Recorder, Update, Write, key_attributes
from datastore.model.codec import Item
from datastore.model.entity import Entity, decode_as
from datastore.model.keys import Key, Range
from datastore.model.mixed import Mixed
from datastore.model.projections import WHOLE, Projected, Projection, Wanted
from datastore.model.responses import PLACES, Batch, Listed, OneItem

E = TypeVar("E", bound=Entity)

BATCH_GET_KEYS = 100
BATCH_WRITE_ITEMS = 25
FEW_WRITES = 10
TRANSACTION_WRITES = 100
# Places of a transaction for what is not part of the command: the record of an Idempotency-Key, an audit entry, the
# check of the account, and the record of its changes.
RIDERS = 4
COMMAND_WRITES = TRANSACTION_WRITES - RIDERS

Answers = dict[Key[Any], Entity | DatastoreError | None]
"""The record of each key, None if it does not exist, or the error of its read."""


@dataclass(frozen=True)
class Page(Generic[E]):
    """Records in order. `more` is the position to continue from, or None at the end of the range.

    Damaged items are left out of the records.
    """

    records: Sequence[E]
    more: Position | None
    damaged: Sequence[CorruptItem] = ()


class RangeRead(NamedTuple):
    """Read of one page of a range. `backward` reverses the direction of the range."""

    within: Range[Any]
    limit: int
    after: Position | None = None
    backward: bool = False


class KeysRead(NamedTuple):
    """Read of a page with known keys: the existing records, in order, without heavy fields."""

    keys: tuple[Key[Any], ...]


class Table:
    """Client for the table, bound to the usage of a request. `table.using(usage)` shares its connections."""

    def __init__(self, transport: Transport, name: str, usage: Usage, recorder: Recorder | None = None) -> None:
        self.transport = transport
        self.name = name
        self.usage = usage
        self.recorder = recorder

    def using(self, usage: Usage) -> "Table":
        return Table(self.transport, self.name, usage, self.recorder)

    async def get(
        self, key: Key[E], *, consistent: bool = False, lean: bool = False, projection: Projection | None = None
    ) -> E | None:
        """Returns a record. `lean` omits heavy fields, and a projection all fields but its own."""
        projection = projection or _whole(key, lean=lean)
        wanted = asking_for(projection.attributes)
        answer: OneItem = await self._call(
            "GetItem", {"Key": key_attributes(key), "ConsistentRead": consistent, **wanted}
        )
        try:
            return None if answer.Item is UNSET else cast(E | None, decode_as(projection, answer.Item))
        except CorruptItem as error:
            raise report(error) from error.__cause__

    async def stored_item(self, key: Key[Any]) -> Item | None:
        """Returns an item as it is stored, even if it is damaged."""
        answer: OneItem = await self._call("GetItem", {"Key": key_attributes(key), "ConsistentRead": True})
        return None if answer.Item is UNSET else cast(Item, orjson.loads(memoryview(answer.Item)))

    async def get_many(
        self,
        keys: Iterable[Key[Any]],
        *,
        consistent: bool = False,
        lean: bool = False,
        projections: Mapping[Key[Any], Projection] | None = None,
    ) -> Answers:
        """Returns the record of each key, None if it does not exist, or the error of its batch."""
        distinct = list(dict.fromkeys(keys))
        projections = projections or {key: _whole(key, lean=lean) for key in distinct}
        read = partial(self.get_batch, projections=projections, consistent=consistent)
        if len(distinct) <= BATCH_GET_KEYS:
            return await read(distinct) if distinct else {}
        answers = await in_parallel(read, [*_chunks(distinct, BATCH_GET_KEYS)])
        return {key: found for answer in answers for key, found in answer.items()}

    async def _get_or_error(
        self, key: Key[Any], projection: Projection, *, consistent: bool
    ) -> Entity | DatastoreError | None:
        try:
            return await self.get(key, consistent=consistent, projection=projection)
        except DatastoreError as error:
            return error

    async def get_batch(
        self,
        keys: Sequence[Key[Any]],
        *,
        projections: Mapping[Key[Any], Projection],
        consistent: bool = False,
        some: Callable[[Answers], None] | None = None,
    ) -> Answers:
        """Returns the same for up to 100 distinct keys. `some` takes those that are answered before others."""
        if len(keys) == 1:
            (key,) = keys
            return {key: await self._get_or_error(key, projections[key], consistent=consistent)}
        found: Answers = {}
        waiting = {(key.pk, key.sk): key for key in keys}
        several = {projections[key] for key in keys}
        only = several.pop() if len(several) == 1 else None
        wanted = asking_for(only.attributes if only else _attributes(several))
        try:
            for attempt in count():
                open_keys = [key_attributes(key) for key in waiting.values()]
                request = {self.name: {"Keys": open_keys, "ConsistentRead": consistent, **wanted}}
                answer: Batch = await self._call("BatchGetItem", {"RequestItems": request}, named=False)
                unprocessed = _unprocessed(answer, self.name)
                answered: Answers = {key: None for place, key in waiting.items() if place not in unprocessed}
                decoding = Slice()
                for item in answer.Responses.get(self.name, ()):
                    if decoding.is_over:
                        await decoding.next()
                    record = _decoded(only, item) if only else None
                    if record is not None:
                        answered[waiting[record.own_key[1:]]] = record
                        continue
                    place = PLACES.decode(item)
                    key = waiting[place.PK.S, place.SK.S]
                    try:
                        answered[key] = decode_as(projections[key], item)
                    except CorruptItem as error:
                        answered[key] = report(error)
                waiting = {place: waiting[place] for place in unprocessed}
                if waiting and some:
                    some(answered)
                else:
                    found |= answered
                if not waiting:
                    return found
                await self._pause(attempt, f"{len(waiting)} keys remain unprocessed")
        except DatastoreError as error:
            return found | dict.fromkeys(waiting.values(), error)
        raise AssertionError  # count() never ends

    async def query(
        self,
        within: Range[E],
        *,
        limit: int,
        after: Position | None = None,
        backward: bool = False,
        consistent: bool = False,
    ) -> Page[E]:
        """Returns one page. `backward` reverses the direction of the range."""
        return await self._query(RangeRead(within, limit, after, backward), WHOLE, consistent=consistent)

    async def query_or_error(
        self, read: RangeRead, *, wanted: Wanted = WHOLE, consistent: bool = False
    ) -> Page[Any] | DatastoreError:
        """Returns one page with the fields that are wanted, or the error."""
        try:
            return await self._query(read, wanted, consistent=consistent)
        except DatastoreError as error:
            return error

    async def _query(self, read: RangeRead, wanted: Wanted, *, consistent: bool) -> Page[Any]:
        within, limit, after, backward = read
        if within.bounds and within.bounds[0] > within.bounds[1]:
            return Page([], None)
        pk_name, sk_name = (f"{within.index_name}PK", f"{within.index_name}SK") if within.index_name else ("PK", "SK")
        condition, values = key_condition(within)
        entity: Any = within.entity
        attributes = entity.attributes(wanted) if isinstance(entity, Mixed) else wanted[entity].lists.attributes
        request: dict[str, Any] = {
            "KeyConditionExpression": condition,
            "ExpressionAttributeValues": values,
            "ScanIndexForward": within.descending == backward,
            "Limit": limit,
            **asking_for(attributes, pk=pk_name, sk=sk_name if "#sk" in condition else None),
        }
        if within.index_name:
            request["IndexName"] = within.index_name
        elif consistent:
            request["ConsistentRead"] = True
        if after:
            request["ExclusiveStartKey"] = start_key(within, after)
        answer: Listed = await self._call("Query", request)
        records, damaged = await _all_of(entity, answer.Items, wanted)
        last = answer.LastEvaluatedKey
        return Page(records, position_in(within, last) if last else None, damaged)

    async def put(self, record: Entity, when: Condition | None = None) -> None:
        await self.write(Put(record, when))

    async def update(self, write: Update) -> None:
        await self.write(write)

    async def delete(self, key: Key[Any], when: Condition | None = None) -> None:
        await self.write(Delete(key, when))

    async def write(self, *writes: Write, riders: Sequence[Write] = ()) -> None:
        """Sends a single idempotent write as is, and everything else as a transaction, which has a client token."""
        if len(writes) == 1 and writes[0].repeatable and not riders and not self._records(writes[0]):
            self.transport.write_pause.check(writes)
            verb, request = writes[0].request()
            await self._call(f"{verb}Item", request)
        else:
            await self.transact(*writes, riders=riders)

    async def transact(self, *writes: Write, riders: Sequence[Write] = (), token: str | None = None) -> None:
        """Writes atomically. The client token makes retries idempotent after a lost response.

        `riders` are written along with the command's own writes, and have reserved places.
        """
        if len(writes) > COMMAND_WRITES or len(riders) >= RIDERS:
            given = f"{len(writes)} and {len(riders)}"
            raise ValueError(
                f"a transaction takes at most {COMMAND_WRITES} writes and {RIDERS - 1} riders, not {given}"
            )
        writes = tuple(write for write in (*writes, *riders) if not (isinstance(write, Update) and write.is_empty))
        if not writes:
            return
        self.transport.write_pause.check(writes)
        record = self.recorder.record(writes) if self.recorder else None
        if record is not None:
            writes = (*writes, record)
        items = []
        for write in writes:
            verb, request = write.request()
            items.append({verb: request | {"TableName": self.name}})
        try:
            request = {"TransactItems": items, "ClientRequestToken": token or str(uuid4())}
            await self._call("TransactWriteItems", request, named=False)
            if self.recorder and record is not None:
                self.recorder.recorded()
        except Conflict as conflict:
            failures = [
                Failure(write, failure.code, failure.item)
                for write, failure in zip(writes, conflict.failures, strict=False)
                if failure.code != "None"
            ]
            raise Conflict(str(conflict), failures) from None

    async def batch_write(self, puts: Iterable[Entity] = (), deletes: Iterable[Key[Any]] = ()) -> None:
        """Sends many unconditional writes, not atomically, and waits for all of them: for loading and purging."""
        writes: list[Write] = [*map(Put, puts), *map(Delete, deletes)]
        self.transport.write_pause.check(writes)
        if len(writes) <= FEW_WRITES and any(map(self._records, writes)):
            # One call instead of three: for a few writes, a transaction is simpler than a promise.
            with contextlib.suppress(TooLarge, Rejected):
                await self.transact(*writes)
                return
        promises = self.recorder.promise(writes) if self.recorder else []
        await asyncio.gather(*map(self.put, promises))
        requests = map(_in_batch, writes)
        batches = [self._write_batch(some) for some in _chunks(requests, BATCH_WRITE_ITEMS)]
        raise_first(await asyncio.gather(*batches, return_exceptions=True))
        if self.recorder and promises:
            await asyncio.gather(*(self.transact(*self.recorder.kept(promise)) for promise in promises))
            self.recorder.recorded()

    def _records(self, write: Write) -> bool:
        return self.recorder is not None and self.recorder.records(write)

    async def _write_batch(self, requests: list[Any]) -> None:
        total = len(requests)
        try:
            for attempt in count():
                answer = await self._call("BatchWriteItem", {"RequestItems": {self.name: requests}}, named=False)
                requests = (answer.get("UnprocessedItems") or {}).get(self.name, [])
                if not requests:
                    return
                await self._pause(attempt, f"{len(requests)} writes remain unprocessed")
        except DatastoreError as error:
            error.may_have_applied = error.may_have_applied or len(requests) < total
            raise

    async def answers(self) -> bool:
        """Returns True if the table exists and can be used."""
        answer = await self._call("DescribeTable", {}, metered=False)
        return answer["Table"]["TableStatus"] in ("ACTIVE", "UPDATING")

    async def _call(self, operation: str, request: dict[str, Any], *, named: bool = True, metered: bool = True) -> Any:
        if named:
            request = request | {"TableName": self.name}
        if metered:
            request["ReturnConsumedCapacity"] = "TOTAL"
        return await self.transport.call(operation, request, self.usage)

    async def _pause(self, attempt: int, why: str) -> None:
        await self.transport.back_off(attempt, self.usage, Throttled(why))


def _unprocessed(answer: Batch, table: str) -> list[tuple[str, str]]:
    """Returns the places of the keys that a batch left out."""
    left = (answer.UnprocessedKeys or {}).get(table, {}).get("Keys", ())
    return [(key["PK"]["S"], key["SK"]["S"]) for key in left]


async def _all_of(entity: Any, items: Iterable[Raw], wanted: Wanted) -> tuple[list[Any], tuple[CorruptItem, ...]]:
    """Decodes items. Returns the records, and the errors of damaged ones."""
    records: list[Any] = []
    damaged: list[CorruptItem] = []
    decoding = Slice()
    projection = None if isinstance(entity, Mixed) else wanted[entity].lists
    for item in items:
        if decoding.is_over:
            await decoding.next()
        try:
            record = decode_as(projection, item) if projection else entity.decode(item, wanted)
        except CorruptItem as error:
            damaged.append(report(error))
            continue
        if record is not None:
            records.append(record)
    return records, tuple(damaged)


def _in_batch(write: Write) -> dict[str, Any]:
    if isinstance(write, Put):
        return {"PutRequest": {"Item": write.record.encode()}}
    return {"DeleteRequest": {"Key": key_attributes(write.key)}}


T = TypeVar("T")


def _whole(key: Key[Any], *, lean: bool) -> Projection:
    whole: Projected = key.entity.whole
    return whole.lists if lean else whole.items


def _attributes(projections: Iterable[Projection]) -> tuple[str, ...]:
    """Returns the attributes of all these projections. A batch has one list of attributes for all of its keys."""
    ordered = sorted(projections, key=lambda each: (each.entity.__name__, each.attributes))
    return tuple(dict.fromkeys(name for each in ordered for name in each.attributes))


def _decoded(projection: Projection, item: Raw) -> Entity | None:
    try:
        return cast(Entity | None, decode_as(projection, item))
    except CorruptItem:
        return None


def _chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    remaining = iter(items)
    while chunk := list(islice(remaining, size)):
        yield chunk
