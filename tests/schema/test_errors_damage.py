"""Damaged records: an error of their own, left out of lists, and not touched by commands."""

import pytest

from schema.declare.errors import DAMAGED
from tests.support.graph import damage, id_of, viewer_of
from tests.support.social import count_too_many_likes

USER = "query ($id: ID!) { user(by: {id: $id}) { username } users { nodes { username } } }"


@pytest.mark.parametrize(
    "attributes",
    [
        {"createdAt": {"S": "yesterday"}},
        {"followerCount": {"N": "99999999999"}},
        {"schemaVersion": {"N": "99"}},
        {"username": None},
        {"entityType": {"S": "Unheard"}},
    ],
    ids=["time", "number", "version", "missing", "entity"],
)
async def test_a_damaged_record_is_an_error_of_its_own(graph, society, attributes):
    ada, _ = await society.person("ada"), await society.person("bob")
    await damage(graph, ada, **attributes)

    answer = await graph.ask(USER.replace("username", "username followerCount"), id=id_of(ada))

    assert answer.body["data"] == {"user": None, "users": {"nodes": [{"username": "bob", "followerCount": 0}]}}
    assert answer.error == {
        "message": DAMAGED,
        "path": ["user"],
        "locations": [{"line": 1, "column": 20}],
        "extensions": {"code": "DAMAGED"},
    }


async def test_damage_in_a_field_that_is_not_asked_for_does_no_harm(graph, society):
    ada = await society.person("ada")
    await damage(graph, ada, followerCount={"N": "99999999999"})

    answer = await graph.ask(USER, id=id_of(ada))

    assert answer.body == {"data": {"user": {"username": "ada"}, "users": {"nodes": [{"username": "ada"}]}}}


async def test_a_damaged_record_is_found_damaged_by_its_name(graph, society):
    ada = await society.person("ada")
    await damage(graph, ada, createdAt={"S": "yesterday"})

    answer = await graph.ask('{ user(by: {username: "ada"}) { id } }')

    assert answer.body["data"] == {"user": None}
    assert answer.error["extensions"] == {"code": "DAMAGED"}


async def test_a_link_to_a_damaged_record_is_left_out(graph, society):
    ada, bob, eve = [await society.person(name) for name in ("ada", "bob", "eve")]
    for person in (ada, bob):
        await society.follow(person, eve)
    await damage(graph, await graph.table.get(ada.own_key), createdAt={"S": "yesterday"})

    query = "query ($id: ID!) { user(by: {id: $id}) { followers { totalCount nodes { username } } } }"
    answer = await graph.ask(query, id=id_of(eve))

    assert answer.body["data"] == {"user": {"followers": {"totalCount": 2, "nodes": [{"username": "bob"}]}}}
    assert answer.body.keys() == {"data"}


async def test_what_is_inside_of_a_damaged_record_is_hidden(graph, society):
    ada = await society.person("ada")
    post = await society.post(ada)
    comment = await society.comment(ada, post)
    await damage(graph, post, createdAt={"S": "yesterday"})

    answer = await graph.ask("query ($id: ID!) { node(id: $id) { id } }", id=id_of(comment))

    assert answer.body == {"data": {"node": None}}


async def test_a_command_does_not_touch_a_damaged_record(graph, society):
    ada = await society.person("ada")
    await damage(graph, ada, createdAt={"S": "yesterday"}, followerCount={"S": "many"})
    before = await graph.items()

    mutation = 'mutation { updateProfile(input: {bio: "Me."}) { problems { code } user { id } } }'
    answer = await graph.ask(mutation, viewer_of(ada))

    assert answer.body["data"] == {"updateProfile": None}
    assert answer.error["extensions"]["code"] == "DAMAGED"
    assert await graph.items() == before


async def test_a_counter_of_another_type_is_damage(graph, society):
    ada, bob = await society.person("ada"), await society.person("bob")
    await damage(graph, bob, followerCount={"S": "many"})

    mutation = "mutation ($id: ID!) { followUser(input: {userId: $id}) { problems { code } } }"
    answer = await graph.ask(mutation, viewer_of(ada), id=id_of(bob))

    assert answer.error["extensions"]["code"] == "DAMAGED"


async def test_a_sum_that_its_type_does_not_allow_is_damage(graph, society):
    post = await society.post(await society.person("ada"))
    await count_too_many_likes(graph, post)

    answer = await graph.ask("query ($id: ID!) { post(by: {id: $id}) { likeCount } }", id=id_of(post))

    assert answer.body["data"] == {"post": {"likeCount": None}}
    assert answer.error["path"] == ["post", "likeCount"]
    assert answer.error["extensions"] == {"code": "DAMAGED"}
