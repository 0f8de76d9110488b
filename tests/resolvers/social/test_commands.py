"""The social network's commands: what they do, refuse and count."""

import asyncio
import random
from collections import Counter

import pytest

from datastore.accounts import User
from datastore.social import Comment, Follow, Like, Notification, Post, PostCounter
from loaders.viewer import Viewer
from resolvers.background.jobs import Worker
from resolvers.social import follow_commands, post_counters
from tests.support.graph import Graph, id_of, problem, viewer_of

PROBLEMS = "problems { code message path }"


def mutation(name: str, result: str) -> str:
    type_name = name[0].upper() + name[1:]
    return f"mutation ($input: {type_name}Input!) {{ {name}(input: $input) {{ {result} {PROBLEMS} }} }}"


CREATE = mutation("createPost", "post { id caption imageUrl author { username postCount } likeCount }")
UPDATE = mutation("updatePost", "post { caption imageUrl }")
DELETE = mutation("deletePost", "deletedPostId")
LIKE = mutation("likePost", "post { likeCount viewerHasLiked }")
UNLIKE = mutation("unlikePost", "post { likeCount viewerHasLiked }")
COMMENT = mutation("addComment", "comment { id content author { username } post { commentCount } }")
UPDATE_COMMENT = mutation("updateComment", "comment { content }")
DELETE_COMMENT = mutation("deleteComment", "deletedCommentId post { commentCount }")
FOLLOW = mutation("followUser", "user { username followerCount viewerFollows }")
UNFOLLOW = mutation("unfollowUser", "user { username followerCount viewerFollows }")


async def counted(graph: Graph) -> dict[str, Counter[str]]:
    """Counts of the stored items, next to the counters."""
    says: Counter[str] = Counter()
    found: Counter[str] = Counter()
    async for item in graph.table.every_item_for_maintenance():
        kind = item["entityType"]["S"]
        for name in ("likeCount", "commentCount", "postCount", "followerCount", "followingCount"):
            if name in item and "deletedAt" not in item:
                says[name] += int(item[name]["N"])
        if kind == "Post" and "deletedAt" not in item:
            found["postCount"] += 1
        found["likeCount"] += kind == "Like"
        found["commentCount"] += kind in ("Comment", "CardComment")
        found["followerCount"] += kind == "Follow"
        found["followingCount"] += kind == "Follow"
    return {"says": +says, "found": +found}


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


async def test_following_counts_once_and_both_ways(graph, society):
    ada, bob = await society.person("ada"), await society.person("bob")

    first = await graph.ask(FOLLOW, viewer_of(ada), input={"userId": id_of(bob)})
    again = await graph.command(FOLLOW, viewer_of(ada), userId=id_of(bob))
    following = (await graph.table.get(ada.own_key)).following_count
    back = await graph.command(UNFOLLOW, viewer_of(ada), userId=id_of(bob))
    nothing = await graph.command(UNFOLLOW, viewer_of(ada), userId=id_of(bob))

    followed = {"username": "bob", "followerCount": 1, "viewerFollows": True}
    unfollowed = {"username": "bob", "followerCount": 0, "viewerFollows": False}
    assert first.data["followUser"] == again == {"user": followed, "problems": []}
    assert following == 1
    assert back == nothing == {"user": unfollowed, "problems": []}
    assert (await graph.table.get(ada.own_key)).following_count == 0


async def test_nobody_follows_themselves(graph, society):
    ada = await society.person("ada")

    payload = await graph.command(FOLLOW, viewer_of(ada), userId=id_of(ada))

    assert payload["problems"] == [problem("INVALID", "you cannot follow yourself", "input", "userId")]


async def test_there_is_a_limit_to_following(graph, society, monkeypatch):
    monkeypatch.setattr(follow_commands, "MAX_FOLLOWING", 1)
    ada, bob, eve = [await society.person(name) for name in ("ada", "bob", "eve")]
    await graph.command(FOLLOW, viewer_of(ada), userId=id_of(bob))

    payload = await graph.command(FOLLOW, viewer_of(ada), userId=id_of(eve))

    assert payload["problems"] == [problem("INVALID", "you can follow at most 1 users", "input", "userId")]
    assert (await graph.table.get(eve.own_key)).follower_count == 0


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


async def test_what_others_do_is_notified_and_what_one_does_oneself_is_not(graph, society):
    ada, bob = await society.person("ada"), await society.person("bob")
    post = await society.post(ada)

    for viewer in (viewer_of(bob), viewer_of(ada)):
        await graph.command(LIKE, viewer, postId=id_of(post))
        await graph.command(COMMENT, viewer, postId=id_of(post), content="Hm.")
    await graph.command(FOLLOW, viewer_of(bob), userId=id_of(ada))

    asked = await graph.ask(
        "{ viewer { notifications { nodes { kind actor { username } post { id } } } } }", viewer_of(ada)
    )
    assert asked.data["viewer"]["notifications"]["nodes"] == [
        {"kind": "FOLLOW", "actor": {"username": "bob"}, "post": None},
        {"kind": "COMMENT", "actor": {"username": "bob"}, "post": {"id": id_of(post)}},
        {"kind": "LIKE", "actor": {"username": "bob"}, "post": {"id": id_of(post)}},
    ]
    kept = await graph.table.query(Notification.within(user_id=ada.user_id), limit=10)
    assert all(note.expires_at is not None for note in kept.records)


