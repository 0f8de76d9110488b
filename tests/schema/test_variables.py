"""Variables that cannot be coerced: a bounded number of errors, which tell no more of the schema than introspection."""

from typing import Any

import pytest

from schema.build import build
from schema.execution.executor import Executor
from schema.execution.introspection import Allowed
from schema.execution.limits import Limits
from schema.http.protocol import GraphQLRequest
from tests.support.graph import Graph

CREATE_CARD = "mutation ($input: CreateCardInput!) { createCard(input: $input) { problems { message } } }"
CARD = {"title": "A card", "categoryId": "x", "difficulty": "BEGINNER"}
INTROSPECTING = "query ($ids: [ID!]!) { __schema { queryType { name } } nodes(ids: $ids) { id } }"


async def messages(graph: Graph, executor: Executor, query: str, variables: dict[str, Any]) -> list[str]:
    answer = await executor.run(GraphQLRequest(query, variables), graph.context(), may_mutate=True)
    assert answer.request_error
    assert {error["extensions"]["code"] for error in answer.body["errors"]} == {"INVALID"}
    return [error["message"] for error in answer.body["errors"]]


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(
    ("query", "variables", "where"),
    [
        (CREATE_CARD, {"input": {**CARD, "tags": [1] * 500}}, "$input' has an invalid value at .tags"),
        (INTROSPECTING, {"ids": [1.5] * 500}, "$ids' has an invalid value at "),
    ],
    ids=["mutation", "introspection"],
)
async def test_only_the_first_errors_are_found(
    graph: Graph, compiled: bool, query: str, variables: dict[str, Any], where: str
) -> None:
    executor = Executor(build()._schema, Limits(), compiled=compiled)

    found = await messages(graph, executor, query, variables)

    assert [f"{where}[{number}]" in message for number, message in enumerate(found[:-1])] == [True] * 10
    assert found[-1] == "there are more errors; fix these first"


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(("introspection", "suggests"), [("on", True), ("off", False), ("signed-in", False)])
async def test_names_are_suggested_only_if_all_may_introspect(
    graph: Graph, compiled: bool, introspection: Allowed, suggests: bool
) -> None:
    executor = Executor(build()._schema, Limits(), compiled=compiled, introspection=introspection)

    (message,) = await messages(graph, executor, CREATE_CARD, {"input": {**CARD, "tagz": []}})

    assert ("Did you mean 'tags'?" in message) is suggests
    assert ("Did you mean" in message) is suggests
