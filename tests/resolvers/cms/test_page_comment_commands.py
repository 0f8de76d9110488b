"""Comments of visitors: added without a token, moderated by the staff."""

import asyncio
import time
from types import SimpleNamespace
from typing import Any

import pytest

from datastore.cms import Content, ContentStatus, PageComment, PageCommentStatus
from datastore.security import AuditActor, AuditTarget
from loaders.viewer import ANONYMOUS, Viewer
from resolvers.core import rate_limit
from schema.http.protocol import GraphQLRequest
from tests.support.cms import EDITOR, READER, VISITOR, audited, codes, command, staff, visitor
from tests.support.cms_visitors import NOT_EDITORS, ROLES
from tests.support.graph import Graph, id_of
from tests.support.social import minute

COMMENT = "id authorName authorEmail body status createdAt"


ADD = command("addPageComment", f"pageComment {{ {COMMENT} content {{ databaseId }} }}")


MODERATE = command("moderatePageComment", f"pageComment {{ {COMMENT} }}")


DELETE_COMMENT = command("deletePageComment", "deletedCommentId")


COMMENTS = f"""query ($id: String!, $first: Int, $after: String) {{ content(by: {{databaseId: $id}}) {{
    comments(first: $first, after: $after) {{ nodes {{ {COMMENT} }} pageInfo {{ hasNextPage endCursor }} }} }} }}"""


QUEUE = f"""query ($status: PageCommentStatus, $first: Int, $after: String) {{
    pageComments(status: $status, first: $first, after: $after) {{
        nodes {{ {COMMENT} content {{ databaseId }} }} pageInfo {{ hasNextPage endCursor }} }} }}"""


REJECTED, APPROVED, PENDING = PageCommentStatus.REJECTED, PageCommentStatus.APPROVED, PageCommentStatus.PENDING


async def say(graph: Graph, page: Content, viewer: Viewer = VISITOR, **given: Any) -> dict[str, Any]:
    return await graph.command(
        ADD, viewer, **{"contentId": id_of(page), "authorName": "Vera", "body": "Nice.", **given}
    )


def bodies(page: dict[str, Any]) -> list[str]:
    return [node["body"] for node in page["nodes"]]


async def all_comments(graph: Graph, page: Content) -> list[PageComment]:
    within = PageComment.within(tenant_id=page.tenant_id, node_id=page.node_id)
    return [*(await graph.table.query(within, limit=100)).records]


async def test_a_visitor_comments_without_a_token(graph, website):
    await website.tenant()
    page = await website.content()
    given = {"authorName": " Vera ", "authorEmail": " Vera@Example.ORG", "body": "Nice.\nVery."}

    asked = await graph.ask(ADD, VISITOR, input={"contentId": id_of(page), **given})

    (comment,) = await all_comments(graph, page)
    assert asked.data["addPageComment"] == {
        "pageComment": {
            "id": id_of(comment),
            "authorName": "Vera",
            "authorEmail": None,
            "body": "Nice.\nVery.",
            "status": "PENDING",
            "createdAt": comment.created_at,
            "content": {"databaseId": page.node_id},
        },
        "problems": [],
    }
    assert comment.author_email == "vera@example.org"
    # The page; the count and the comment.
    assert asked.calls == {"GetItem": 1, "TransactWriteItems": 2}
    (entry,) = await audited(graph)
    assert (entry.actor, entry.action) == (AuditActor(), "addPageComment")
    own_id = f"{page.node_id}/{comment.created_at}"
    assert entry.target == AuditTarget(type="PageComment", id=own_id, title="Vera")
    assert entry.before is None
    assert entry.after == {
        "nodeId": page.node_id,
        "authorName": "Vera",
        "authorEmail": "vera@example.org",
        "body": "Nice.\nVery.",
        "status": "PENDING",
    }


@pytest.mark.parametrize("viewer", [VISITOR, EDITOR])
@pytest.mark.parametrize("status", [status for status in ContentStatus if status is not ContentStatus.PUBLISHED])
async def test_only_what_is_on_the_website_is_commented_on(graph, website, viewer, status):
    await website.tenant()
    page = await website.content(status=status)

    payload = await say(graph, page, viewer)

    message = "there is no such content"
    assert payload["problems"] == [{"code": "NOT_FOUND", "message": message, "path": ["input", "contentId"]}]
    assert await all_comments(graph, page) == []
    assert await audited(graph) == []


async def test_a_page_of_another_tenant_is_not_there(graph, website):
    for tenant_id in ("acme", "other"):
        await website.tenant(tenant_id)
    theirs = await website.content("other")
    missing = await website.content("other", node_id="gone")
    await graph.table.batch_write(deletes=[missing.own_key])

    payloads = [await say(graph, page) for page in (theirs, missing)]

    assert [codes(payload) for payload in payloads] == [[("NOT_FOUND", "contentId")]] * 2
    assert await all_comments(graph, theirs) == []


