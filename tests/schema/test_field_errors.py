"""Errors of fields in plans: at their paths, beside untouched neighbors, and without executing anything again."""

import json
from typing import Any

import pytest

from datastore.accounts import User
from loaders.viewer import ANONYMOUS, Viewer
from loaders.visibility import RULES, visibility
from schema.execution.executor import Executor
from schema.execution.limits import Limits
from schema.http.protocol import GraphQLRequest
from tests.support.both_executors import SCHEMA, Answered, assert_alike
from tests.support.fault_proxy import FaultProxy, Request, denied
from tests.support.graph import Graph, damage, id_of, viewer_of
from tests.support.social import Society, count_too_many_likes

PLAN, REFERENCE = (Executor(SCHEMA, Limits(), compiled=compiled) for compiled in (True, False))
READ = "author { username } comments { nodes { content author { username } } }"


async def run(executor: Executor, graph: Graph, query: str, viewer: Viewer, variables: dict[str, Any]) -> Answered:
    context = graph.context(viewer)
    answer = await executor.run(GraphQLRequest(query, variables), context, may_mutate=True)
    return Answered(answer.body, context.load.table.usage.calls, context.compiled)


async def answered(graph: Graph, query: str, viewer: Viewer = ANONYMOUS, **variables: Any) -> Answered:
    """Returns the response of the plan, which must be that of graphql-core."""
    plan = await run(PLAN, graph, query, viewer, variables)
    assert_alike(plan, await run(REFERENCE, graph, query, viewer, variables))
    assert plan.compiled
    return plan


def paths(answer: Answered) -> list[list[Any]]:
    return [error["path"] for error in answer.body["errors"]]


async def posts_with_comments(society: Society) -> tuple[User, User, list[Any]]:
    ada, bob = await society.person("ada"), await society.person("bob")
    posts = [await society.post(ada) for _ in range(3)]
    for post in posts:
        await society.comment(bob, post, "Hm.")
    return ada, bob, posts[::-1]


async def test_refused_arguments_are_errors_at_every_place_and_read_nothing(graph, society):
    await posts_with_comments(society)

    plan = await answered(graph, f"{{ feed {{ nodes {{ {READ} }} }} }}")
    failing = await answered(
        graph,
        f"""query ($size: Int, $id: ID = "x") {{ user(by: {{id: "rubbish"}}) {{ id }} feed {{ nodes {{ id
            likes(first: $size) {{ nodes {{ id }} }} {READ} }} }} nothing: post(by: {{id: $id}}) {{ id }} }}""",
        size=0,
        id=None,
    )

    assert paths(failing) == [["user"], *(["feed", "nodes", place, "likes"] for place in range(3)), ["nothing"]]
    assert {error["extensions"]["code"] for error in failing.body["errors"]} == {"INVALID"}
    assert [node["likes"] for node in failing.body["data"]["feed"]["nodes"]] == [None] * 3
    assert failing.calls == plan.calls


async def test_a_cursor_of_one_list_is_an_error_for_all_other_lists(graph, society):
    ada, bob, _ = await posts_with_comments(society)
    page = "query ($id: ID!) { user(by: {id: $id}) { posts(first: 1) { pageInfo { endCursor } } } }"
    first = await answered(graph, page, id=id_of(ada))
    cursor = first.body["data"]["user"]["posts"]["pageInfo"]["endCursor"]
    query = """query ($ids: [ID!]!, $after: String) { nodes(ids: $ids) { ... on User {
        username posts(first: 1, after: $after) { totalCount } } } }"""

    one = await answered(graph, query, ids=[id_of(ada), id_of(bob)], after=cursor)

    assert paths(one) == [["nodes", 1, "posts"]]
    assert one.body["data"]["nodes"] == [
        {"username": "ada", "posts": {"totalCount": 3}},
        {"username": "bob", "posts": None},
    ]


async def test_a_damaged_record_fails_only_where_it_is_and_at_each_of_its_places(graph, society):
    ada, bob, posts = await posts_with_comments(society)
    await society.comment(ada, posts[1], "Well.")
    plan = await answered(graph, f"{{ feed {{ nodes {{ {READ} }} }} }}")
    await damage(graph, bob, createdAt={"S": "yesterday"})

    failing = await answered(graph, f"{{ feed {{ nodes {{ {READ} }} }} }}")

    assert paths(failing) == [["feed", "nodes", place, "comments", "nodes", 0, "author"] for place in range(3)]
    assert failing.body["data"]["feed"]["nodes"][1] == {
        "author": {"username": "ada"},
        "comments": {
            "nodes": [{"content": "Hm.", "author": None}, {"content": "Well.", "author": {"username": "ada"}}]
        },
    }
    assert {error["extensions"]["code"] for error in failing.body["errors"]} == {"DAMAGED"}
    assert failing.calls == plan.calls


async def test_an_error_leaves_null_in_its_place_and_its_neighbors_alone(graph, society):
    ada, _, posts = await posts_with_comments(society)
    await count_too_many_likes(graph, posts[1])

    failing = await answered(
        graph,
        """query ($id: ID!, $ada: ID!) { feed { nodes { id likeCount } } post(by: {id: $id}) { comments { nodes {
            content post { likeCount author { id } } } } } author: user(by: {id: $ada}) { username } }""",
        id=id_of(posts[1]),
        ada=id_of(ada),
    )

    assert failing.body["data"] == {
        "feed": {"nodes": [{"id": id_of(post), "likeCount": None if post is posts[1] else 0} for post in posts]},
        "post": {
            "comments": {"nodes": [{"content": "Hm.", "post": {"likeCount": None, "author": {"id": id_of(ada)}}}]}
        },
        "author": {"username": "ada"},
    }
    assert paths(failing) == [
        ["feed", "nodes", 1, "likeCount"],
        ["post", "comments", "nodes", 0, "post", "likeCount"],
    ]


