"""Notifications of a tenant's staff."""

from tests.resolvers.cms.test_page_comment_commands import ADD, MODERATE
from tests.support.cms import EDITOR, STRANGER, VISITOR
from tests.support.graph import id_of, mutation, viewer_of
from tests.support.notifications import sources

INBOX = "{ staffNotificationGroups { nodes { id kind count text isRead target { id } } } }"
READ = mutation("markNotificationGroupRead", "notificationGroup { isRead }")


async def test_the_staff_is_notified_of_comments_until_they_are_moderated(graph, website):
    page = await website.content(title="Opening hours")
    said = [
        await graph.command(ADD, VISITOR, contentId=id_of(page), authorName="Vera", body=f"Nice {number}.")
        for number in range(2)
    ]
    await graph.settle()

    asked = await graph.ask(INBOX, EDITOR)
    (group,) = asked.data["staffNotificationGroups"]["nodes"]
    assert group["text"] == "2 comments on the page “Opening hours” wait for moderation."
    assert group["target"] == {"id": id_of(page)}
    assert asked.calls == {"Query": 1, "GetItem": 2}

    read = await graph.command(READ, EDITOR, notificationGroupId=group["id"])
    assert read == {"notificationGroup": {"isRead": True}, "problems": []}
    for comment in said:
        await graph.command(MODERATE, EDITOR, commentId=comment["pageComment"]["id"], status="APPROVED")
    await graph.settle()
    assert (await graph.ask(INBOX, EDITOR)).data == {"staffNotificationGroups": {"nodes": []}}
    assert await sources(graph) == 0


async def test_nobody_else_sees_them(graph, website):
    page = await website.content()
    await graph.command(ADD, VISITOR, contentId=id_of(page), authorName="Vera", body="Nice.")
    await graph.settle()
    namesake = await graph.add_user("eve", user_id="staff of acme")
    (group,) = (await graph.ask(INBOX, EDITOR)).data["staffNotificationGroups"]["nodes"]

    for viewer, code in ((VISITOR, "UNAUTHENTICATED"), (STRANGER, "FORBIDDEN"), (viewer_of(namesake), "INVALID")):
        assert (await graph.ask(INBOX, viewer)).errors == [("staffNotificationGroups", code)]
        asked = await graph.ask("query ($id: ID!) { node(id: $id) { id } }", viewer, id=group["id"])
        assert asked.data == {"node": None}
    own = await graph.ask("{ viewer { notificationGroups { nodes { id } } } }", viewer_of(namesake))
    assert own.data == {"viewer": {"notificationGroups": {"nodes": []}}}