async def test_a_comment_takes_a_tenant(graph, website):
    page = await website.content()

    nobodys = await say(graph, page, ANONYMOUS)
    unknown = await say(graph, page, visitor("nowhere"))

    assert codes(nobodys) == [("INVALID",)]
    assert codes(unknown) == [("NOT_FOUND", "contentId")]
    assert await all_comments(graph, page) == []


@pytest.mark.parametrize(
    ("given", "paths"),
    [
        ({"body": " \n "}, ["body"]),
        ({"body": "x" * 2_001}, ["body"]),
        ({"body": "a\x00b"}, ["body"]),
        ({"body": "a\ud800"}, ["body"]),
        ({"authorName": ""}, ["authorName"]),
        ({"authorName": "x" * 101}, ["authorName"]),
        ({"authorEmail": "nobody"}, ["authorEmail"]),
        ({"authorEmail": "a#b@example.org"}, ["authorEmail"]),
        ({"authorEmail": ""}, ["authorEmail"]),
        ({"authorEmail": "x", "authorName": "", "body": ""}, ["authorName", "authorEmail", "body"]),
        ({"contentId": "nonsense"}, ["contentId"]),
    ],
)
async def test_what_cannot_be_said(graph, website, given, paths):
    await website.tenant()
    page = await website.content()

    payload = await say(graph, page, **given)

    assert payload["pageComment"] is None
    assert codes(payload) == [("INVALID", path) for path in paths]
    assert await all_comments(graph, page) == []


async def test_what_can_just_be_said(graph, website):
    await website.tenant()
    page = await website.content()

    payload = await say(graph, page, body="\N{DECIDUOUS TREE}" * 2_000, authorName="x" * 100, authorEmail=None)

    assert payload["problems"] == []
    assert payload["pageComment"]["body"] == "\N{DECIDUOUS TREE}" * 2_000


async def test_two_comments_in_one_millisecond_are_two(graph, website, clock):
    await website.tenant()
    page = await website.content()
    first = await website.thing(PageComment, node_id=page.node_id)
    clock(first.created_at, first.created_at, minute(100))

    payload = await say(graph, page, body="Second.")

    assert payload["problems"] == []
    kept = await all_comments(graph, page)
    assert [(comment.body, comment.created_at) for comment in kept] == [
        ("Nice.", first.created_at),
        ("Second.", minute(100)),
    ]


async def test_a_clock_that_stands_still_is_said(graph, website, clock):
    await website.tenant()
    page = await website.content()
    first = await website.thing(PageComment, node_id=page.node_id)
    clock(*[first.created_at] * 5)

    payload = await say(graph, page, body="Second.")

    assert codes(payload) == [("CONFLICT",)]
    assert await all_comments(graph, page) == [first]
    assert await audited(graph) == []


async def test_twenty_comments_at_once_are_twenty(graph, website):
    await website.tenant()
    page = await website.content()

    payloads = await asyncio.gather(*(say(graph, page, body=f"Comment {number}") for number in range(20)))

    assert [payload["problems"] for payload in payloads] == [[]] * 20
    assert len(await all_comments(graph, page)) == 20


async def test_nobody_comments_too_often(graph, website, monkeypatch):
    for tenant_id in ("acme", "other"):
        await website.tenant(tenant_id)
    page, theirs = await website.content(), await website.content("other")
    now = time.time()
    monkeypatch.setattr(rate_limit, "time", SimpleNamespace(time=lambda: now))
    refused = [await say(graph, page, body="") for _ in range(3)]

    allowed = [await say(graph, page) for _ in range(20)]
    too_many = await say(graph, page)
    elsewhere = await say(graph, theirs, visitor("other"))
    by_another = await graph.services.executor.run(
        GraphQLRequest(ADD, {"input": {"contentId": id_of(page), "authorName": "Bob", "body": "Hi."}}),
        graph.context(VISITOR, address="192.0.2.2"),
        may_mutate=True,
    )
    monkeypatch.setattr(rate_limit, "time", SimpleNamespace(time=lambda: now + 3_600))
    an_hour_later = await say(graph, page)

    assert {code for payload in refused for code in codes(payload)} == {("INVALID", "body")}
    assert {code for payload in allowed for code in codes(payload)} == set()
    assert codes(too_many) == [("RATE_LIMITED",)]
    assert too_many["problems"][0]["message"].startswith("too many comments; try again in ")
    assert codes(elsewhere) == codes(an_hour_later) == []
    assert by_another.body["data"]["addPageComment"]["problems"] == []
    assert len(await all_comments(graph, page)) == 22


