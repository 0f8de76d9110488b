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

from schema.build import build
from schema.execution.executor import Executor
from schema.execution.limits import Limits
from schema.http.protocol import GraphQLRequest
from tests.support.graph import Graph
from tests.support.serving import ROOT

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

    assert committed == build().as_str() + "\n", "schema/schema.graphql is stale: run `make docs`"


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
