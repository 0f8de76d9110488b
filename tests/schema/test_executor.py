"""Plans and graphql-core: compiled responses, operations without a plan, and no repeated commands."""

import json

import pytest
from graphql import build_schema

from datastore.client.writes import Update
from datastore.social import Comment
from schema.execution import executor as executor_module
from schema.execution.documents import Documents
from schema.execution.executor import Executor
from schema.execution.limits import Limits
from schema.execution.weighted_cache import WeightedCache
from schema.http.protocol import GraphQLRequest
from schema.http.settings import Settings
from tests.conftest import services_at
from tests.schema.running import ADD_COMMENT, run
from tests.support.fault_proxy import Answer, Call, nothing_wrong
from tests.support.graph import Graph, id_of, viewer_of
from tests.support.social import count_too_many_likes

TOO_LARGE_FOR_INT = 2**40


async def test_a_query_runs_as_a_plan(graph, society):
    ada = await society.person("ada")

    body, context = await run(graph, "query ($id: ID!) { user(by: {id: $id}) { username } }", id=id_of(ada))

    assert body == {"data": {"user": {"username": "ada"}}}
    assert context.compiled


async def test_plans_can_be_switched_off(endpoint, settings, society, monkeypatch):
    await society.person("ada")
    monkeypatch.setenv("COMPILE_QUERIES", "false")
    off = Settings(**settings.model_dump(exclude={"compile_queries"}))

    async with services_at(endpoint, off) as services:
        body, context = await run(Graph(services), '{ user(by: {username: "ada"}) { username } }')

    assert body == {"data": {"user": {"username": "ada"}}}
    assert not context.compiled


async def test_introspection_and_data_come_in_one_plan(graph, society):
    await society.person("ada")

    body, context = await run(
        graph,
        """query ($name: String!) { __typename type: __type(name: $name) { name } users { nodes { username } }
            __schema { queryType { name } } }""",
        name="User",
    )

    assert list(body["data"]) == ["__typename", "type", "users", "__schema"]
    assert body["data"] == {
        "__typename": "Query",
        "type": {"name": "User"},
        "users": {"nodes": [{"username": "ada"}]},
        "__schema": {"queryType": {"name": "Query"}},
    }
    assert context.compiled


@pytest.mark.parametrize(
    ("bio", "name", "expected"),
    [
        (True, True, {"username": "ada", "bio": None}),
        (True, False, {"bio": None}),
        (False, True, {"username": "ada"}),
    ],
)
async def test_what_is_skipped_varies_from_run_to_run(graph, society, bio, name, expected):
    await society.person("ada")
    query = """query ($bio: Boolean!, $name: Boolean = true) {
        user(by: {username: "ada"}) { username @include(if: $name) bio @skip(if: $bio) bio @include(if: $bio) } }"""

    for _ in range(2):
        body, context = await run(graph, query, bio=bio, **({} if name else {"name": False}))
        assert body == {"data": {"user": expected if bio else {"username": "ada", "bio": None}}}
        assert context.compiled


async def test_a_mistake_in_one_field_leaves_the_others_and_is_read_for_once(graph, society):
    ada = await society.person("ada")
    query = "query ($id: ID!) { user(by: {id: $id}) { username } post(by: {id: $id}) { id } users { nodes { id } } }"

    body, context = await run(graph, query, id=id_of(ada))

    assert body["data"] == {"user": {"username": "ada"}, "post": None, "users": {"nodes": [{"id": id_of(ada)}]}}
    (error,) = body["errors"]
    assert error["path"] == ["post"]
    assert error["message"] == f"{id_of(ada)!r} is an id of type User; send one of type Post"
    assert context.compiled
    assert context.load.table.usage.calls == {"Query": 1}


async def test_a_damaged_value_shows_when_everything_else_has_been_read(graph, society):
    ada, bob = await society.person("ada"), await society.person("bob")
    posts = [await society.post(ada) for _ in range(3)]
    await society.comment(bob, posts[2], "Hm.")
    await graph.table.update(Update(bob.own_key, set={"follower_count": TOO_LARGE_FOR_INT}))

    body, context = await run(
        graph, "{ feed { nodes { id comments { nodes { content author { username followerCount } } } } } }"
    )

    (error,) = body["errors"]
    assert error["path"] == ["feed", "nodes", 0, "comments", "nodes", 0, "author"]
    assert [node["comments"]["nodes"] for node in body["data"]["feed"]["nodes"]] == [
        [{"content": "Hm.", "author": None}],
        [],
        [],
    ]
    assert context.compiled
    assert context.load.table.usage.calls == {"Query": 4, "GetItem": 1}


