"""With hot data, a server answers as it does without: for all queries, after all mutations of its own, at once."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from loaders.hot_reads import HotReads
from loaders.shared_reads import SharedReads
from loaders.viewer import Viewer
from tests.schema.test_equivalence import tries
from tests.support.both_executors import SCHEMA, Side, World, a_world, assert_alike
from tests.support.graph import Graph
from tests.support.hot import Hot
from tests.support.mixed.society import viewers
from tests.support.operations import Operation, operations


@pytest.fixture(scope="module")
def world(endpoint: str) -> Iterator[World]:
    with a_world(endpoint, 1) as world:
        services = world.compiled.graph.services
        plain = replace(services, shared_reads=SharedReads(services.table))
        world.reference = Side(Graph(plain), compiled=True)
        services.shared_reads = HotReads(services.table, services.changes.tails, 50_000_000)
        yield world


def test_answers_from_memory_are_the_answers_of_the_table(world, engine_name):
    values, hot = world.values, Hot(world.compiled.graph)
    world.runner.run(hot.begins())
    hits = 0

    @settings(tries(engine_name, 20), phases=[Phase.generate])
    @given(
        st.lists(st.tuples(operations(SCHEMA, values), viewers(world.society)), min_size=3, max_size=6),
        st.lists(st.tuples(operations(SCHEMA, values, "mutation"), viewers(world.society)), min_size=3, max_size=8),
    )
    def verify(asked: list[tuple[Operation, Viewer]], changes: list[tuple[Operation, Viewer]]) -> None:
        nonlocal hits
        world.runner.run(world.compiled.bring_back(world.society.items()))
        # The table was changed behind the log.
        hot.data.clear()
        hot.waits()
        before = hot.data.hits
        world.runner.run(change_and_compare(world, hot, asked, changes))
        hits += hot.data.hits - before

    verify()
    assert hits > 100


async def change_and_compare(
    world: World, hot: Hot, asked: list[tuple[Operation, Viewer]], changes: list[tuple[Operation, Viewer]]
) -> None:
    await compare(world, asked)
    for change in changes:
        await world.compiled.answers(*change)
        await compare(world, asked)
    await hot.hears()
    await compare(world, asked)
    await compare(world, asked)


async def compare(world: World, asked: list[tuple[Operation, Viewer]]) -> None:
    for each in asked:
        found = await world.compiled.answers(*each)
        for answer, expected in zip(found, await world.reference.answers(*each), strict=True):
            assert_alike(answer, expected)
