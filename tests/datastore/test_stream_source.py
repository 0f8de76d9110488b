"""The stream source: take-over, quiet, shares, a stream that begins or is replaced; on simulated services."""

import logging

import pytest

from datastore.changes.records import Lease
from datastore.model.entity import REGISTRY, decode
from tests.datastore.simulated.servers import SAMPLES, World

LABEL = "2027-01-15T08:00:00.000"


@pytest.fixture(scope="module", autouse=True)
def samples_registered():
    REGISTRY.update(SAMPLES)
    yield
    for name in SAMPLES:
        del REGISTRY[name]


@pytest.fixture
def world():
    world = World()
    yield world
    world.close()


def lease(world, name):
    item = world.dynamodb.items.get((f"LEASE#{name}", "LEASE"))
    return decode(item) if item else None


def split_into_four(world):
    for _ in range(2):
        for shard in world.stream.open:
            world.stream.split(shard)


def test_another_server_takes_over_within_thirty_seconds(world):
    first = world.start()
    world.pass_time(20)
    world.start()
    world.pass_time(20)
    assert [server.source.shards_held for server in world.servers] == [1, 0]
    first.kill()
    world.write("a")
    world.pass_time(30)
    assert world.logged() == {"a": [1]}
    assert world.servers[1].source.shards_held == 1


def test_a_server_that_stops_lets_others_continue_at_once(world):
    first = world.start()
    world.pass_time(20)
    first.task.cancel()
    world.pass_time(1)
    assert lease(world, f"{LABEL}/shardId-00000000").held_until == 0
    world.start()
    world.write("a")
    world.pass_time(5)
    assert world.logged() == {"a": [1]}


def test_an_idle_system_writes_only_leases(world):
    world.write("a")
    world.start()
    world.pass_time(600)
    before, items = world.writes(), len(world.dynamodb.items)
    world.pass_time(600)
    # Ten minutes: a renewal every five seconds, and a position a minute.
    renewals, positions = 120, 10
    assert renewals <= world.writes() - before <= renewals + positions
    assert len(world.dynamodb.items) == items
    assert world.logged() == {"a": [1]}


def test_servers_that_start_together_share_the_shards(world):
    split_into_four(world)
    servers = [world.start(), world.start()]
    world.pass_time(60)
    assert sum(server.source.shards_held for server in servers) == 4
    assert all(server.source.shards_held for server in servers)


def test_children_are_read_after_their_parents(world):
    for number in range(40):
        world.write(f"s{number % 4}")
        if number % 10 == 9:
            split_into_four(world) if number == 9 else world.stream.roll(world.stream.open[0])
    world.start()
    world.pass_time(30)
    assert world.logged() == world.written()
    finished = lease(world, f"{LABEL}/shardId-00000000")
    assert finished.position == "END"
    assert finished.expires_at == pytest.approx(world.clock() + 2 * 86_400, abs=60)


def test_the_lag_is_the_age_of_what_is_not_read_yet(world):
    server = world.start()
    world.pass_time(20)
    assert list(server.source.lag) == ["shardId-00000000"]
    assert server.source.lag["shardId-00000000"] < 5
    world.fault_rate = 1.0
    world.write("a")
    world.pass_time(60)
    assert server.source.lag == {} or server.source.lag["shardId-00000000"] > 50


def test_what_was_trimmed_during_an_outage_is_reported(world, caplog):
    world.start()
    world.pass_time(20)
    world.servers[0].kill()
    world.write("a")
    world.pass_time(90_000)
    world.write("a")
    server = world.start()
    world.pass_time(20)
    assert world.logged() == {"a": [2]}
    assert server.source.trimmed >= 1
    reported = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert reported[0] == (
        "changes were lost: no server has read the stream for 25 hours, and it keeps changes for a day. "
        'Rebuild what is derived from them: see "The table\'s stream" in docs/operating.md'
    )


def test_a_stream_that_replaces_another_is_reported_and_read(world, caplog):
    world.start()
    world.pass_time(20)
    world.servers[0].kill()
    world.stream.arn = world.dynamodb.stream_arn = world.stream.arn.replace("2027", "2028")
    server = world.start()
    world.write("a")
    world.pass_time(40)
    assert world.logged() == {"a": [1]}
    assert server.source.trimmed == 1
    assert "was replaced by" in caplog.text


def test_the_start_of_an_old_stream_is_no_loss(world):
    """The first shards of a table that is older than the server have parents that are gone."""
    world.stream.retention = 100
    world.write("a")
    world.stream.roll(world.stream.open[0])
    world.pass_time(200)
    world.write("a")
    server = world.start()
    world.pass_time(20)
    assert world.logged() == {"a": [2]}
    assert server.source.trimmed == 0
    assert isinstance(lease(world, "stream"), Lease)


def test_a_table_without_a_stream_is_reported(world, caplog):
    world.dynamodb.stream_arn = None
    world.start()
    world.pass_time(5)
    assert "the table heartwood has no stream; enable one with" in caplog.text
