"""After any changes, a live query has the answer that the same query gets when it is asked again: for all queries."""

from collections.abc import Iterator

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from loaders.viewer import Viewer
from schema.http.protocol import GraphQLRequest
from tests.schema.test_equivalence import tries
from tests.support.both_executors import SCHEMA, Answered, World, a_world, assert_alike
from tests.support.live import Following, follow_any
from tests.support.mixed.society import viewers
from tests.support.operations import Operation, operations


@pytest.fixture(scope="module")
def world(endpoint: str) -> Iterator[World]:
    with a_world(endpoint, 1) as world:
        yield world


def test_a_live_answer_is_the_answer_of_now(world, engine_name):
    values, changed = world.values, 0

    @settings(tries(engine_name, 25), phases=[Phase.generate])
    @given(
        st.lists(st.tuples(operations(SCHEMA, values), viewers(world.society)), min_size=3, max_size=5),
        st.lists(st.tuples(operations(SCHEMA, values, "mutation"), viewers(world.society)), min_size=3, max_size=8),
    )
    def verify(asked: list[tuple[Operation, Viewer]], changes: list[tuple[Operation, Viewer]]) -> None:
        nonlocal changed
        world.runner.run(world.compiled.bring_back(world.society.items()))
        # The table was changed behind the log, so what the log had last is not true.
        world.compiled.graph.services.operations.live._recent.clear()
        changed += world.runner.run(follow_and_compare(world, asked, changes))

    verify()
    assert changed > 0, "some changes should change an answer"


async def follow_and_compare(
    world: World, asked: list[tuple[Operation, Viewer]], changes: list[tuple[Operation, Viewer]]
) -> int:
    """Returns how many answers were sent after the first ones."""
    side = world.compiled
    followed = [(each, viewer, await follow(world, each, viewer)) for each, viewer in asked]
    for operation, viewer in changes:
        await side.answers(operation, viewer)
    sent = 0
    try:
        for operation, viewer, live in followed:
            if live is not None:
                await live.settle()
                (fresh, *_) = await side.answers(operation, viewer)
                assert_alike(Answered(await live.take(), fresh.calls, compiled=True), fresh)
                sent += live.query.revision - 1
    finally:
        for *_, live in followed:
            if live is not None:
                live.stream.close()
    return sent


async def follow(world: World, operation: Operation, viewer: Viewer) -> Following | None:
    request = GraphQLRequest(operation.text, operation.variables, operation.operation_name)
    return await follow_any(world.compiled.graph, request, viewer, world.compiled.executor)
