"""Promises of the schema about the fields that edges declare."""

from graphql import GraphQLObjectType, is_non_null_type

from schema.build import build, sdl
from schema.declare.edges import EDGE, Derived
from schema.execution.compiler import DECLARED
from tests.support.graph import id_of

SCHEMA = build()._schema


def fields():
    for of_type in SCHEMA.type_map.values():
        if isinstance(of_type, GraphQLObjectType):
            for name, field in of_type.fields.items():
                declared = field.extensions.get(DECLARED)
                yield f"{of_type.name}.{name}", field, declared and declared.metadata.get(EDGE)


def test_a_field_that_reads_is_nullable_so_that_its_error_leaves_its_neighbors_alone():
    reading = {where: field for where, field, edge in fields() if edge and not isinstance(edge, Derived)}

    assert [where for where, field in reading.items() if is_non_null_type(field.type)] == []
    assert {"Query.nodes", "Query.slugAvailable", "Post.likeCount", "PostLikesConnection.totalCount"} < set(reading)


def test_every_root_field_is_nullable():
    roots = [*SCHEMA.query_type.fields.items(), *SCHEMA.mutation_type.fields.items()]

    assert [name for name, field in roots if is_non_null_type(field.type)] == []


def test_what_is_null_only_through_an_error_says_so():
    text = sdl()

    assert "directive @semanticNonNull(levels: [Int!]! = [0]) on FIELD_DEFINITION" in text
    assert "  likeCount: Int @semanticNonNull\n" in text
    assert "  nodes(\n" in text
    assert "  viewer: User\n" in text


async def test_too_many_ids_leave_the_other_fields_alone(graph):
    ada = await graph.add_user("ada")
    query = "query ($ids: [ID!]!, $by: UserBy!) { nodes(ids: $ids) { id } user(by: $by) { username } }"

    asked = await graph.ask(query, ids=[id_of(ada)] * 101, by={"id": id_of(ada)})

    assert asked.body["data"] == {"nodes": None, "user": {"username": "ada"}}
    assert (asked.error["path"], asked.error["message"]) == (["nodes"], "101 ids are too many; ask for 100 at a time")