async def test_editors_decide_what_is_on_the_page(graph, website):
    await website.tenant()
    page = await website.content()
    said = await website.thing(PageComment, node_id=page.node_id, author_email="v@x.org")

    asked = await graph.ask(MODERATE, EDITOR, input={"commentId": id_of(said), "status": "APPROVED"})
    shown = await graph.ask(COMMENTS, VISITOR, id=page.node_id)
    queued = await graph.ask(QUEUE, READER)
    approved = await graph.ask(QUEUE, READER, status="APPROVED")
    await graph.command(MODERATE, EDITOR, commentId=id_of(said), status="SPAM")
    hidden = await graph.ask(COMMENTS, VISITOR, id=page.node_id)

    assert asked.data["moderatePageComment"] == {
        "pageComment": {
            "id": id_of(said),
            "authorName": said.author_name,
            "authorEmail": "v@x.org",
            "body": "Nice.",
            "status": "APPROVED",
            "createdAt": said.created_at,
        },
        "problems": [],
    }
    assert asked.calls == {"GetItem": 1, "TransactWriteItems": 1}
    assert bodies(shown.data["content"]["comments"]) == ["Nice."]
    assert bodies(queued.data["pageComments"]) == []
    assert bodies(approved.data["pageComments"]) == ["Nice."]
    assert bodies(hidden.data["content"]["comments"]) == []
    first, second = await audited(graph)
    assert (first.action, first.actor) == ("moderatePageComment", AuditActor(user_id="id-ada"))
    own_id = f"{page.node_id}/{said.created_at}"
    assert first.target == AuditTarget(type="PageComment", id=own_id, title=said.author_name)
    assert (first.before, first.after) == ({"status": "PENDING"}, {"status": "APPROVED"})
    assert (second.before, second.after) == ({"status": "APPROVED"}, {"status": "SPAM"})


async def test_deleting_a_comment(graph, website):
    await website.tenant()
    page = await website.content()
    said, other = [await website.thing(PageComment, node_id=page.node_id, status=APPROVED) for _ in range(2)]

    asked = await graph.ask(DELETE_COMMENT, EDITOR, input={"commentId": id_of(said)})
    again = await graph.command(DELETE_COMMENT, EDITOR, commentId=id_of(said))

    assert asked.data["deletePageComment"] == {"deletedCommentId": id_of(said), "problems": []}
    assert asked.calls == {"GetItem": 1, "TransactWriteItems": 1}
    assert codes(again) == [("NOT_FOUND", "commentId")]
    assert await all_comments(graph, page) == [other]
    (entry,) = await audited(graph)
    assert (entry.action, entry.target.title) == ("deletePageComment", said.author_name)
    assert entry.before == {
        "nodeId": page.node_id,
        "authorName": said.author_name,
        "body": "Nice.",
        "status": "APPROVED",
    }
    assert entry.after is None


COMMENT_COMMANDS = {"moderate": (MODERATE, {"status": "SPAM"}), "delete": (DELETE_COMMENT, {})}


@pytest.mark.parametrize("verb", COMMENT_COMMANDS)
@pytest.mark.parametrize("role", ROLES)
async def test_who_may_moderate(graph, website, verb, role):
    await website.tenant()
    said = await website.thing(PageComment, node_id="page", status=APPROVED)
    query, given = COMMENT_COMMANDS[verb]

    payload = await graph.command(query, ROLES[role], commentId=id_of(said), **given)

    assert codes(payload) == ([(NOT_EDITORS[role],)] if role in NOT_EDITORS else [])
    assert (await graph.table.get(said.own_key) == said) is (role in NOT_EDITORS)


@pytest.mark.parametrize("verb", COMMENT_COMMANDS)
async def test_comments_of_two_tenants_stay_apart(graph, website, verb):
    for tenant_id in ("acme", "other"):
        await website.tenant(tenant_id)
    common = {"node_id": "same", "created_at": minute(50), "status": APPROVED}
    ours, theirs = [await website.thing(PageComment, tenant_id, **common) for tenant_id in ("acme", "other")]
    query, given = COMMENT_COMMANDS[verb]

    refused = await graph.command(query, EDITOR, commentId=id_of(theirs), **given)
    done = await graph.command(query, EDITOR, commentId=id_of(ours), **given)

    assert codes(refused) == [("NOT_FOUND", "commentId")]
    assert codes(done) == []
    assert await graph.table.get(ours.own_key) != ours
    assert await graph.table.get(theirs.own_key) == theirs


async def test_pages_of_two_tenants_with_one_id_have_comments_of_their_own(graph, website):
    for tenant_id in ("acme", "other"):
        await website.tenant(tenant_id)
        page = await website.content(tenant_id, node_id="same")
        await say(graph, page, visitor(tenant_id), body=f"At {tenant_id}.")

    for tenant_id in ("acme", "other"):
        asked = await graph.ask(COMMENTS, staff("viewer", tenant_id), id="same")
        queue = await graph.ask(QUEUE, staff("viewer", tenant_id))
        assert bodies(asked.data["content"]["comments"]) == bodies(queue.data["pageComments"]) == [f"At {tenant_id}."]
