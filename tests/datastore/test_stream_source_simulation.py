"""The stream source on simulated DynamoDB services, over random schedules of shards, faults, stalls and deaths."""

import os

import hypothesis
import pytest
from hypothesis import strategies as st

from datastore.model.entity import REGISTRY
from tests.datastore.simulated.servers import SAMPLES, World

THOROUGH = bool(os.environ.get("THOROUGH"))
SCHEDULES = 2000 if THOROUGH else 120
OUTAGES = 500 if THOROUGH else 30
RETENTION = 600.0


@pytest.fixture(scope="module", autouse=True)
def samples_registered():
    REGISTRY.update(SAMPLES)
    yield
    for name in SAMPLES:
        del REGISTRY[name]


def write(world, number):
    for _ in range(1 + number % 3):
        world.write(f"s{number}")


def change_a_shard(world, number):
    shard = world.stream.open[number % len(world.stream.open)]
    (world.stream.split if number % 3 == 0 and len(world.stream.open) < 4 else world.stream.roll)(shard)


def kill(world, number):
    if world.alive:
        world.alive[number % len(world.alive)].kill()


def stall(world, number):
    if world.alive:
        world.alive[number % len(world.alive)].stall(10.0 + 5 * number)


def start(world, number):
    if len(world.alive) < 3:
        world.start()


def disturb(world, number):
    world.fault_rate = (0.0, 0.02, 0.1, 0.3)[number % 4]


def outage(world, number):
    for server in world.alive:
        server.kill()
    world.pass_time(RETENTION * number / 5)
    world.start()


USUAL = [write, write, write, change_a_shard, change_a_shard, kill, start, stall, disturb]


def schedules(acts):
    step = st.tuples(st.sampled_from(acts), st.integers(0, 7), st.sampled_from([0.0, 0.1, 0.5, 2.0, 8.0, 20.0]))
    return st.lists(step, min_size=3, max_size=25)


def play(world, steps):
    world.start()
    for act, number, pause in steps:
        act(world, number)
        world.pass_time(pause)
    world.fault_rate = 0.0
    if not world.alive:
        world.start()


@hypothesis.settings(max_examples=SCHEDULES)
@hypothesis.given(steps=schedules(USUAL), seed=st.integers(0, 2**16))
def test_every_change_is_logged_once_and_in_order(steps, seed):
    world = World(seed, iterators_last=20.0)
    try:
        play(world, steps)
        for _ in range(20):
            if world.logged() == world.written():
                break
            world.pass_time(10)
        assert world.logged() == world.written()
        assert [server.source.trimmed for server in world.servers] == [0] * len(world.servers)
    finally:
        world.close()


@hypothesis.settings(max_examples=OUTAGES)
@hypothesis.given(steps=schedules([*USUAL, outage]), seed=st.integers(0, 2**16))
def test_only_trimmed_changes_are_missing_and_that_is_reported(steps, seed):
    world = World(seed, iterators_last=20.0, retention=RETENTION)
    try:
        # What was written before the first server started is no loss.
        world.start()
        world.pass_time(5)
        play(world, steps)
        world.pass_time(120)
        logged, missing = world.logged(), set()
        for sample_id, versions in world.written().items():
            found = logged.get(sample_id, [])
            assert found == sorted(set(found))
            missing |= {(sample_id, version) for version in versions if version not in found}
        assert missing <= world.trimmed()
        assert not missing or any(server.source.trimmed for server in world.servers)
    finally:
        world.close()
