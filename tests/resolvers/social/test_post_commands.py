"""Commands of posts and likes: effects, refusals and calls."""

import asyncio

import pytest

from datastore.social import Post
from loaders.viewer import Viewer
from resolvers.background.jobs import Worker
from tests.support.graph import id_of, problem, viewer_of
from tests.support.social import (
    COMMENT,
    CREATE,
    DELETE,
    DELETE_COMMENT,
    FOLLOW,
    LIKE,
    UNFOLLOW,
    UNLIKE,
    UPDATE,
    UPDATE_COMMENT,
    counted,
)


async def test_publishing_a_post(graph, society):
    ada = await society.person("ada")

    asked = await graph.ask(CREATE, viewer_of(ada), input={"imageUrl": "https://x.org/y.jpg", "caption": " Look. "})

    payload = asked.data["createPost"]
    assert payload["problems"] == []
    assert payload["post"]["caption"] == "Look."
    assert payload["post"]["author"] == {"username": "ada", "postCount": 1}
    assert asked.calls == {"TransactWriteItems": 1, "GetItem": 1}


@pytest.mark.parametrize(
    ("given", "message", "path"),
    [
        (
            {"imageUrl": "http://x.org"},
            "a URL begins with https://, has no user name and at most 2048 bytes",
            "imageUrl",
        ),
        (
            {"imageUrl": "https://a:b@x.org"},
            "a URL begins with https://, has no user name and at most 2048 bytes",
            "imageUrl",
        ),
        ({"caption": "x" * 2201}, "this has 2201 characters; at most 2200 are allowed", "caption"),
        ({"caption": "a\x00b"}, "control characters are not allowed", "caption"),
    ],
)
async def test_a_post_that_is_refused(graph, society, given, message, path):
    ada = await society.person("ada")

    payload = await graph.command(CREATE, viewer_of(ada), **{"imageUrl": "https://x.org/y.jpg", **given})

    assert payload == {"post": None, "problems": [problem("INVALID", message, "input", path)]}
    assert (await graph.table.get(ada.own_key)).post_count == 0


async def test_a_caption_of_just_the_limit_is_fine(graph, society):
    ada = await society.person("ada")

    payload = await graph.command(CREATE, viewer_of(ada), imageUrl="https://x.org/y.jpg", caption="ö" * 2200)

    assert payload["problems"] == []


async def test_only_its_author_changes_a_post(graph, society):
    ada, bob = await society.person("ada"), await society.person("bob")
    post = await society.post(ada, caption="Before.")

    by_bob = await graph.command(UPDATE, viewer_of(bob), postId=id_of(post), caption="After.")
    by_ada = await graph.command(UPDATE, viewer_of(ada), postId=id_of(post), caption="After.")
    without = await graph.command(UPDATE, viewer_of(ada), postId=id_of(post), caption=None)

    assert by_bob["problems"] == [problem("FORBIDDEN", "only its author may do this", "input", "postId")]
    assert by_ada["post"] == {"caption": "After.", "imageUrl": post.image_url}
    assert without["post"]["caption"] is None


@pytest.mark.engine_contract
async def test_liking_counts_once_however_often(graph, society):
    ada, bob = await society.person("ada"), await society.person("bob")
    post = await society.post(ada)

    first = await graph.ask(LIKE, viewer_of(bob), input={"postId": id_of(post)})
    again = await graph.command(LIKE, viewer_of(bob), postId=id_of(post))

    assert first.data["likePost"] == {"post": {"likeCount": 1, "viewerHasLiked": True}, "problems": []}
    assert again == {"post": {"likeCount": 1, "viewerHasLiked": True}, "problems": []}
    assert first.calls == {"TransactWriteItems": 1, "GetItem": 2}


async def test_unliking_what_one_does_not_like_changes_nothing(graph, society):
    ada, bob = await society.person("ada"), await society.person("bob")
    post = await society.post(ada)
    await society.like(ada, post)

    nothing = await graph.command(UNLIKE, viewer_of(bob), postId=id_of(post))
    back = await graph.command(UNLIKE, viewer_of(ada), postId=id_of(post))

    assert nothing == {"post": {"likeCount": 1, "viewerHasLiked": False}, "problems": []}
    assert back == {"post": {"likeCount": 0, "viewerHasLiked": False}, "problems": []}


POST_COMMANDS = [
    (UPDATE, {"caption": "x"}),
    (DELETE, {}),
    (LIKE, {}),
    (UNLIKE, {}),
    (COMMENT, {"content": "x"}),
]


@pytest.mark.parametrize(("command", "given"), POST_COMMANDS)
async def test_commands_about_a_post_that_is_not_there(graph, society, command, given):
    ada = await society.person("ada")
    nowhere = id_of(Post(post_id="nowhere", user_id="x", image_url="https://x.org"))

    payload = await graph.command(command, viewer_of(ada), postId=nowhere, **given)

    assert payload["problems"] == [problem("NOT_FOUND", "there is no such post", "input", "postId")]


