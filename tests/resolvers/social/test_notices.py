"""Notifications of likes, comments and follows."""

from datastore.notifications import Notification
from tests.support.graph import id_of, viewer_of
from tests.support.notifications import groups, sources, stored, texts
from tests.support.social import COMMENT, DELETE, DELETE_COMMENT, FOLLOW, LIKE, UNFOLLOW, UNLIKE


async def test_what_others_do_is_notified_and_what_one_does_oneself_is_not(graph, society):
    ada, bob = await society.person("ada"), await society.person("bob")
    post = await society.post(ada)

    for viewer in (viewer_of(bob), viewer_of(ada)):
        await graph.command(LIKE, viewer, postId=id_of(post))
        await graph.command(COMMENT, viewer, postId=id_of(post), content="Hm.")
    await graph.command(FOLLOW, viewer_of(bob), userId=id_of(ada))
    await graph.settle()

    asked = await graph.ask(
        "{ viewer { notifications { nodes { kind actor { username } post { id } target { id } } } } }", viewer_of(ada)
    )
    assert asked.data["viewer"]["notifications"]["nodes"] == [
        {"kind": "FOLLOW", "actor": {"username": "bob"}, "post": None, "target": {"id": id_of(ada)}},
        {"kind": "COMMENT", "actor": {"username": "bob"}, "post": {"id": id_of(post)}, "target": {"id": id_of(post)}},
        {"kind": "LIKE", "actor": {"username": "bob"}, "post": {"id": id_of(post)}, "target": {"id": id_of(post)}},
    ]
    kept = await graph.table.query(Notification.within(user_id=ada.user_id), limit=10)
    assert all(note.expires_at is not None for note in kept.records)


async def test_each_is_taken_back_with_its_cause(graph, society):
    ada, bob = await society.person("ada"), await society.person("bob")
    post = await society.post(ada, caption="A hinge")
    await graph.command(LIKE, viewer_of(bob), postId=id_of(post))
    comment = await graph.command(COMMENT, viewer_of(bob), postId=id_of(post), content="Hm.")
    await graph.command(FOLLOW, viewer_of(bob), userId=id_of(ada))
    assert sorted(await texts(graph, ada)) == [
        "bob commented on your post “A hinge”.",
        "bob liked your post “A hinge”.",
        "bob started to follow you.",
    ]

    await graph.command(UNLIKE, viewer_of(bob), postId=id_of(post))
    await graph.command(DELETE_COMMENT, viewer_of(bob), commentId=comment["comment"]["id"])
    await graph.command(UNFOLLOW, viewer_of(bob), userId=id_of(ada))

    assert await texts(graph, ada) == []
    assert await stored(graph, ada) == (0, 0)
    assert await sources(graph) == 0


async def test_likes_of_a_deleted_post_are_gone(graph, society):
    ada, bob = await society.person("ada"), await society.person("bob")
    post = await society.post(ada)
    await graph.command(LIKE, viewer_of(bob), postId=id_of(post))
    assert await texts(graph, ada) == ["bob liked your post."]

    await graph.command(DELETE, viewer_of(ada), postId=id_of(post))

    assert await texts(graph, ada) == []
    await graph.settle(jobs=True)
    assert await stored(graph, ada) == (0, 0)


async def test_ten_likes_and_unlikes_in_one_request_leave_one_or_none(graph, society):
    ada, bob = await society.person("ada"), await society.person("bob")
    post = await society.post(ada)
    turns = " ".join(
        f"l{turn}: likePost(input: $like) {{ post {{ id }} }} u{turn}: unlikePost(input: $unlike) {{ post {{ id }} }}"
        for turn in range(10)
    )
    both = f"mutation ($like: LikePostInput!, $unlike: UnlikePostInput!) {{ {turns} }}"
    given = {"postId": id_of(post)}

    asked = await graph.ask(both, viewer_of(bob), like=given, unlike=given)

    assert len(asked.data) == 20
    await graph.settle()
    assert await stored(graph, ada) == (0, 0)
    await graph.command(LIKE, viewer_of(bob), postId=id_of(post))
    await graph.settle()
    assert await stored(graph, ada) == (1, 1)


async def test_comments_are_counted_and_people_are_counted_once(graph, society):
    ada, bob, cyd, dan = [await society.person(name) for name in ("ada", "bob", "cyd", "dan")]
    post = await society.post(ada)
    for person in (bob, cyd, dan):
        await graph.command(LIKE, viewer_of(person), postId=id_of(post))
    for _ in range(2):
        await graph.command(COMMENT, viewer_of(bob), postId=id_of(post), content="Hm.")

    by_kind = {node["kind"]: node for node in await groups(graph, ada)}

    assert by_kind["LIKE"]["text"] == "dan and 2 others liked your post."
    assert by_kind["LIKE"]["count"] == 3
    assert [user["username"] for user in by_kind["LIKE"]["latestActors"]] == ["dan", "cyd", "bob"]
    assert by_kind["COMMENT"]["text"] == "There are 2 comments on your post, the latest by bob."
    assert [user["username"] for user in by_kind["COMMENT"]["latestActors"]] == ["bob"]
