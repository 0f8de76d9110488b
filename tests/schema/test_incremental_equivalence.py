"""Merging all results of an operation with @defer and @stream yields the answer of the operation without them."""

import gc
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from graphql import (
    ExperimentalIncrementalExecutionResults,
    GraphQLNonNull,
    experimental_execute_incrementally,
    parse,
    specified_rules,
    validate,
)
from hypothesis import assume, given
from hypothesis import strategies as st

from loaders.viewer import Viewer
from schema.execution.executor import Executor
from schema.execution.field_errors import reported
from schema.execution.incremental.results import Results
from schema.execution.limits import Limits
from schema.execution.plans import QueryPlan
from schema.http.protocol import Answer, GraphQLRequest
from tests.schema.test_equivalence import tries
from tests.support.both_executors import SCHEMA, World, a_world
from tests.support.incremental import Merged, Result, deferring
from tests.support.mixed.society import viewers
from tests.support.operations import Operation, Values, operations

# graphql-core's incremental execution leaves fields of parts that have failed unawaited. Nothing of ours is: all other
# tests end with an error if a coroutine was never awaited.
pytestmark = pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")

NO_LIMITS = Limits(directives=1_000, deferred=1_000, parts=100_000, tokens=50_000, cost=1_000_000)
EXECUTOR = Executor(SCHEMA, NO_LIMITS)


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    yield
    # While the warning is ignored: garbage that is found later would fail another test.
    gc.collect()


@pytest.fixture(scope="module")
def reading(endpoint: str) -> Iterator[World]:
    with a_world(endpoint, 1) as world:
        yield world


async def results(world: World, request: GraphQLRequest, viewer: Viewer) -> list[Result]:
    context = world.compiled.graph.context(viewer)
    operation = EXECUTOR.admit(request, context, may_mutate=True)
    answer = operation if isinstance(operation, Answer) else await EXECUTOR.begin(operation, request, context)
    if isinstance(answer, Answer):
        return [answer.body]
    assert isinstance(answer, Results)
    found = []
    while (result := await answer.next()) is not None:
        found.append(result)
    return found


async def of_graphql_core(world: World, request: GraphQLRequest, viewer: Viewer) -> list[Result]:
    """Returns the results of graphql-core's own incremental execution."""
    context = world.compiled.graph.context(viewer)
    operation = EXECUTOR.admit(request, context, may_mutate=True)
    assert not isinstance(operation, Answer)
    variables = operation.variables.coerced(request.variables)
    if not isinstance(variables, list):
        # A damaged field that is not asked for hides nothing.
        plan = operation.incremental_plan(SCHEMA, variables) or operation.plan(SCHEMA, variables)
        if isinstance(plan, QueryPlan):
            context.load.scheduler.wanted = plan.wanted
    executed: Any = experimental_execute_incrementally(
        SCHEMA,
        parse(request.query),
        context_value=context,
        variable_values=request.variables,
        operation_name=request.operation_name,
    )
    if hasattr(executed, "__await__"):
        executed = await executed
    if not isinstance(executed, ExperimentalIncrementalExecutionResults):
        return [{"data": executed.data, "errors": [reported(error, context) for error in executed.errors or ()]}]
    return [
        executed.initial_result.formatted,
        *[result.formatted async for result in executed.subsequent_results],
    ]


def deferred_operations(values: Values) -> st.SearchStrategy[tuple[Operation, str]]:
    # The strategy has no arguments: Hypothesis would show them, and they are long.
    @st.composite
    def drawn(draw: Any) -> tuple[Operation, str]:
        operation = draw(operations(SCHEMA, values))
        text = draw(deferring(SCHEMA, operation.text))
        assume("@defer" in text or "@stream" in text)
        assume(validate(SCHEMA, parse(text), specified_rules) == [])
        return operation, text

    return drawn()


def check(world: World, given_: tuple[Operation, str], viewer: Viewer) -> Counter[str]:
    """Compares the merged results with the answer at once, and with the merged results of graphql-core."""
    operation, text = given_
    request = GraphQLRequest(text, operation.variables, operation.operation_name)
    at_once = GraphQLRequest(operation.text, operation.variables, operation.operation_name)
    (plain,) = world.runner.run(results(world, at_once, viewer))
    found = world.runner.run(results(world, request, viewer))
    assert ("data" in plain) == ("data" in found[0])
    if "data" not in plain:
        return Counter(refused=1)
    merged = Merged(found)
    if "errors" not in plain:
        assert merged.errors == []
        assert merged.data == orjson.loads(orjson.dumps(plain["data"]))
    reference = Merged(world.runner.run(of_graphql_core(world, request, viewer)))
    assert merged.data == reference.data
    assert Counter(merged.failed) == Counter(reference.failed)
    return Counter({"incremental" if len(found) > 1 else "at once": 1, "with failed parts": int(bool(merged.failed))})


def test_merged_results_are_the_answer(reading, engine_name):
    seen = Counter[str]()

    @tries(engine_name, 40)
    @given(deferred_operations(reading.values), viewers(reading.society))
    def verify(given_: tuple[Operation, str], viewer: Viewer) -> None:
        seen.update(check(reading, given_, viewer))

    verify()
    assert seen["incremental"] > seen["at once"]


@pytest.fixture
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fields that fail often may not be null, so that parts fail."""
    names = {"Post": ("likeCount", "author", "comments"), "Comment": ("author", "post"), "User": ("posts", "followers")}
    for of_type, fields in names.items():
        for name in fields:
            field = SCHEMA.type_map[of_type].fields[name]
            monkeypatch.setattr(field, "type", GraphQLNonNull(field.type))


DAMAGED = """{ feed { edges { node { id likeCount author { username followerCount } comments { totalCount edges {
    node { content author { followerCount posts(first: 2) { nodes { likeCount author { id } } } } post { likeCount } }
    } } } } } users { edges { node { followers { edges { node { followerCount } } totalCount } } } } }"""


@pytest.mark.usefixtures("strict")
def test_null_in_deferred_parts_goes_as_far_as_in_graphql_core(reading, engine_name, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "EXECUTOR", Executor(SCHEMA, NO_LIMITS))
    seen = Counter[str]()

    @tries(engine_name, 40)
    @given(deferring(SCHEMA, DAMAGED), viewers(reading.society))
    def verify(text: str, viewer: Viewer) -> None:
        assume("@defer" in text or "@stream" in text)
        seen.update(check(reading, (Operation(DAMAGED, {}, None), text), viewer))

    verify()
    assert seen["with failed parts"] > 10
