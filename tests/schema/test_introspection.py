"""The schema as clients see it: committed, documented, and readable by their tools."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLObjectType,
    get_introspection_query,
    is_introspection_type,
    is_specified_scalar_type,
)

from schema.build import build, sdl
from schema.execution import introspection
from schema.execution.executor import Executor
from schema.execution.limits import Limits
from schema.http.protocol import GraphQLRequest
from tests.schema.hostile import refusal
from tests.support.graph import Graph
from tests.support.serving import ROOT, a_table, serving

# The directives of graphql-js 16.8, which rejects any other.
LOCATIONS = {
    "QUERY",
    "MUTATION",
    "SUBSCRIPTION",
    "FIELD",
    "FRAGMENT_DEFINITION",
    "FRAGMENT_SPREAD",
    "INLINE_FRAGMENT",
    "VARIABLE_DEFINITION",
    "SCHEMA",
    "SCALAR",
    "OBJECT",
    "FIELD_DEFINITION",
    "ARGUMENT_DEFINITION",
    "INTERFACE",
    "UNION",
    "ENUM",
    "ENUM_VALUE",
    "INPUT_OBJECT",
    "INPUT_FIELD_DEFINITION",
}

EVERYTHING = get_introspection_query(
    descriptions=True,
    specified_by_url=True,
    directive_is_repeatable=True,
    schema_description=True,
    input_value_deprecation=True,
    one_of=True,
)


def test_the_committed_schema_is_current() -> None:
    committed = (ROOT / "schema/schema.graphql").read_text()

    assert committed == sdl(), "schema/schema.graphql is stale: run `make docs`"


def test_everything_has_a_description() -> None:
    assert [name for name, described in _named() if not (described.description or "").strip()] == []


def _named() -> Iterator[tuple[str, Any]]:
    """Returns everything in our schema that can have a description, by coordinate."""
    for name, of_type in build()._schema.type_map.items():
        if is_introspection_type(of_type) or is_specified_scalar_type(of_type):
            continue
        yield name, of_type
        if isinstance(of_type, GraphQLEnumType):
            yield from ((f"{name}.{value}", described) for value, described in of_type.values.items())
        if isinstance(of_type, GraphQLObjectType | GraphQLInterfaceType | GraphQLInputObjectType):
            for field_name, field in of_type.fields.items():
                yield f"{name}.{field_name}", field
                for argument_name, argument in getattr(field, "args", {}).items():
                    yield f"{name}.{field_name}({argument_name}:)", argument


@pytest.fixture
async def introspected(graph: Graph) -> dict[str, Any]:
    """Introspection queries of client tools, with the default limits of the server."""
    executor = Executor(build()._schema, Limits())
    answer = await executor.run(GraphQLRequest(EVERYTHING), graph.context(), may_mutate=False)
    assert "errors" not in answer.body
    return answer.body


async def test_directives_stand_only_where_graphql_js_knows_of(introspected: dict[str, Any]) -> None:
    directives = introspected["data"]["__schema"]["directives"]

    assert {"skip", "include"} <= {directive["name"] for directive in directives}
    assert {location for directive in directives for location in directive["locations"]} <= LOCATIONS


@pytest.mark.skipif(
    shutil.which("node") is None or not (ROOT / "node_modules/graphql").exists(), reason="needs Node and `npm install`"
)
async def test_graphql_js_reads_the_introspection(introspected: dict[str, Any]) -> None:
    printed = subprocess.run(  # noqa: ASYNC221
        ["node", "tests/support/introspection.mjs"],
        cwd=ROOT,
        input=json.dumps(introspected),
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert {name for name in json.loads(printed) if not name.startswith("__")} == {
        name for name in build()._schema.type_map if not name.startswith("__")
    }


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The introspections that graphql-core has computed, by response key."""
    keys: list[str] = []
    compute = introspection.Introspection._compute

    def counting(self: Any, field: Any, given: dict[str, Any]) -> list[Any]:
        keys.append(field.key)
        return compute(self, field, given)

    monkeypatch.setattr(introspection.Introspection, "_compute", counting)
    return keys


@pytest.mark.parametrize("compiled", [True, False])
async def test_introspection_is_computed_once_and_shared_by_aliases(
    graph: Graph, computed: list[str], compiled: bool
) -> None:
    executor = Executor(build()._schema, Limits(), compiled=compiled)
    aliases = " ".join(f"a{number}: __schema {{ types {{ name }} }}" for number in range(60))

    first = await executor.run(GraphQLRequest(f"{{ {aliases} }}"), graph.context(), may_mutate=False)
    again = await executor.run(
        GraphQLRequest("{ other: __schema { types { name } } __typename }"), graph.context(), may_mutate=False
    )

    assert first.body["data"] == {f"a{number}": again.body["data"]["other"] for number in range(60)}
    assert list(again.body["data"]) == ["other", "__typename"]
    assert computed == ["a0"]


