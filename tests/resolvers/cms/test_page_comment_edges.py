"""Comments on pages: those of a page for visitors, and those of all pages for the staff."""

import pytest

from datastore.cms import PageComment, PageCommentStatus
from tests.resolvers.cms.test_page_comment_commands import APPROVED, COMMENTS, PENDING, QUEUE, REJECTED, bodies
from tests.support.cms import READER, STRANGER, VISITOR
from tests.support.cms_visitors import NOT_STAFF, ROLES
from tests.support.graph import id_of
from tests.support.social import ids


async def test_comments_of_a_page_in_the_order_of_time(graph, website):
    page, other = await website.content(), await website.content()
    said = [
        await website.thing(PageComment, node_id=page.node_id, body=status.name, status=status, author_email="v@x.org")
        for status in (APPROVED, PENDING, REJECTED, PageCommentStatus.SPAM, APPROVED)
    ]
    await website.thing(PageComment, node_id=other.node_id, status=APPROVED)
    await website.thing(PageComment, node_id=f"{page.node_id}0", status=APPROVED)
    await website.thing(PageComment, "other", node_id=page.node_id, status=APPROVED)

    to_staff = await graph.ask(COMMENTS, READER, id=page.node_id)
    to_others = [await graph.ask(COMMENTS, viewer, id=page.node_id) for viewer in (VISITOR, STRANGER)]

    nodes = to_staff.data["content"]["comments"]["nodes"]
    assert [node["id"] for node in nodes] == ids(*said)
    assert {node["authorEmail"] for node in nodes} == {"v@x.org"}
    for asked in to_others:
        shown = asked.data["content"]["comments"]["nodes"]
        assert [node["id"] for node in shown] == ids(said[0], said[4])
        assert [node["authorEmail"] for node in shown] == [None, None]
    assert [asked.calls for asked in (to_staff, *to_others)] == [{"GetItem": 1, "Query": 1}] * 3


async def test_comments_in_pages(graph, website):
    page = await website.content()
    for number in range(5):
        await website.thing(PageComment, node_id=page.node_id, body=str(number), status=APPROVED)
        await website.thing(PageComment, node_id=page.node_id, body="hidden")

    first = (await graph.ask(COMMENTS, VISITOR, id=page.node_id, first=3)).data["content"]["comments"]
    rest = await graph.ask(COMMENTS, VISITOR, id=page.node_id, first=3, after=first["pageInfo"]["endCursor"])

    assert (bodies(first), first["pageInfo"]["hasNextPage"]) == (["0", "1", "2"], True)
    assert bodies(rest.data["content"]["comments"]) == ["3", "4"]
    assert rest.data["content"]["comments"]["pageInfo"]["hasNextPage"] is False


@pytest.mark.parametrize("status", [None, *PageCommentStatus])
async def test_what_waits_for_the_staff_is_one_query(graph, website, status):
    page = await website.content()
    for each in PageCommentStatus:
        for number in range(2):
            await website.thing(PageComment, node_id=page.node_id, body=f"{each.name} {number}", status=each)
    await website.thing(PageComment, "other", node_id=page.node_id, status=status or PENDING)
    given = {"status": status.name} if status else {}

    asked = await graph.ask(QUEUE, READER, **given)

    name = (status or PENDING).name
    assert bodies(asked.data["pageComments"]) == [f"{name} 1", f"{name} 0"]
    assert asked.data["pageComments"]["nodes"][0]["content"] == {"databaseId": page.node_id}
    assert asked.calls == {"Query": 1, "GetItem": 1}


async def test_what_waits_comes_in_pages(graph, website):
    for number in range(3):
        await website.thing(PageComment, node_id="page", body=str(number))

    first = (await graph.ask(QUEUE, READER, first=2)).data["pageComments"]
    rest = (await graph.ask(QUEUE, READER, first=2, after=first["pageInfo"]["endCursor"])).data["pageComments"]

    assert (bodies(first), bodies(rest)) == (["2", "1"], ["0"])
    assert (first["pageInfo"]["hasNextPage"], rest["pageInfo"]["hasNextPage"]) == (True, False)


@pytest.mark.parametrize(("role", "code"), NOT_STAFF.items())
async def test_the_queue_is_for_the_staff(graph, website, role, code):
    waiting = await website.thing(PageComment, node_id="page")

    asked = await graph.ask(QUEUE, ROLES[role])
    node = await graph.ask("query ($id: ID!) { node(id: $id) { id } }", ROLES[role], id=id_of(waiting))

    assert asked.error["extensions"] == {"code": code}
    assert asked.calls == {}
    assert node.data == {"node": None}
