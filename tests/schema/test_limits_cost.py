"""The cost of a query: the most records it can read."""

from typing import Any

import pytest
from graphql import parse

from schema.build import build
from schema.execution.limits import Limits, OverLimit, check_operation
from tests.schema.hostile import cost, refusal
from tests.support.serving import Served

OVER_COST = "the query could read over 30 records; ask for smaller pages or fewer levels"


@pytest.mark.parametrize(
    ("query", "variables"),
    [
        ("{ users(first: 31) { nodes { id } } }", {}),
        ("{ users(last: 31) { nodes { id } } }", {}),
        ("{ users(first: 1, last: 100) { nodes { id } } }", {}),
        ("query ($n: Int) { users(first: $n) { nodes { id } } }", {"n": 100}),
        ("query ($n: Int) { users(first: $n) { nodes { id } } }", {"n": 100.0}),
        ("query ($n: Int = 100) { users(first: $n) { nodes { id } } }", {}),
        ("query ($n: Int = 1) { users(first: $n) { nodes { id } } }", {"n": 100}),
        ("{ a: users { nodes { id } } b: users { nodes { id } } }", {}),
        ("{ a: users(first: -100) { nodes { id } } b: users(first: 100) { nodes { id } } }", {}),
        ("{ ...A } fragment A on Query { a: users { nodes { id } } ... { b: users { edges { cursor } } } }", {}),
        ("query ($ids: [ID!]!) { nodes(ids: $ids) { id } }", {"ids": ["x"] * 31}),
        ("query ($ids: [ID!]! = [%s]) { nodes(ids: $ids) { id } }" % ("7 " * 31), {}),
        ("{ nodes(ids: [%s]) { id } }" % ("7 " * 31), {}),
    ],
)
def test_a_query_that_could_read_too_much_is_400(strict: Served, query: str, variables: dict[str, Any]) -> None:
    assert refusal(strict.post(query, variables=variables)) == OVER_COST


def nested(levels: int, size: int) -> str:
    return f"friends(first: {size}) {{ edges {{ node {{" * levels + " name " + "} } }" * levels


@pytest.mark.parametrize(
    ("query", "records"),
    [
        ("{ me { name } }", 1),
        ("{ me { best { best { name } } } }", 3),
        ("{ me { friends { nodes { name } } } }", 1 + 20),
        ("{ me { friends(first: 5) { nodes { friends(first: 3) { edges { node { name } } } } } } }", 1 + 5 + 5 * 3),
        ("{ me { friends(last: 5) { nodes { best { name } } } } }", 1 + 5 + 5),
        ("{ a: me { ...F } b: me { ...F } } fragment F on Person { friends(first: 2) { nodes { name } } }", 2 * 3),
        ('{ people(ids: ["a", "b"]) { friends(first: 7) { nodes { name } } } }', 2 + 2 * 7),
    ],
)
def test_the_cost_is_the_most_records_a_query_can_bring(query: str, records: int) -> None:
    assert cost(query) == records


@pytest.mark.parametrize(
    ("query", "records"),
    [
        ("{ topCards(first: 5) { nodes { title instructions } } }", 5 + 5 * 20),
        ("{ topCards(first: 5) { edges { node { instructions materials } } } }", 5 + 5 * 40),
        ("{ topCards(first: 5) { nodes { a: instructions b: instructions } } }", 5 + 5 * 40),
        ('{ nodes(ids: ["x", "y"]) { ... on Content { blocks versions(first: 3) { nodes { blocks } } } } }', 168),
        ('{ site(id: "x") { config } }', 1 + 20),
        ("mutation { publishCard(input: {cardId: 1}) { card { ...C } } } fragment C on Card { instructions }", 2 + 20),
    ],
)
def test_what_lists_leave_out_costs_something_for_each_record(query: str, records: int) -> None:
    document = parse(query)
    operation: Any = document.definitions[0]

    assert check_operation(build()._schema, document, operation, {}, Limits()) == records


def test_aliases_cannot_bring_hundreds_of_large_texts(server: Served) -> None:
    wanted = " ".join(f"a{number}: topCards(first: 25) {{ nodes {{ instructions }} }}" for number in range(20))

    assert refusal(server.post(f"{{ {wanted} }}")) == (
        "the query could read over 10000 records; ask for smaller pages or fewer levels"
    )


@pytest.mark.parametrize("levels", [2, 3, 30])
def test_pages_of_100_within_pages_of_100_are_over_the_limit(levels: int) -> None:
    with pytest.raises(OverLimit, match="could read over 10000 records"):
        cost(f"{{ me {{ {nested(levels, 100)} }} }}")


@pytest.mark.parametrize("size", [100, 100.0])
def test_the_size_of_a_page_counts_in_a_variable_too(size: float) -> None:
    query = "query ($n: Int) { me { friends(first: $n) { nodes { friends(first: $n) { nodes { name } } } } } }"

    with pytest.raises(OverLimit):
        cost(query, n=size)


def test_a_negative_size_pays_for_nothing() -> None:
    assert cost("{ me { name friends(first: -1000) { nodes { name } } } }") >= 1