@pytest.mark.parametrize("compiled", [True, False])
async def test_whitespace_and_comments_do_not_tell_introspections_apart(
    graph: Graph, computed: list[str], compiled: bool
) -> None:
    executor = Executor(build()._schema, Limits(), compiled=compiled)
    queries = [
        '{ a: __type(name: "User") { ...T } } fragment T on __Type { name kind }',
        '{ b: __type(\n  name: "User",,) {...T} } # the same\n fragment T on __Type { name,kind # }\n }',
    ]

    for query in queries:
        answer = await executor.run(GraphQLRequest(query), graph.context(), may_mutate=False)
        assert list(answer.body["data"].values()) == [{"name": "User", "kind": "OBJECT"}]

    assert computed == ["a"]


@pytest.mark.parametrize("compiled", [True, False])
async def test_variables_and_fragments_tell_introspections_apart(
    graph: Graph, computed: list[str], compiled: bool
) -> None:
    executor = Executor(build()._schema, Limits(), compiled=compiled)
    query = """query ($name: String = "User", $no: Boolean = false) { __typename a: __type(name: $name) { ...T }
        b: __type(name: "Nothing") { name } c: __schema @skip(if: $no) { queryType { name } } }
        fragment T on __Type { name kind @include(if: $no) }"""

    answers = [
        (await executor.run(GraphQLRequest(query, given), graph.context(), may_mutate=False)).body["data"]
        for given in ({}, {"name": "Post"}, {"no": True}, {"no": True, "x": 1})
    ]

    assert answers[:3] == [
        {"__typename": "Query", "a": {"name": "User"}, "b": None, "c": {"queryType": {"name": "Query"}}},
        {"__typename": "Query", "a": {"name": "Post"}, "b": None, "c": {"queryType": {"name": "Query"}}},
        {"__typename": "Query", "a": {"name": "User", "kind": "OBJECT"}, "b": None},
    ]
    assert answers[3] == answers[2]


async def test_the_cost_of_a_type_depends_on_the_variable_that_names_it(graph: Graph) -> None:
    executor = Executor(build()._schema, Limits())
    query = "query ($name: String!) { __type(name: $name) { fields { name } } }"
    costs = []
    for name in ("Node", "Mutation", "Node", "x" * 10_000):
        context = graph.context()
        await executor.run(GraphQLRequest(query, {"name": name}), context, may_mutate=False)
        costs.append(context.cost)

    node, mutation, again, unknown = costs
    assert node == again < mutation
    assert unknown == 1


@pytest.mark.parametrize("compiled", [True, False])
async def test_many_whole_introspections_cost_too_much(graph: Graph, computed: list[str], compiled: bool) -> None:
    executor = Executor(build()._schema, Limits(), compiled=compiled)
    aliases = " ".join(f"a{number}: __schema {{ ...S }}" for number in range(60))
    query = f"{{ {aliases} }} fragment S on __Schema {{ types {{ fields {{ name description type {{ name }} }} }} }}"

    answer = await executor.run(GraphQLRequest(query), graph.context(), may_mutate=False)

    assert answer.body["errors"][0]["extensions"] == {"code": "OVER_LIMIT"}
    assert computed == []


@pytest.mark.parametrize(
    "query",
    ["{ __schema { queryType { name } } }", '{ ...A } fragment A on Query { a: __type(name: "User") { name } }'],
)
@pytest.mark.parametrize("compiled", [True, False])
def test_introspection_can_be_off_or_for_signed_in_viewers(endpoint: str, query: str, compiled: bool) -> None:
    with a_table(endpoint) as table:
        with serving(endpoint, table, introspection="off", compile_queries=compiled) as off:
            assert refusal(off.post(query), 403).startswith("introspection (`__schema`, `__type`) is off")
            assert off.post(query).json()["errors"][0]["extensions"] == {"code": "FORBIDDEN"}
            assert off.post("{ __typename }").json() == {"data": {"__typename": "Query"}}
            assert "Did you mean" not in off.post("{ usersx }").text
            assert off.http.get("/schema.graphql").status_code == 403
        with serving(endpoint, table, introspection="signed-in", compile_queries=compiled) as signed_in:
            token = {"authorization": f"Bearer {signed_in.services.tokens.issue('ada')}"}
            assert refusal(signed_in.post(query), 401).startswith("introspection is for signed-in viewers")
            assert signed_in.post(query).headers["www-authenticate"] == "Bearer"
            assert "errors" not in signed_in.post(query, token).json()
            assert signed_in.http.get("/schema.graphql").status_code == 401
            assert signed_in.http.get("/schema.graphql", headers=token).text == sdl()
            assert signed_in.http.get("/schema.graphql", headers={"authorization": "Bearer x"}).status_code == 401