async def test_a_command_is_carried_out_once_though_its_payload_fails(graph, society):
    ada = await society.person("ada")
    post = await society.post(ada)
    await count_too_many_likes(graph, post)

    body, context = await run(
        graph,
        f"""mutation ($post: ID!) {{
            one: {ADD_COMMENT} {{ comment {{ content }} }}
            two: {ADD_COMMENT} {{ comment {{ content post {{ likeCount }} }} }}
            three: {ADD_COMMENT} {{ comment {{ content post {{ commentCount }} }} }} }}""",
        viewer_of(ada),
        post=id_of(post),
    )

    assert list(body["data"]) == ["one", "two", "three"]
    assert body["data"] == {
        "one": {"comment": {"content": "Hm."}},
        "two": {"comment": {"content": "Hm.", "post": {"likeCount": None}}},
        "three": {"comment": {"content": "Hm.", "post": {"commentCount": 3}}},
    }
    assert [error["path"] for error in body["errors"]] == [["two", "comment", "post", "likeCount"]]
    assert context.compiled
    assert len((await graph.table.query(Comment.within(post_id=post.post_id), limit=10)).records) == 3


async def test_what_was_answered_before_a_mutation_failed_stays_as_it_was(graph, society):
    """If it ran again at the end, the post would no longer be liked."""
    ada = await society.person("ada")
    post, odd = await society.post(ada), await society.post(ada)
    await count_too_many_likes(graph, odd)

    body, _ = await run(
        graph,
        """mutation ($post: ID!, $odd: ID!) {
            likePost(input: {postId: $post}) { post { viewerHasLiked likeCount } }
            unlikePost(input: {postId: $post}) { post { viewerHasLiked likeCount } }
            odd: likePost(input: {postId: $odd}) { post { viewerHasLiked likeCount } } }""",
        viewer_of(ada),
        post=id_of(post),
        odd=id_of(odd),
    )

    assert body["data"] == {
        "likePost": {"post": {"viewerHasLiked": True, "likeCount": 1}},
        "unlikePost": {"post": {"viewerHasLiked": False, "likeCount": 0}},
        "odd": {"post": {"viewerHasLiked": True, "likeCount": None}},
    }


async def test_an_accident_in_a_command_is_not_tried_again(faulty_graph, proxy, society):
    """The write fails permanently: the first field succeeds, the second is an error, the third runs."""
    ada = await society.person("ada")
    post = await society.post(ada)

    async def refused(call: Call) -> Answer:
        name = "com.amazonaws.dynamodb.v20120810#AccessDeniedException"
        return Answer.of(400, json.dumps({"__type": name, "message": "Not this one."}).encode())

    proxy.will("TransactWriteItems", nothing_wrong, times=1)
    proxy.will("TransactWriteItems", refused, times=1)
    body, _ = await run(
        faulty_graph,
        f"""mutation ($post: ID!) {{ one: {ADD_COMMENT} {{ problems {{ code }} }}
            two: {ADD_COMMENT} {{ problems {{ code }} }} three: {ADD_COMMENT} {{ problems {{ code }} }} }}""",
        viewer_of(ada),
        post=id_of(post),
    )

    assert body["data"] == {"one": {"problems": []}, "two": None, "three": {"problems": []}}
    assert [error["path"] for error in body["errors"]] == [["two"]]
    assert proxy.seen["TransactWriteItems"] == 3


async def test_an_operation_with_very_many_fields_is_left_to_graphql_core(graph, society):
    ada = await society.person("ada")
    names = " ".join(f"a{number}: username" for number in range(450))
    again = " ".join(f"u{number}: user(by: {{id: $id}}) {{ ...Many }}" for number in range(5))

    body, context = await run(
        graph, f"query ($id: ID!) {{ {again} }} fragment Many on User {{ {names} }}", id=id_of(ada)
    )

    assert {name: len(user) for name, user in body["data"].items()} == {f"u{number}": 450 for number in range(5)}
    assert not context.compiled


