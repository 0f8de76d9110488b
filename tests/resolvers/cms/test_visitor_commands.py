"""Comments, leads and consents: what visitors leave behind, and who gets to see it."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from datastore.client.writes import Put
from datastore.cms import (
    Actor,
    Consent,
    Content,
    ContentStatus,
    Lead,
    LeadStatus,
    PageComment,
    PageCommentStatus,
    Target,
)
from datastore.model.times import Time
from loaders.request import Loaders
from loaders.viewer import ANONYMOUS, Viewer
from resolvers.cms import visitor_commands
from resolvers.core import rate_limit
from schema.http.protocol import GraphQLRequest
from tests.support.cms import ADMIN, EDITOR, READER, STRANGER, VISITOR, audited, codes, command, staff, visitor
from tests.support.fault_proxy import FOR_EVER, Answer, Call
from tests.support.graph import Graph, id_of
from tests.support.social import ids, minute

HEADER_MISSING = Viewer("id-ada", tenants=frozenset({("acme", "admin")}))
ROLES = {
    "admin": ADMIN,
    "editor": EDITOR,
    "viewer": READER,
    "stranger": STRANGER,
    "visitor": VISITOR,
    "no header": HEADER_MISSING,
}
NOT_EDITORS = {"viewer": "FORBIDDEN", "stranger": "FORBIDDEN", "visitor": "UNAUTHENTICATED", "no header": "INVALID"}
NOT_STAFF = {role: code for role, code in NOT_EDITORS.items() if role != "viewer"}

COMMENT = "id nodeId authorName authorEmail body status createdAt"
ADD = command("addPageComment", f"pageComment {{ {COMMENT} content {{ nodeId }} }}")
MODERATE = command("moderatePageComment", f"pageComment {{ {COMMENT} }}")
DELETE_COMMENT = command("deletePageComment", "deletedCommentId")
COMMENTS = f"""query ($id: String!, $first: Int, $after: String) {{ content(nodeId: $id) {{
    comments(first: $first, after: $after) {{ nodes {{ {COMMENT} }} pageInfo {{ hasNextPage endCursor }} }} }} }}"""
QUEUE = f"""query ($status: PageCommentStatus, $first: Int, $after: String) {{
    pageComments(status: $status, first: $first, after: $after) {{
        nodes {{ {COMMENT} content {{ nodeId }} }} pageInfo {{ hasNextPage endCursor }} }} }}"""

LEAD = "email name status source data"
SAVE = command("saveLead", f"lead {{ id {LEAD} }}")
DELETE_LEAD = command("deleteLead", "deletedLeadId")
ONE_LEAD = f"query ($email: String!) {{ lead(email: $email) {{ {LEAD} }} }}"
LEADS = """query ($status: LeadStatus, $first: Int, $after: String) {
    leads(status: $status, first: $first, after: $after) { nodes { email } pageInfo { hasNextPage endCursor } } }"""

CONSENT = "visitorId purposes policyVersion createdAt"
RECORD = command("recordConsent", f"consent {{ {CONSENT} }}")
LATEST = f"query ($id: String!) {{ consent(visitorId: $id) {{ {CONSENT} }} }}"
HISTORY = f"""query ($id: String!, $first: Int, $after: String) {{
    consentHistory(visitorId: $id, first: $first, after: $after) {{
        nodes {{ {CONSENT} }} pageInfo {{ hasNextPage endCursor }} }} }}"""
SOMEBODY = "visitor-0123456789"

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
            "nodeId": page.node_id,
            "authorName": "Vera",
            "authorEmail": None,
            "body": "Nice.\nVery.",
            "status": "PENDING",
            "createdAt": comment.created_at,
            "content": {"nodeId": page.node_id},
        },
        "problems": [],
    }
    assert comment.author_email == "vera@example.org"
    # The page; the count and the comment.
    assert asked.calls == {"GetItem": 1, "TransactWriteItems": 2}
    (entry,) = await audited(graph)
    assert (entry.actor, entry.action) == (Actor(), "addPageComment")
    own_id = f"{page.node_id}/{comment.created_at}"
    assert entry.target == Target(type="PageComment", id=own_id, title="Vera")
    assert entry.before is None
    assert entry.after == {
        "nodeId": page.node_id,
        "authorName": "Vera",
        "authorEmail": "vera@example.org",
        "body": "Nice.\nVery.",
        "status": "PENDING",
    }


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
    assert asked.data["pageComments"]["nodes"][0]["content"] == {"nodeId": page.node_id}
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


@pytest.fixture
def clock(monkeypatch) -> Callable[..., None]:
    """Have the next comments and consents made at these times."""

    def says(*times: Time) -> None:
        left = iter(times)
        make = Loaders.write

        async def write(load: Loaders, *writes: Any) -> None:
            if isinstance(writes[0], Put) and isinstance(writes[0].record, PageComment | Consent):
                writes = (Put(replace(writes[0].record, created_at=next(left)), when=writes[0].when),)
            await make(load, *writes)

        monkeypatch.setattr(Loaders, "write", write)

    return says


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
    assert codes(too_many) == [("TOO_MANY_ATTEMPTS",)]
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
            "nodeId": page.node_id,
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
    assert (first.action, first.actor) == ("moderatePageComment", Actor(user_id="id-ada"))
    own_id = f"{page.node_id}/{said.created_at}"
    assert first.target == Target(type="PageComment", id=own_id, title=said.author_name)
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


async def test_a_lead_is_one_for_each_address(graph, website):
    await website.tenant()
    full = {"name": "Vera", "source": "fair", "status": "CONTACTED", "data": {"budget": 5}}

    made = await graph.ask(SAVE, EDITOR, input={"email": " Vera@Example.ORG ", **full})
    saved = await graph.ask(SAVE, EDITOR, input={"email": "vera@example.org", "status": "WON"})
    cleared = await graph.command(SAVE, EDITOR, email="VERA@example.org", name=None, source=None, data=None)

    email = {"email": "vera@example.org"}
    id = made.data["saveLead"]["lead"]["id"]
    assert made.data["saveLead"] == {"lead": {"id": id, **email, **full}, "problems": []}
    assert saved.data["saveLead"] == {"lead": {"id": id, **email, **full, "status": "WON"}, "problems": []}
    nothing = {"name": None, "source": None, "status": "WON", "data": None}
    assert cleared == {"lead": {"id": id, **email, **nothing}, "problems": []}
    assert made.calls == saved.calls == {"GetItem": 2, "TransactWriteItems": 1}
    assert len((await graph.table.query(Lead.of_tenant(tenant_id="acme"), limit=5)).records) == 1
    first, second, third = await audited(graph)
    assert {entry.action for entry in (first, second, third)} == {"saveLead"}
    assert first.actor == Actor(user_id="id-ada")
    assert first.target == second.target == Target(type="Lead", id="vera@example.org", title="Vera")
    assert (first.before, first.after) == (None, {**email, **full})
    assert (second.before, second.after) == ({"status": "CONTACTED"}, {"status": "WON"})
    assert third.target.title == "vera@example.org"
    assert third.before == {"name": "Vera", "source": "fair", "data": {"budget": 5}}
    assert third.after == {"name": None, "source": None, "data": None}


async def test_a_lead_to_begin_with(graph, website):
    await website.tenant()

    payload = await graph.command(SAVE, EDITOR, email="vera@example.org")

    lead = payload["lead"]
    nothing = {"name": None, "status": "NEW", "source": None, "data": None}
    assert lead == {"id": lead["id"], "email": "vera@example.org", **nothing}


async def test_saves_at_once_all_count(graph, website):
    await website.tenant()
    given = {"name": "Vera", "source": "fair", "status": "LOST", "data": {"x": 1}}

    payloads = await asyncio.gather(
        *(graph.command(SAVE, EDITOR, email="vera@example.org", **{name: value}) for name, value in given.items())
    )

    assert [payload["problems"] for payload in payloads] == [[]] * 4
    asked = await graph.ask(ONE_LEAD, READER, email="vera@example.org")
    assert asked.data["lead"] == {"email": "vera@example.org", **given}


@pytest.mark.parametrize(
    ("given", "paths"),
    [
        ({"email": "nobody"}, ["email"]),
        ({"email": ""}, ["email"]),
        ({"email": "a#b@example.org"}, ["email"]),
        ({"email": "x" * 250 + "@example.org"}, ["email"]),
        ({"name": "x" * 101}, ["name"]),
        ({"source": "x" * 201}, ["source"]),
        ({"status": None}, ["status"]),
        ({"data": []}, ["data"]),
        ({"data": {"x": "x" * 100_000}}, ["data"]),
        ({"email": "", "name": "\x07", "source": "\x07", "data": 1}, ["email", "name", "source", "data"]),
    ],
)
async def test_what_is_no_lead(graph, website, given, paths):
    await website.tenant()

    asked = await graph.ask(SAVE, EDITOR, input={"email": "vera@example.org", **given})

    assert asked.data["saveLead"]["lead"] is None
    assert codes(asked.data["saveLead"]) == [("INVALID", path) for path in paths]
    assert asked.calls == {}
    assert (await graph.table.query(Lead.of_tenant(tenant_id="acme"), limit=5)).records == []


async def test_a_lead_by_its_address(graph, website):
    lead = await website.thing(Lead, email="vera@example.org", data={"x": 1})

    asked = await graph.ask(ONE_LEAD, READER, email=" VERA@example.org")
    missing = await graph.ask(ONE_LEAD, READER, email="nobody@example.org")
    hostile = [await graph.ask(ONE_LEAD, READER, email=text) for text in ("", "a#b@example.org", "x" * 3_000)]

    nothing = {"name": None, "status": "NEW", "source": None}
    assert asked.data["lead"] == {"email": lead.email, **nothing, "data": {"x": 1}}
    assert missing.data == {"lead": None}
    assert asked.calls == missing.calls == {"GetItem": 1}
    assert [each.data for each in hostile] == [{"lead": None}] * 3
    assert [each.calls for each in hostile] == [{}] * 3


@pytest.mark.parametrize("status", [None, *LeadStatus])
async def test_leads_last_changed_first(graph, website, status):
    made = [await website.thing(Lead, status=each) for _ in range(2) for each in LeadStatus]
    await website.thing(Lead, "other", status=status or LeadStatus.NEW)
    await website.thing(PageComment, node_id="page")

    asked = await graph.ask(LEADS, READER, status=status.name if status else None)

    wanted = [lead.email for lead in reversed(made) if status in (None, lead.status)]
    assert [node["email"] for node in asked.data["leads"]["nodes"]] == wanted
    assert asked.calls == {"Query": 1}


async def test_leads_in_pages(graph, website):
    made = [await website.thing(Lead) for _ in range(3)]

    first = (await graph.ask(LEADS, READER, first=2)).data["leads"]
    rest = (await graph.ask(LEADS, READER, first=2, after=first["pageInfo"]["endCursor"])).data["leads"]

    assert [node["email"] for node in first["nodes"]] == [made[2].email, made[1].email]
    assert [node["email"] for node in rest["nodes"]] == [made[0].email]
    assert (first["pageInfo"]["hasNextPage"], rest["pageInfo"]["hasNextPage"]) == (True, False)


async def test_what_else_is_known_of_leads_is_read_only_when_asked_for(website, faulty_graph, proxy):
    for number in range(3):
        await website.thing(Lead, data={"number": number})
    sent: list[dict[str, Any]] = []

    async def heard(call: Call) -> Answer:
        sent.append(call.request)
        return Answer.of(*await call.forward())

    proxy.will("Query", heard, FOR_EVER)
    light = await faulty_graph.ask("{ leads { nodes { email } } }", READER)
    heavy = await faulty_graph.ask("{ leads { nodes { data } } }", READER)

    assert light.calls == {"Query": 1}
    assert heavy.calls == {"Query": 1, "BatchGetItem": 1}
    assert heavy.data["leads"]["nodes"] == [{"data": {"number": number}} for number in (2, 1, 0)]
    assert [set(request["ExpressionAttributeNames"].values()) & {"email", "data"} for request in sent] == [
        {"email"}
    ] * 2


async def test_deleting_a_lead(graph, website):
    await website.tenant()
    lead = await website.thing(Lead, name="Vera")

    asked = await graph.ask(DELETE_LEAD, EDITOR, input={"leadId": id_of(lead)})
    again = await graph.command(DELETE_LEAD, EDITOR, leadId=id_of(lead))

    assert asked.data["deleteLead"] == {"deletedLeadId": id_of(lead), "problems": []}
    assert asked.calls == {"GetItem": 1, "TransactWriteItems": 1}
    assert codes(again) == [("NOT_FOUND", "leadId")]
    (entry,) = await audited(graph)
    assert (entry.action, entry.target) == ("deleteLead", Target(type="Lead", id=lead.email, title="Vera"))
    assert (entry.before, entry.after) == ({"email": lead.email, "name": "Vera", "status": "NEW"}, None)


@pytest.mark.parametrize("role", ROLES)
async def test_leads_are_for_the_staff(graph, website, role):
    await website.tenant()
    lead = await website.thing(Lead)
    viewer = ROLES[role]

    read = [await graph.ask(ONE_LEAD, viewer, email=lead.email), await graph.ask(LEADS, viewer)]
    node = await graph.ask("query ($id: ID!) { node(id: $id) { id } }", viewer, id=id_of(lead))
    saved = await graph.command(SAVE, viewer, email=lead.email, name="New")
    gone = await graph.command(DELETE_LEAD, viewer, leadId=id_of(lead))

    if role in NOT_STAFF:
        assert [each.error["extensions"] for each in read] == [{"code": NOT_STAFF[role]}] * 2
        assert [each.calls for each in read] == [{}, {}]
        assert node.data == {"node": None}
    else:
        assert read[0].data["lead"]["email"] == lead.email
        assert node.data == {"node": {"id": id_of(lead)}}
    assert codes(saved) == codes(gone) == ([(NOT_EDITORS[role],)] if role in NOT_EDITORS else [])
    assert (await graph.table.get(lead.own_key) == lead) is (role in NOT_EDITORS)


async def test_leads_of_two_tenants_stay_apart(graph, website):
    for tenant_id in ("acme", "other"):
        await website.tenant(tenant_id)
        await graph.command(SAVE, staff("editor", tenant_id), email="vera@example.org", name=f"Of {tenant_id}")
    theirs = await graph.table.get(Lead.key(tenant_id="other", email="vera@example.org"))

    await graph.command(SAVE, EDITOR, email="vera@example.org", source="fair")
    refused = await graph.command(DELETE_LEAD, EDITOR, leadId=id_of(theirs))
    own = await graph.ask(ONE_LEAD, READER, email="vera@example.org")

    assert codes(refused) == [("NOT_FOUND", "leadId")]
    assert own.data["lead"]["name"] == "Of acme"
    assert await graph.table.get(theirs.own_key) == theirs
    assert len(await audited(graph, "other")) == 1


async def test_a_visitor_agrees_without_a_token(graph, website):
    await website.tenant()

    asked = await graph.ask(
        RECORD,
        VISITOR,
        input={"visitorId": SOMEBODY, "purposes": ["analytics", "ads_2", "analytics"], "policyVersion": " 2026-01 "},
    )
    latest = await graph.ask(LATEST, VISITOR, id=SOMEBODY)

    recorded = asked.data["recordConsent"]["consent"]
    created_at = recorded["createdAt"]
    assert asked.data["recordConsent"]["problems"] == []
    assert recorded == {
        "visitorId": SOMEBODY,
        "purposes": ["analytics", "ads_2"],
        "policyVersion": "2026-01",
        "createdAt": created_at,
    }
    assert asked.calls == {"GetItem": 1, "TransactWriteItems": 2}
    assert latest.data["consent"] == recorded
    assert latest.calls == {"Query": 1}
    (entry,) = await audited(graph)
    assert (entry.actor, entry.action) == (Actor(), "recordConsent")
    assert entry.target == Target(type="Consent", id=f"{SOMEBODY}/{created_at}", title=SOMEBODY)
    assert entry.before is None
    assert entry.after == {"visitorId": SOMEBODY, "purposes": ["analytics", "ads_2"], "policyVersion": "2026-01"}


async def test_consents_are_added_and_never_changed(graph, website):
    await website.tenant()
    given = [["analytics", "ads"], ["analytics"], []]

    for purposes in given:
        payload = await graph.command(RECORD, VISITOR, visitorId=SOMEBODY, purposes=purposes)
        assert payload["problems"] == []
    latest = await graph.ask(LATEST, VISITOR, id=SOMEBODY)
    history = await graph.ask(HISTORY, READER, id=SOMEBODY)

    assert latest.data["consent"]["purposes"] == []
    assert [node["purposes"] for node in history.data["consentHistory"]["nodes"]] == given[::-1]
    assert history.calls == {"Query": 1}


async def test_consents_at_once_are_all_kept(graph, website):
    await website.tenant()

    payloads = await asyncio.gather(
        *(graph.command(RECORD, VISITOR, visitorId=SOMEBODY, purposes=[f"p{number}"]) for number in range(10))
    )

    assert [payload["problems"] for payload in payloads] == [[]] * 10
    kept = (await graph.table.query(Consent.within(tenant_id="acme", visitor_id=SOMEBODY), limit=20)).records
    assert sorted(record.purposes for record in kept) == [[f"p{number}"] for number in range(10)]


async def test_two_consents_in_one_millisecond_are_two(graph, website, clock):
    await website.tenant()
    first = await website.thing(Consent, visitor_id=SOMEBODY, purposes=["ads"])
    clock(first.created_at, minute(100))

    payload = await graph.command(RECORD, VISITOR, visitorId=SOMEBODY, purposes=[])

    assert payload["problems"] == []
    kept = (await graph.table.query(Consent.within(tenant_id="acme", visitor_id=SOMEBODY), limit=5)).records
    assert [(record.purposes, record.created_at) for record in kept] == [(["ads"], first.created_at), ([], minute(100))]


async def test_the_history_in_pages(graph, website):
    for number in range(3):
        await website.thing(Consent, visitor_id=SOMEBODY, purposes=[f"p{number}"])
    await website.thing(Consent, visitor_id=f"{SOMEBODY}0", purposes=["theirs"])

    first = (await graph.ask(HISTORY, READER, id=SOMEBODY, first=2)).data["consentHistory"]
    rest = await graph.ask(HISTORY, READER, id=SOMEBODY, first=2, after=first["pageInfo"]["endCursor"])

    assert [node["purposes"] for node in first["nodes"]] == [["p2"], ["p1"]]
    assert [node["purposes"] for node in rest.data["consentHistory"]["nodes"]] == [["p0"]]


@pytest.mark.parametrize("role", ROLES)
async def test_the_history_is_for_the_staff_and_the_latest_for_whoever_knows_the_id(graph, website, role):
    await website.thing(Consent, visitor_id=SOMEBODY, purposes=["analytics"])

    history = await graph.ask(HISTORY, ROLES[role], id=SOMEBODY)
    latest = await graph.ask(LATEST, ROLES[role], id=SOMEBODY)

    if role in NOT_STAFF:
        assert history.error["extensions"] == {"code": NOT_STAFF[role]}
        assert history.calls == {}
    else:
        assert len(history.data["consentHistory"]["nodes"]) == 1
    if role == "no header":
        assert latest.error["extensions"] == {"code": "INVALID"}
    else:
        assert latest.data["consent"]["purposes"] == ["analytics"]


async def test_consents_of_two_tenants_stay_apart(graph, website):
    for tenant_id in ("acme", "other"):
        await website.tenant(tenant_id)
        await graph.command(RECORD, visitor(tenant_id), visitorId=SOMEBODY, purposes=[tenant_id])

    for tenant_id in ("acme", "other"):
        latest = await graph.ask(LATEST, visitor(tenant_id), id=SOMEBODY)
        history = await graph.ask(HISTORY, staff("viewer", tenant_id), id=SOMEBODY)
        assert latest.data["consent"]["purposes"] == [tenant_id]
        assert [node["purposes"] for node in history.data["consentHistory"]["nodes"]] == [[tenant_id]]
        assert len(await audited(graph, tenant_id)) == 1


async def test_an_id_nobody_has(graph):
    missing = await graph.ask(LATEST, VISITOR, id=SOMEBODY)
    hostile = [await graph.ask(LATEST, VISITOR, id=text) for text in ("", "a#b", "x" * 2_000)]

    assert missing.data == {"consent": None}
    assert [each.error["extensions"]["code"] for each in hostile] == ["BAD_INPUT"] * 3
    assert [each.calls for each in hostile] == [{}] * 3


@pytest.mark.parametrize(
    ("given", "paths"),
    [
        ({"visitorId": "x" * 15}, ["visitorId"]),
        ({"visitorId": "x" * 129}, ["visitorId"]),
        ({"visitorId": "visitor#0123456789"}, ["visitorId"]),
        ({"visitorId": "visitor 0123456789"}, ["visitorId"]),
        ({"visitorId": "visitor-0123456789\n"}, ["visitorId"]),
        ({"visitorId": "ünicode-0123456789"}, ["visitorId"]),
        ({"purposes": [""]}, ["purposes"]),
        ({"purposes": ["x" * 41]}, ["purposes"]),
        ({"purposes": ["Ads"]}, ["purposes"]),
        ({"purposes": ["fine", "not fine"]}, ["purposes"]),
        ({"purposes": ["x"] * 21}, ["purposes"]),
        ({"policyVersion": "x" * 101}, ["policyVersion"]),
        ({"visitorId": "", "purposes": ["#"], "policyVersion": "\x07"}, ["visitorId", "purposes", "policyVersion"]),
    ],
)
async def test_what_is_no_consent(graph, website, given, paths):
    await website.tenant()

    payload = await graph.command(RECORD, VISITOR, **{"visitorId": SOMEBODY, "purposes": ["ads"], **given})

    assert payload["consent"] is None
    assert codes(payload) == [("INVALID", path) for path in paths]
    assert await audited(graph) == []


@pytest.mark.parametrize("visitor_id", ["x" * 16, "A-Z_a-z_0-9" * 11])
async def test_what_is_just_a_consent(graph, website, visitor_id):
    await website.tenant()
    purposes = [f"{number:02d}".ljust(40, "-") for number in range(20)]

    payload = await graph.command(RECORD, VISITOR, visitorId=visitor_id, purposes=purposes, policyVersion="x" * 100)

    assert payload["problems"] == []
    assert payload["consent"]["purposes"] == purposes


async def test_a_consent_takes_a_tenant(graph):
    nobodys = await graph.command(RECORD, ANONYMOUS, visitorId=SOMEBODY, purposes=[])
    unknown = await graph.command(RECORD, VISITOR, visitorId=SOMEBODY, purposes=[])

    assert codes(nobodys) == [("INVALID",)]
    assert unknown["problems"] == [{"code": "NOT_FOUND", "message": "there is no tenant acme", "path": []}]


async def test_nobody_agrees_too_often(graph, website, monkeypatch):
    await website.tenant()
    monkeypatch.setattr(visitor_commands, "CONSENTS_PER_CLIENT", 2)

    payloads = [await graph.command(RECORD, VISITOR, visitorId=SOMEBODY, purposes=[]) for _ in range(3)]

    assert [codes(payload) for payload in payloads] == [[], [], [("TOO_MANY_ATTEMPTS",)]]
