"""Commands of comments on posts: effects, refusals and races."""

import asyncio

import pytest

from datastore.social import Comment
from tests.support.graph import id_of, problem, viewer_of
from tests.support.social import COMMENT, DELETE_COMMENT, UPDATE_COMMENT


async def test_commenting_changing_and_deleting(graph, society):
    ada, bob = await society.person("ada"), await society.person("bob")
    post = await society.post(ada)

    made = await graph.ask(COMMENT, viewer_of(bob), input={"postId": id_of(post), "content": " Nice. "})
    comment = made.data["addComment"]["comment"]
    changed = await graph.command(UPDATE_COMMENT, viewer_of(bob), commentId=comment["id"], content="Very nice.")
    deleted = await graph.command(DELETE_COMMENT, viewer_of(bob), commentId=comment["id"])
    again = await graph.command(DELETE_COMMENT, viewer_of(bob), commentId=comment["id"])

    assert comment == {
        "id": comment["id"],
        "content": "Nice.",
        "author": {"username": "bob"},
        "post": {"commentCount": 1},
    }
    assert changed == {"comment": {"content": "Very nice."}, "problems": []}
    assert deleted == {"deletedCommentId": comment["id"], "post": {"commentCount": 0}, "problems": []}
    assert again["problems"] == [problem("NOT_FOUND", "there is no such comment", "input", "commentId")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("x" * 1001, "this has 1001 characters; at most 1000 are allowed"),
        (" \n ", "this needs at least one character"),
    ],
)
async def test_a_comment_that_is_refused(graph, society, content, message):
    ada = await society.person("ada")
    post = await society.post(ada)

    payload = await graph.command(COMMENT, viewer_of(ada), postId=id_of(post), content=content)

    assert payload == {"comment": None, "problems": [problem("INVALID", message, "input", "content")]}


@pytest.mark.parametrize(
    ("who", "may_change", "may_delete"),
    [("its author", True, True), ("the author of the post", False, True), ("another", False, False)],
)
async def test_who_may_change_and_delete_a_comment(graph, society, who, may_change, may_delete):
    people = {
        name: await society.person(f"p{n}")
        for n, name in enumerate(["the author of the post", "its author", "another"])
    }
    comment = await society.comment(people["its author"], await society.post(people["the author of the post"]))
    viewer = viewer_of(people[who])

    changed = await graph.command(UPDATE_COMMENT, viewer, commentId=id_of(comment), content="Changed.")
    deleted = await graph.command(DELETE_COMMENT, viewer, commentId=id_of(comment))

    assert [not changed["problems"], not deleted["problems"]] == [may_change, may_delete]
    assert {p["code"] for payload in (changed, deleted) for p in payload["problems"]} <= {"FORBIDDEN"}


async def test_comments_added_and_deleted_at_once_leave_an_exact_count(graph, society):
    ada = await society.person("ada")
    post = await society.post(ada)
    comments = [await society.comment(ada, post) for _ in range(10)]

    await asyncio.gather(
        *(graph.command(DELETE_COMMENT, viewer_of(ada), commentId=id_of(c)) for c in comments for _ in range(2)),
        *(graph.command(COMMENT, viewer_of(ada), postId=id_of(post), content="New.") for _ in range(7)),
    )

    assert (await graph.table.get(post.own_key)).comment_count == 7
    assert len((await graph.table.query(Comment.within(post_id=post.post_id), limit=50)).records) == 7
