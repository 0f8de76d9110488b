"""The cost of a query: records, leaves and everything else it could return."""

from typing import Any

import pytest
from graphql import GraphQLInterfaceType, GraphQLObjectType, get_introspection_query

from schema.build import build
from schema.execution.limits import Limits, OverLimit
from tests.schema.hostile import cost, refusal, whole
from tests.support.serving import Served


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
    assert " of at most 30" in refusal(strict.post(query, variables=variables))


def nested(levels: int, size: int) -> str:
    return f"friends(first: {size}) {{ edges {{ node {{" * levels + " name " + "} } }" * levels


@pytest.mark.parametrize(
    ("query", "records", "leaves"),
    [
        ("{ me { name } }", 1, 1),
        ("{ me { best { best { name } } } }", 3, 1),
        ("{ me { friends { nodes { name } } } }", 1 + 20, 20),
        ("{ me { friends(first: 30) { pageInfo { hasNextPage } } } }", 1 + 30, 2),
        ("{ me { friends(last: 5) { nodes { best { name } } } } }", 1 + 5 + 5, 5),
        ("{ a: me { ...F } b: me { ...F } } fragment F on Person { friends(first: 2) { nodes { name } } }", 2 * 3, 4),
        ('{ people(ids: ["a", "b"]) { friends(first: 7) { nodes { name } } } }', 2 + 2 * 7, 14),
        ("{ me { friends(first: 9) { nodes { name } edges { node { name } } } } }", 1 + 2 * 9, 9 + 2 * 9),
        ("{ me { friends(first: 9) { a: nodes { name } b: nodes { x: name y: name } } } }", 1 + 2 * 9, 3 * 9),
        ("{ me { ...A ...B } } fragment A on Person { ...B name } fragment B on Person { best { name } }", 2, 2),
        ("{ " + " ".join(f"a{n}: __typename" for n in range(400)) + " }", 0, 400),
        ("{ me { %s: name } }" % ("a" * 500), 1, 11),
    ],
)
def test_records_leaves_aliases_and_parts_of_pages_are_paid_for(query: str, records: int, leaves: int) -> None:
    assert cost(query) == whole(records, leaves)


@pytest.mark.parametrize(
    ("query", "records", "leaves"),
    [
        ("{ topCards(first: 5) { nodes { title instructions } } }", 5 + 5 * 20, 5 + 50),
        ("{ topCards(first: 5) { edges { node { instructions materials } } } }", 5 + 5 * 40, 5 + 50 + 5),
        ("{ topCards(first: 5) { nodes { a: materials b: materials } } }", 5 + 5 * 40, 10),
        ('{ nodes(ids: ["x", "y"]) { ... on Content { blocks versions(first: 3) { nodes { blocks } } } } }', 168, 8),
        ('{ site(by: {id: "x"}) { config } }', 1 + 20, 1),
        ("mutation { publishCard(input: {cardId: 1}) { card { ...C } } } fragment C on Card { materials }", 22, 1),
        ("{ feed(first: 10) { nodes { viewerHasLiked } } }", 10 + 10, 10),
        ('mutation { likePost(input: {postId: "x"}) { problems { message } } }', 1 + 10, 10),
    ],
)
def test_fields_that_read_or_return_more_cost_more(query: str, records: int, leaves: int) -> None:
    assert cost(query, build()._schema) == whole(records, leaves)


def test_aliases_cannot_bring_hundreds_of_large_texts(server: Served) -> None:
    wanted = " ".join(f"a{number}: topCards(first: 25) {{ nodes {{ instructions }} }}" for number in range(20))

    assert refusal(server.post(f"{{ {wanted} }}")) == (
        "the query costs 11,000 of at most 10,000, a0 alone 550; ask for fewer fields, or in several queries"
    )


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (
            "{ feed(first: 100) { nodes { id comments(first: 100) { nodes { content } } } } }",
            "feed.nodes.comments costs 11,000 of at most 10,000; ask for smaller pages or fewer fields",
        ),
        (
            "{ feed(first: 100) { edges { node { c: comments(first: 100) { nodes { author { posts(first: 9) "
            "{ nodes { id } } } } } } } } }",
            "feed.edges.node.c.nodes.author.posts costs 99,000 of at most 10,000; "
            "ask for smaller pages or fewer fields",
        ),
        (
            "{ " + " ".join(f"a{n}: users(first: 100) {{ nodes {{ id }} }}" for n in range(99)) + " }",
            "the query costs 10,890 of at most 10,000, a0 alone 110; ask for fewer fields, or in several queries",
        ),
    ],
)
def test_the_costliest_path_is_named(query: str, message: str) -> None:
    with pytest.raises(OverLimit) as refused:
        cost(query, build()._schema)
    assert str(refused.value) == message


