"""Notifications of likes, comments and follows."""

from datastore.social import Notification
from tests.support.graph import id_of, viewer_of
from tests.support.social import COMMENT, FOLLOW, LIKE


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