async def test_invalid_ids_are_errors_at_their_own_index(graph, society):
    ada, bob = await society.person("ada"), await society.person("bob")
    await damage(graph, bob, createdAt={"S": "yesterday"})

    failing = await answered(
        graph,
        "query ($ids: [ID!]!) { nodes(ids: $ids) { ... on User { username } } }",
        ids=["rubbish", id_of(ada), id_of(bob), id_of(ada)],
    )

    assert failing.body["data"] == {"nodes": [None, {"username": "ada"}, None, {"username": "ada"}]}
    assert [(error["path"], error["extensions"]["code"]) for error in failing.body["errors"]] == [
        (["nodes", 0], "INVALID"),
        (["nodes", 2], "DAMAGED"),
    ]
    assert failing.calls == {"BatchGetItem": 1}


async def test_a_refused_field_leaves_the_others(graph, society):
    ada = await society.person("ada")

    failing = await answered(
        graph,
        "query ($id: ID!) { auditLog { nodes { id } } user(by: {id: $id}) { username } leads { nodes { id } } }",
        Viewer(ada.user_id, tenant_id="acme"),
        id=id_of(ada),
    )

    assert failing.body["data"] == {"auditLog": None, "user": {"username": "ada"}, "leads": None}
    assert [(error["path"], error["extensions"]["code"]) for error in failing.body["errors"]] == [
        (["auditLog"], "FORBIDDEN"),
        (["leads"], "FORBIDDEN"),
    ]
    assert failing.calls == {"GetItem": 1}


async def test_a_page_that_cannot_be_read_fails_alone_and_is_not_read_again(
    graph, faulty_graph, society, proxy: FaultProxy
):
    _, _, posts = await posts_with_comments(society)

    def comments_of_the_second(request: Request) -> bool:
        return f"POST#{posts[1].post_id}" in json.dumps(request["ExpressionAttributeValues"])

    plan = await answered(graph, f"{{ feed {{ nodes {{ {READ} }} }} }}")
    proxy.will("Query", denied, when=comments_of_the_second)
    failing = await answered(faulty_graph, f"{{ feed {{ nodes {{ {READ} }} }} }}")

    assert paths(failing) == [["feed", "nodes", 1, "comments"]]
    assert [node["comments"] is None for node in failing.body["data"]["feed"]["nodes"]] == [False, True, False]
    assert failing.calls == plan.calls


async def test_items_that_cannot_be_read_are_not_read_again(graph, faulty_graph, society, proxy: FaultProxy):
    await posts_with_comments(society)

    plan = await answered(graph, f"{{ feed {{ nodes {{ {READ} }} }} }}")
    proxy.will("BatchGetItem", denied)
    failing = await answered(faulty_graph, f"{{ feed {{ nodes {{ {READ} }} }} }}")

    assert paths(failing) == [
        ["feed", "nodes", place, *rest]
        for place in range(3)
        for rest in (["author"], ["comments", "nodes", 0, "author"])
    ]
    assert failing.calls == plan.calls


async def test_errors_of_a_mutation_leave_its_other_fields(graph, society):
    ada = await society.person("ada")
    post = await society.post(ada)
    await count_too_many_likes(graph, post)

    mutation = """mutation ($post: ID!, $no: ID = "x") {
        one: addComment(input: {postId: $post, content: "Hm."}) { comment { content post { likeCount } } }
        two: addComment(input: {postId: $no, content: "Hm."}) { comment { content } }
        three: addComment(input: {postId: $post, content: "Well."}) { comment { content post { commentCount } } } }"""
    answer = await run(PLAN, graph, mutation, viewer_of(ada), {"post": id_of(post), "no": None})

    assert answer.compiled
    assert answer.body["data"] == {
        "one": {"comment": {"content": "Hm.", "post": {"likeCount": None}}},
        "two": None,
        "three": {"comment": {"content": "Well.", "post": {"commentCount": 2}}},
    }
    assert [(error["path"], error["extensions"]) for error in answer.body["errors"]] == [
        (["one", "comment", "post", "likeCount"], {"code": "DAMAGED", "outcome": "APPLIED"}),
        (["two"], {"code": "INVALID"}),
    ]


@pytest.fixture
def rule_of_bob(monkeypatch: pytest.MonkeyPatch) -> None:
    """A visibility rule of users with a programming error, for one of them."""

    def rule(user: User, _: Viewer) -> bool:
        if user.username == "bob":
            raise LookupError(user.user_id)
        return True

    monkeypatch.delitem(RULES, User)
    visibility(User)(rule)


@pytest.mark.usefixtures("rule_of_bob")
async def test_a_bug_fails_only_the_records_it_concerns_and_is_counted(graph, society):
    await posts_with_comments(society)

    failing = await answered(graph, f"{{ feed {{ nodes {{ {READ} }} }} }}")

    assert paths(failing) == [["feed", "nodes", place, "comments", "nodes", 0, "author"] for place in range(3)]
    assert {error["extensions"]["code"] for error in failing.body["errors"]} == {"INTERNAL"}
    assert Executor.plan_failures == {"LookupError": 1}
    Executor.plan_failures.clear()