async def test_a_plan_reads_for_the_fields_it_covers_before_graphql_core_executes(graph, society):
    ada, bob = await society.person("ada"), await society.person("bob")
    for post in [await society.post(ada) for _ in range(3)]:
        await society.comment(bob, post, "Hm.")
    read = "author { username } comments { nodes { content author { username } } }"
    names = " ".join(f"a{number}: caption" for number in range(450))

    covered, plan = await run(graph, f"{{ feed {{ nodes {{ {read} }} }} }}")
    body, context = await run(
        graph,
        f"""{{ {" ".join(f"a{number}: feed {{ nodes {{ ...Many {read} }} }}" for number in range(5))} }}
            fragment Many on Post {{ {names} }}""",
    )

    assert plan.compiled
    assert not context.compiled
    assert context.load.table.usage.calls == plan.load.table.usage.calls
    assert [post["comments"] for post in body["data"]["a4"]["nodes"]] == [
        post["comments"] for post in covered["data"]["feed"]["nodes"]
    ]


async def test_a_plan_reads_on_for_the_other_fields_after_an_error(graph, society):
    ada, bob = await society.person("ada"), await society.person("bob")
    for post in [await society.post(ada) for _ in range(3)]:
        await society.comment(bob, post, "Hm.")
    await count_too_many_likes(graph, post)
    read = "author { username } comments { nodes { content author { username } } }"

    _, plan = await run(graph, f"{{ feed {{ nodes {{ {read} }} }} }}")
    body, context = await run(graph, f"{{ feed {{ nodes {{ likeCount {read} }} }} }}")

    assert plan.compiled
    assert context.compiled
    assert len(body["errors"]) == 1
    assert context.load.table.usage.calls == plan.load.table.usage.calls


async def test_no_more_documents_and_plans_are_kept_than_fit(graph, society, monkeypatch):
    await society.person("ada")
    kept = WeightedCache(300_000)
    monkeypatch.setattr(graph.services.executor._documents, "_valid", kept)

    for number in range(40):
        body, context = await run(graph, f"{{ a{number}: users {{ nodes {{ username }} }} }}")
        assert body == {"data": {f"a{number}": {"nodes": [{"username": "ada"}]}}}
        assert context.compiled
        assert kept._weight == sum(weight for _, weight in kept._kept.values()) <= 300_000

    assert 2 <= len(kept._kept) < 40


async def test_refused_documents_are_kept_apart_from_valid_ones(graph, monkeypatch):
    caches = Documents(graph.services.executor.schema, Limits())
    monkeypatch.setattr(graph.services.executor, "_documents", caches)
    good, invalid, costly = "{ __typename }", "{ nothing }", "{ feed(first: 100) { nodes { likes(first: 100) { edges"
    costly += " { node { id username } } } } } }"

    await run(graph, good)
    bodies = [(await run(graph, query))[0] for query in (invalid, costly, "{", invalid, costly, "{")]

    assert [*caches._valid._kept] == [good]
    assert [*caches._others._kept] == [invalid, costly, "{"]
    assert bodies[:3] == bodies[3:]
    assert caches.prepare(invalid).document is None


async def test_the_cost_is_known_to_the_context(graph):
    _, context = await run(graph, "{ users(first: 7) { nodes { username bio } } }")

    assert context.cost == 7 + 2


async def test_what_graphql_core_raises_is_an_internal_error(graph, monkeypatch):
    schema = build_schema("type Query { greeting: String }")

    def raising(*_, **__):
        raise TypeError("no defer here")

    monkeypatch.setattr(executor_module, "experimental_execute_incrementally", raising)
    answer = await Executor(schema, Limits()).run(GraphQLRequest("{ greeting }"), graph.context(), may_mutate=False)

    (error,) = answer.body["errors"]
    assert error["extensions"]["code"] == "INTERNAL"
    assert "defer" not in error["message"]
    assert "data" not in answer.body
    assert answer.status == 500
