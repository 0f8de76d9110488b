"""Records of the stream as changes, calls and their errors, and the streams of the engines."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from uuid import uuid4

import pytest

from datastore.changes.change import Change, What
from datastore.changes.leases import Leases
from datastore.changes.log import ChangeLog
from datastore.changes.records import Lease
from datastore.changes.shard_reader import CHANGES_AT_ONCE, Timing, appends
from datastore.changes.stream import (
    IteratorExpired,
    NoStream,
    Read,
    ReadBatch,
    ShardGone,
    Stream,
    StreamFailed,
    Trimmed,
    arn_of,
    read_from,
)
from datastore.changes.stream_source import StreamSource
from datastore.client.budget import Usage
from datastore.client.table import Table
from datastore.client.transport import Transport
from datastore.client.writes import Put, Update
from datastore.local import provision
from datastore.local.endpoint import LOCAL_REGION
from datastore.model.entity import REGISTRY
from datastore.model.times import Time
from tests.datastore.simulated.servers import SAMPLES, Sample
from tests.datastore.simulated.streams import refused
from tests.support.tables import CREDENTIALS

AT = datetime(2026, 11, 18, 12, 0, 0, 250_000, tzinfo=UTC)
KEYS = {"PK": {"S": "SAMPLE#a"}, "SK": {"S": "SAMPLE"}}


@pytest.fixture(scope="module", autouse=True)
def samples_registered():
    REGISTRY.update(SAMPLES)
    yield
    for name in SAMPLES:
        del REGISTRY[name]


def record(old=None, new=None, **more):
    name = "INSERT" if old is None else "REMOVE" if new is None else "MODIFY"
    images = ({"OldImage": old} if old else {}) | ({"NewImage": new} if new else {})
    data = {"ApproximateCreationDateTime": AT, "Keys": KEYS, "SequenceNumber": "17", **images}
    return {"eventName": name, "dynamodb": data, **more}


def image(version):
    return Sample(sample_id="a", version=version).encode()


def test_an_insert_a_change_and_a_removal_have_their_index_keys():
    at, key = Time("2026-11-18T12:00:00.250Z"), Sample.key(sample_id="a")
    first, second = {"GSI1": ("SAMPLES", "000001")}, {"GSI1": ("SAMPLES", "000002")}
    reads = [read_from(record(new=image(1))), read_from(record(image(1), image(2))), read_from(record(image(2)))]
    assert reads == [
        Read("17", AT.timestamp(), Change(key, What.INSERTED, at, {}, first)),
        Read("17", AT.timestamp(), Change(key, What.CHANGED, at, first, second)),
        Read("17", AT.timestamp(), Change(key, What.REMOVED, at, second, {})),
    ]


def test_a_removal_by_ttl_is_marked():
    ttl = {"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"}
    assert read_from(record(image(1), userIdentity=ttl)).change.expired is True
    assert read_from(record(image(1), userIdentity={"Type": "User", "PrincipalId": "ann"})).change.expired is False
    assert read_from(record(image(1))).change.expired is False


SAME = image(1)


@pytest.mark.parametrize(
    "skipped",
    [
        record(new=Lease(name="a").encode()),
        record(Lease(name="a").encode()),
        record(new={**KEYS, "entityType": {"S": "OfANewerServer"}}),
        record(new=KEYS),
        record(SAME, SAME),
    ],
    ids=["bookkeeping", "removed bookkeeping", "unknown entity", "no entity", "nothing changed"],
)
def test_what_the_log_does_not_need_is_skipped(skipped):
    assert read_from(skipped) == Read("17", AT.timestamp(), None)


def reads_of(count, text=""):
    change = Change(Sample.key(sample_id=f"a{text}"), What.CHANGED, Time("2026-11-18T12:00:00.250Z"), {}, {})
    return [Read(str(number), 0.0, change if number % 2 else None) for number in range(count)]


def test_a_batch_is_appended_in_parts_that_fit_into_an_item():
    parts = [*appends(ReadBatch(reads_of(2 * CHANGES_AT_ONCE + 10), "next"))]
    assert [(len(changes), position) for changes, position in parts] == [(200, "400"), (5, "409")]
    parts = [*appends(ReadBatch(reads_of(240, "x" * 1900), None))]
    assert [(len(changes), position) for changes, position in parts] == [(49, "98"), (49, "196"), (22, "END")]
    assert [*appends(ReadBatch([], None))] == [([], "END")]
    assert [*appends(ReadBatch([], "next"))] == []


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("ExpiredIteratorException", IteratorExpired),
        ("TrimmedDataAccessException", Trimmed),
        ("ResourceNotFoundException", ShardGone),
        ("LimitExceededException", StreamFailed),
        ("AccessDeniedException", StreamFailed),
    ],
)
async def test_errors_of_boto3_are_mapped(code, error):
    class Refusing:
        def get_records(self, **_):
            raise refused(code)

    with ThreadPoolExecutor(1) as threads, pytest.raises(error) as raised:
        await Stream(Refusing(), "arn/label", threads).records("iterator")
    assert type(raised.value) is error


@pytest.fixture
async def streamed(endpoint):
    """A table with a stream."""
    client = provision.connect(endpoint, LOCAL_REGION)
    name = f"streamed-{uuid4().hex[:12]}"
    provision.ensure(client, name, backups=False, stream=True)
    transport = Transport(region=LOCAL_REGION, endpoint=endpoint, credentials=CREDENTIALS)
    yield Table(transport, name, Usage.lasting(120))
    await transport.close()
    provision.wipe(client, name)
    client.close()


def source_of(table, log):
    connect = partial(provision.connect, table.transport.endpoint, LOCAL_REGION, "dynamodbstreams")
    timing = Timing(look_every=0.4, shortest_pause=0.01, longest_pause=0.05)
    return StreamSource(table, Leases(table), log, connect, timing=timing)


async def logged(log, count):
    """Returns the first changes of the log, as soon as there are so many."""
    async with asyncio.timeout(60):
        while True:
            changes = [change for batch in await log.read(0, 0, consistent=True) for change in batch.changes]
            if len(changes) >= count:
                return [(each.what, each.key.values["sample_id"], each.before, each.after) for each in changes]
            await asyncio.sleep(0.05)


async def write_a_life(table, sample_id):
    """Writes an item four times; its changes are inserted, changed, changed, removed."""
    sample = Sample(sample_id=sample_id, version=1)
    await table.write(Put(sample))
    await table.write(Update.of(sample, sample.changed(version=2)))
    await table.transact(Put(sample.changed(version=3)))
    await table.delete(sample.own_key)


def life(sample_id):
    keys = [{}, *({"GSI1": ("SAMPLES", f"{version:06d}")} for version in (1, 2, 3)), {}]
    kinds = [What.INSERTED, What.CHANGED, What.CHANGED, What.REMOVED]
    return [(what, sample_id, keys[place], keys[place + 1]) for place, what in enumerate(kinds)]


@pytest.mark.engine_contract
async def test_changes_get_from_the_stream_to_the_log_once(streamed):
    log = ChangeLog(streamed)
    await write_a_life(streamed, "a")
    first = asyncio.create_task(source_of(streamed, log).run())
    assert await logged(log, 4) == life("a")
    first.cancel()
    await asyncio.wait([first])
    # Another one continues where the first has stopped, and our own writes are no changes.
    await write_a_life(streamed, "b")
    second = asyncio.create_task(source_of(streamed, log).run())
    assert await logged(log, 8) == life("a") + life("b")
    second.cancel()
    await asyncio.wait([second])


@pytest.mark.engine_contract
async def test_the_latest_stream_of_a_table_is_found(streamed, endpoint):
    arn = await arn_of(streamed)
    assert f"table/{streamed.name}/stream/" in arn
    provision.switch_off_stream(provision.connect(endpoint, LOCAL_REGION), streamed.name)
    with pytest.raises(NoStream, match="has no stream; enable one with the view type NEW_AND_OLD_IMAGES"):
        await arn_of(streamed)