async def test_deleting_a_post_hides_it_at_once_and_clears_up_behind_it(graph, society):
    ada, bob = await society.person("ada"), await society.person("bob")
    post, other = await society.post(ada), await society.post(ada)
    for target in (post, other):
        await society.like(bob, target)
        await society.comment(bob, target)

    payload = await graph.command(DELETE, viewer_of(ada), postId=id_of(post))

    assert payload == {"deletedPostId": id_of(post), "problems": []}
    asked = await graph.ask(
        "query ($id: ID!) { post(id: $id) { id } feed { nodes { id } } viewer { postCount posts { nodes { id } } } }",
        viewer_of(ada),
        id=id_of(post),
    )
    only_other = {"nodes": [{"id": id_of(other)}]}
    assert asked.data == {"post": None, "feed": only_other, "viewer": {"postCount": 1, "posts": only_other}}

    assert await Worker(graph.table).do_what_is_due() == 1
    left = [item["PK"]["S"] async for item in graph.table.every_item_for_maintenance()]
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


@pytest.mark.parametrize("sharded", [False, True], ids=["one counter", "sharded counters"])
async def test_a_hundred_clients_like_and_unlike_one_post(graph, society, engine_name, sharded):
    clients, turns = (100, 20) if engine_name != "moto" else (20, 5)
    author = await society.person("author")
    post = await society.post(author)
    if sharded:
        await post_counters.shard_counters(graph.context().load, post)
    people = [User(user_id=f"u{n}", username=f"u{n}", email=f"u{n}@example.org") for n in range(clients)]
    await graph.table.batch_write(puts=people)
    chance = random.Random(7)
    choices = [[chance.random() < 0.5 for _ in range(turns)] for _ in people]

    async def fickle(person: User, likes: list[bool]) -> None:
        for wants in likes:
            payload = await graph.command(LIKE if wants else UNLIKE, viewer_of(person), postId=id_of(post))
            assert payload["problems"] == []
            assert payload["post"]["viewerHasLiked"] is wants

    await asyncio.gather(*map(fickle, people, choices))

    expected = sum(likes[-1] for likes in choices)
    asked = await graph.ask("query ($id: ID!) { post(id: $id) { likeCount } }", id=id_of(post))
    items = await graph.table.query(Like.within(post_id=post.post_id), limit=200)
    assert asked.data["post"]["likeCount"] == len(items.records) == expected


async def test_counts_stay_right_while_they_move_into_shards(graph, society):
    author = await society.person("author")
    post = await society.post(author)
    people = [await society.person(f"u{n}") for n in range(20)]

    async def like_then_comment(person: User) -> None:
        await graph.command(LIKE, viewer_of(person), postId=id_of(post))
        await graph.command(COMMENT, viewer_of(person), postId=id_of(post), content="Hm.")

    await asyncio.gather(
        *map(like_then_comment, people[:10]),
        post_counters.shard_counters(graph.context().load, post),
        *map(like_then_comment, people[10:]),
    )

    asked = await graph.ask("query ($id: ID!) { post(id: $id) { likeCount commentCount } }", id=id_of(post))
    assert asked.data["post"] == {"likeCount": 20, "commentCount": 20}
    assert (await graph.table.get(post.own_key)).counter_shards == post_counters.COUNTER_SHARDS


async def test_a_sharded_post_can_be_deleted_and_then_liked_no_more(graph, society):
    ada, bob = await society.person("ada"), await society.person("bob")
    post = await society.post(ada)
    await post_counters.shard_counters(graph.context().load, post)
    await graph.command(LIKE, viewer_of(bob), postId=id_of(post))

    deleted = await graph.command(DELETE, viewer_of(ada), postId=id_of(post))
    liked = await graph.command(LIKE, viewer_of(bob), postId=id_of(post))

    assert deleted["problems"] == []
    assert liked["problems"] == [problem("NOT_FOUND", "there is no such post", "input", "postId")]
    assert await graph.table.get(PostCounter.key(post_id=post.post_id, shard=0)) is None


async def test_racing_follows_and_unfollows_leave_exact_counts(graph, society):
    people = [await society.person(f"person{n}") for n in range(6)]
    chance = random.Random(11)

    async def sociable(person: User) -> None:
        for _ in range(6):
            other = chance.choice([other for other in people if other is not person])
            await graph.command(chance.choice([FOLLOW, UNFOLLOW]), viewer_of(person), userId=id_of(other))

    await asyncio.gather(*map(sociable, people))

    follows = Counter()
    async for item in graph.table.every_item_for_maintenance():
        if item["entityType"]["S"] == Follow.__name__:
            follows["out", item["followerId"]["S"]] += 1
            follows["in", item["followingId"]["S"]] += 1
    for person in people:
        stored = await graph.table.get(person.own_key)
        assert stored.following_count == follows["out", person.user_id]
        assert stored.follower_count == follows["in", person.user_id]


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


# What each command costs: what it has to read, one transaction, and what its payload asks to see again.
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