@pytest.mark.parametrize("levels", [2, 3, 30])
def test_pages_of_100_within_pages_of_100_are_over_the_limit(levels: int) -> None:
    with pytest.raises(OverLimit, match="of at most 10,000"):
        cost(f"{{ me {{ {nested(levels, 100)} }} }}")


@pytest.mark.parametrize("size", [100, 100.0])
def test_the_size_of_a_page_counts_in_a_variable_too(size: float) -> None:
    query = "query ($n: Int) { me { friends(first: $n) { nodes { friends(first: $n) { nodes { name } } } } } }"

    with pytest.raises(OverLimit):
        cost(query, n=size)


def test_a_negative_size_pays_for_nothing() -> None:
    assert cost("{ me { name friends(first: -1000) { nodes { name } } } }") >= 1


def test_leaves_and_records_multiply_in_a_query_of_aliases() -> None:
    wanted = " ".join(f"a{number}: caption" for number in range(300))
    pages = " ".join(f"p{number}: nodes {{ ...P }}" for number in range(20))

    with pytest.raises(OverLimit, match=r"^feed costs 62,000 of at most 10,000"):
        cost(f"{{ feed(first: 100) {{ {pages} }} }} fragment P on Post {{ {wanted} }}", build()._schema)


def test_a_bomb_of_fragments_costs_what_it_would_return_and_is_priced_in_no_time() -> None:
    bomb = " ".join(
        f"fragment F{n} on Person {{ a: best {{ ...F{n + 1} }} b: best {{ ...F{n + 1} }} }}" for n in range(50)
    )

    with pytest.raises(OverLimit) as refused:
        cost(f"{{ me {{ ...F0 }} }} {bomb} fragment F50 on Person {{ name }}", limits=Limits(depth=100, cost=10**15))
    assert str(refused.value).startswith("me.a costs 1,182,")


def test_introspection_costs_what_it_can_return() -> None:
    schema = build()._schema

    assert cost("{ __schema { queryType { name } } }", schema) == 1
    assert cost("{ __schema { types { name } } }", schema) == whole(0, 1 + 2 * len(schema.type_map))
    assert 1_000 < cost(get_introspection_query(), schema) < 5_000


def test_the_introspection_of_one_type_costs_its_real_size() -> None:
    schema = build()._schema
    mutation, node = schema.type_map["Mutation"], schema.type_map["Node"]
    assert isinstance(mutation, GraphQLObjectType)
    assert isinstance(node, GraphQLInterfaceType)
    arguments = "fields { name description args { name description type { ofType { inputFields { name } } } } }"

    assert cost("{ __schema { mutationType { fields { name } } } }", schema) >= len(mutation.fields) * 2 / 10
    assert cost('{ __type(name: "Mutation") { fields { name } } }', schema) >= len(mutation.fields) * 2 / 10
    assert cost(f"{{ __schema {{ mutationType {{ {arguments} }} }} }}", schema) >= len(mutation.fields) * 9 / 10
    assert cost('{ __type(name: "CreateCardInput") { inputFields { name } } }', schema) >= 12 * 2 / 10
    assert cost('{ __type(name: "Node") { possibleTypes { name } } }', schema) >= (
        len(schema.get_possible_types(node)) * 2 / 10
    )
    assert cost('{ __type(name: "Nothing") { fields { name } } }', schema) == 1


def test_what_is_not_in_the_schema_costs_nothing_and_breaks_nothing() -> None:
    assert cost("{ nothing { at { all } } ...Missing ... on Nobody { x { y } } me { name { x } friends } }") == 2
    assert cost("{ ...A } fragment A on Nobody { friends(first: $n, last: [1]) { nodes } }") == 0
    assert cost("subscription { x __typename __schema { types { name } } }") == 0