@pytest.mark.parametrize(("command", "given"), POST_COMMANDS)
async def test_commands_of_nobody_in_particular(graph, society, command, given):
    post = await society.post(await society.person("ada"))

    payload = await graph.command(command, postId=id_of(post), **given)

    assert [entry["code"] for entry in payload["problems"]] == ["UNAUTHENTICATED"]


@pytest.mark.parametrize(
    ("command", "given"), [*POST_COMMANDS[2:], (CREATE, {"imageUrl": "https://x.org/y"}), (FOLLOW, {})]
)
async def test_commands_of_an_account_that_is_not_there(graph, society, command, given):
    ada = await society.person("ada")
    target = {CREATE: {}, FOLLOW: {"userId": id_of(ada)}}.get(command, {"postId": id_of(await society.post(ada))})

    payload = await graph.command(command, Viewer("stranger"), **target, **given)

    assert payload["problems"] == [problem("NOT_FOUND", "there is no open account for this token")]
    assert (await counted(graph))["says"] == (await counted(graph))["found"]


async def test_deleting_a_post_hides_it_at_once_and_clears_up_behind_it(graph, society):
    ada, bob = await society.person("ada"), await society.person("bob")
    post, other = await society.post(ada), await society.post(ada)
    for target in (post, other):
        await society.like(bob, target)
        await society.comment(bob, target)

    payload = await graph.command(DELETE, viewer_of(ada), postId=id_of(post))

    assert payload == {"deletedPostId": id_of(post), "problems": []}
    asked = await graph.ask(
        "query ($id: ID!) { post(by: {id: $id}) { id } feed { nodes { id } } viewer { postCount posts { nodes { id "
        "} } } }",
        viewer_of(ada),
        id=id_of(post),
    )
    only_other = {"nodes": [{"id": id_of(other)}]}
    assert asked.data == {"post": None, "feed": only_other, "viewer": {"postCount": 1, "posts": only_other}}

    assert await Worker(graph.table).do_what_is_due() == 1
    left = [item["PK"]["S"] for item in await graph.items()]
    assert post.own_key.pk not in left
    assert left.count(other.own_key.pk) == 3
    totals = await counted(graph)
    assert totals["says"] == totals["found"]


async def test_deleting_a_post_twice_is_refused_and_counts_once(graph, society):
    ada = await society.person("ada")
    post = await society.post(ada)

    payloads = await asyncio.gather(*(graph.command(DELETE, viewer_of(ada), postId=id_of(post)) for _ in range(5)))

    assert sum(not payload["problems"] for payload in payloads) == 1
    assert (await graph.table.get(ada.own_key)).post_count == 0


BUDGETS = {
    CREATE: {"TransactWriteItems": 1, "GetItem": 1},
    UPDATE: {"GetItem": 2, "TransactWriteItems": 1},
    DELETE: {"GetItem": 1, "TransactWriteItems": 1},
    LIKE: {"GetItem": 2, "TransactWriteItems": 1},
    UNLIKE: {"GetItem": 2, "TransactWriteItems": 1},
    COMMENT: {"GetItem": 1, "TransactWriteItems": 1, "BatchGetItem": 1},
    UPDATE_COMMENT: {"GetItem": 2, "TransactWriteItems": 1},
    DELETE_COMMENT: {"GetItem": 3, "TransactWriteItems": 1},
    FOLLOW: {"GetItem": 2, "TransactWriteItems": 1},
    UNFOLLOW: {"GetItem": 2, "TransactWriteItems": 1},
}


@pytest.mark.parametrize("command", BUDGETS, ids=lambda command: command.split("{ ")[1].split("(")[0])
async def test_what_a_command_costs(graph, society, command):
    ada, bob = await society.person("ada"), await society.person("bob")
    post = await society.post(ada)
    comment = await society.comment(ada, post)
    if command is UNLIKE:
        await society.like(ada, post)
    if command is UNFOLLOW:
        await society.follow(ada, bob)
    given = {
        CREATE: {"imageUrl": "https://x.org/y"},
        UPDATE: {"postId": id_of(post), "caption": "New."},
        COMMENT: {"postId": id_of(post), "content": "Hm."},
        UPDATE_COMMENT: {"commentId": id_of(comment), "content": "Hm."},
        DELETE_COMMENT: {"commentId": id_of(comment)},
        FOLLOW: {"userId": id_of(bob)},
        UNFOLLOW: {"userId": id_of(bob)},
    }.get(command, {"postId": id_of(post)})

    asked = await graph.ask(command, viewer_of(ada), input=given)

    assert next(iter(asked.data.values()))["problems"] == []
    assert asked.calls == BUDGETS[command]
