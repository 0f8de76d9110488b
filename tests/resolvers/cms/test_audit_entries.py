"""Every command of the CMS leaves exactly one audit entry, in its own transaction."""

import asyncio
import json
import random
from dataclasses import replace

import pytest

from datastore.cms import AuditEntry, Product
from loaders.viewer import TokenAge
from resolvers.cms.audit_entries import MAX_BLOCKS, audit_entry
from tests.resolvers.cms.test_content_commands import CREATE, RESTORE, UPDATE, writing
from tests.resolvers.cms.test_route_commands import CHANGE_SLUG, DELETE_ROUTE, route_id
from tests.support.cms import ADMIN, EDITOR, READER, STRANGER, VISITOR, staff
from tests.support.fault_proxy import cut_after, nothing_wrong
from tests.support.graph import Graph, id_of

LOG = """query ($after: DateTime, $before: DateTime) { auditLog(createdAfter: $after, createdBefore: $before) { nodes {
    action actor { databaseId email } target { type databaseId title } before after blocks createdAt } } }"""


async def logged(graph: Graph) -> list[dict]:
    asked = await graph.ask(LOG, ADMIN)
    nodes: list[dict] = asked.data["auditLog"]["nodes"]
    return nodes


async def test_who_did_what_to_what(graph, website):
    await website.tenant()
    await graph.add_user("ada")
    made = (await graph.command(CREATE, EDITOR, title="About", message="First."))["content"]
    changed = {
        "contentId": made["id"],
        "expectedVersion": 1,
        "title": "About us",
        "blocks": ["x"],
        "status": "PUBLISHED",
    }
    await graph.command(UPDATE, EDITOR, **changed)

    update, create = await logged(graph)

    target = {"type": "Content", "databaseId": made["databaseId"]}
    ada = {"databaseId": "id-ada", "email": "ada@example.org"}
    assert (create["action"], create["actor"], create["target"]) == ("createContent", ada, {**target, "title": "About"})
    assert create["before"] is None
    assert create["after"] == {
        "nodeId": made["databaseId"],
        "contentType": "page",
        "title": "About",
        "status": "DRAFT",
        "version": 1,
        "slug": "/about",
        "oldSlugs": [],
        "authorId": "id-ada",
        "message": "First.",
    }
    assert (update["action"], update["target"]) == ("updateContent", {**target, "title": "About us"})
    assert create["blocks"] is None
    assert update["blocks"] == {
        "fromVersion": 1,
        "toVersion": 2,
        "changes": [{"kind": "ADDED", "path": ["0"], "old": None, "new": "x"}],
    }
    assert update["before"] == {"title": "About", "status": "DRAFT", "version": 1, "message": "First."}
    assert update["after"] == {"title": "About us", "status": "PUBLISHED", "version": 2, "message": None}


async def test_every_command_leaves_its_entry(graph, website):
    await website.tenant()
    page = await website.content(versions=2, slug="/a")

    await graph.command(RESTORE, EDITOR, contentId=id_of(page), expectedVersion=2, number=1)
    await graph.command(CHANGE_SLUG, EDITOR, contentId=id_of(page), slug="/b")
    redirect = {"contentId": id_of(page), "slug": "/c"}
    await graph.command(writing("createRedirect", "route { slug }"), EDITOR, **redirect)
    await graph.command(DELETE_ROUTE, EDITOR, routeId=route_id("/c"))

    actions = [(entry["action"], entry["target"]["type"], entry["target"]["title"]) for entry in await logged(graph)]
    assert actions == [
        ("deleteRoute", "Route", "/c"),
        ("createRedirect", "Route", "/c"),
        ("changeSlug", "Content", "Page 2 v1"),
        ("restoreVersion", "Content", "Page 2 v1"),
    ]


async def test_what_is_refused_is_not_noted(graph, website):
    await website.tenant()
    page = await website.content()

    await graph.command(CREATE, EDITOR, title="")
    await graph.command(CREATE, READER, title="No")
    await graph.command(UPDATE, EDITOR, contentId=id_of(page), expectedVersion=7, title="No")

    assert await logged(graph) == []


async def test_the_entry_is_in_the_transaction_of_the_command(graph, faulty_graph, proxy, website):
    await website.tenant()
    sent = []
    proxy.will("TransactWriteItems", nothing_wrong, 1, when=lambda request: bool(sent.append(request) or True))

    asked = await faulty_graph.ask(CREATE, EDITOR, input={"title": "About"})

    assert asked.calls == {"GetItem": 1, "TransactWriteItems": 1}
    written = [item["Put"]["Item"]["entityType"]["S"] for item in sent[0]["TransactItems"]]
    assert written[:3] == ["Content", "Route", "AuditEntry"]
    assert len(await logged(graph)) == 1


async def test_the_log_by_time(graph, website):
    await website.tenant()
    for number in range(4):
        await graph.command(CREATE, EDITOR, title=f"Page {number}")
        await asyncio.sleep(0.002)
    newest_first = [entry["createdAt"] for entry in await logged(graph)]

    asked = await graph.ask(LOG, ADMIN, after=newest_first[2], before=newest_first[0])

    assert [entry["createdAt"] for entry in asked.data["auditLog"]["nodes"]] == newest_first[1:3]
    # What changed is read when it is asked for.
    assert asked.calls == {"Query": 1, "BatchGetItem": 1}
    actions = await graph.ask("{ auditLog { nodes { action } } }", ADMIN)
    assert actions.calls == {"Query": 1}


@pytest.mark.parametrize(
    ("viewer", "code"),
    [(VISITOR, "UNAUTHENTICATED"), (READER, "FORBIDDEN"), (EDITOR, "FORBIDDEN"), (STRANGER, "FORBIDDEN")],
)
async def test_the_log_is_for_admins(graph, viewer, code):
    asked = await graph.ask(LOG, viewer)

    assert asked.error["extensions"] == {"code": code}
    assert asked.calls == {}


async def test_an_entry_is_read_by_its_id_by_admins_only(graph, website):
    await website.tenant()
    await graph.command(CREATE, EDITOR, title="About")
    (entry,) = (await graph.table.query(AuditEntry.within(tenant_id="acme"), limit=5)).records

    found = [
        (await graph.ask("query ($id: ID!) { node(id: $id) { id } }", viewer, id=id_of(entry))).data["node"]
        for viewer in (ADMIN, EDITOR, VISITOR, staff("admin", "other"))
    ]

    assert found == [{"id": id_of(entry)}, None, None, None]


async def test_the_address_comes_from_the_token_or_else_from_the_account(graph, website):
    await website.tenant()
    await graph.add_user("ada")
    states = graph.services.viewer_states
    signed_in = replace(EDITOR, token=TokenAge(epoch=0, issued_at=0))
    await states.check(signed_in)

    # The check of the token has read the account.
    await graph.command(CREATE, signed_in, title="One")
    assert states.reads == 1
    await graph.command(CREATE, replace(EDITOR, verified_email="ada@work.example"), title="Two")
    await graph.command(CREATE, staff("editor", name="program"), title="Three")
    await graph.command(CREATE, staff("editor", name="program"), title="Four")
    assert states.reads == 2

    emails = [entry["actor"]["email"] for entry in await logged(graph)]
    assert emails == [None, None, "ada@work.example", "ada@example.org"]


async def test_an_address_that_was_changed_here_is_known_at_once(graph, website):
    await website.tenant()
    await graph.add_user("ada")
    await graph.command(CREATE, EDITOR, title="One")

    await graph.command(writing("changeEmail", "user { id }"), EDITOR, email="new@example.org")
    await graph.command(CREATE, EDITOR, title="Two")

    two, one = [entry for entry in await logged(graph) if entry["action"] == "createContent"]
    assert (one["actor"]["email"], two["actor"]["email"]) == ("ada@example.org", "new@example.org")


async def test_a_repeated_request_leaves_one_entry(graph, website):
    await website.tenant()
    asked = [await graph.with_key("once").ask(CREATE, EDITOR, input={"title": "About"}) for _ in range(3)]

    assert asked[0].calls == {"GetItem": 2, "TransactWriteItems": 1}
    assert [each.data for each in asked[1:]] == [asked[0].data] * 2
    assert len(await logged(graph)) == 1


async def test_concurrent_repetitions_leave_one_entry(graph, website):
    await website.tenant()
    keyed = graph.with_key("once")

    made = await asyncio.gather(*(keyed.command(CREATE, EDITOR, title="About") for _ in range(8)))

    assert len({payload["content"]["id"] for payload in made}) == 1
    assert len(await logged(graph)) == 1


async def test_a_lost_answer_leaves_one_entry(graph, faulty_graph, proxy, website, engine_name):
    if engine_name == "moto":
        pytest.skip("moto ignores ClientRequestToken, so there a lost answer counts twice")
    await website.tenant()
    proxy.will("TransactWriteItems", cut_after, 1)

    made = await faulty_graph.command(CREATE, EDITOR, title="About")

    assert made["problems"] == []
    assert len(await logged(graph)) == 1


async def test_concurrent_commands_leave_one_entry_each_that_was_applied(graph, website):
    await website.tenant()
    page = await website.content()
    edits = [{"contentId": id_of(page), "expectedVersion": 1, "title": f"Edit {number}"} for number in range(10)]

    asked = await asyncio.gather(
        *(graph.command(UPDATE, EDITOR, **edit) for edit in edits),
        *(graph.command(CREATE, EDITOR, title=f"New {number}") for number in range(10)),
    )

    applied = [payload["content"]["title"] for payload in asked if not payload["problems"]]
    assert len(applied) == 11
    assert sorted(entry["target"]["title"] for entry in await logged(graph)) == sorted(applied)


async def test_blocks_are_compared_by_version(graph, website):
    await website.tenant()
    page = await website.content(blocks=[{"text": "One."}, {"text": "Two."}])
    blocks = [{"text": "One."}, {"text": "Two, changed."}, {"text": "Three."}]

    await graph.command(UPDATE, EDITOR, contentId=id_of(page), expectedVersion=1, blocks=blocks)
    await graph.command(RESTORE, EDITOR, contentId=id_of(page), expectedVersion=2, number=1)

    restore, update = await logged(graph)
    assert update["blocks"] == {
        "fromVersion": 1,
        "toVersion": 2,
        "changes": [
            {"kind": "CHANGED", "path": ["1", "text"], "old": "Two.", "new": "Two, changed."},
            {"kind": "ADDED", "path": ["2"], "old": None, "new": {"text": "Three."}},
        ],
    }
    assert (restore["blocks"]["fromVersion"], restore["blocks"]["toVersion"]) == (2, 3)
    assert [change["kind"] for change in restore["blocks"]["changes"]] == ["CHANGED", "REMOVED"]


def noise(size: int) -> str:
    """Text that cannot be compressed to much less."""
    return random.Random(size).randbytes(size // 2).hex()


async def test_a_large_diff_is_summarized(graph, website):
    await website.tenant()
    page = await website.content(blocks=[{"text": "One."}])

    await graph.command(UPDATE, EDITOR, contentId=id_of(page), expectedVersion=1, blocks=[noise(MAX_BLOCKS)])
    (entry,) = await logged(graph)

    summary = "1 changes, too many to record; compare the versions"
    assert entry["blocks"] == {"fromVersion": 1, "toVersion": 2, "summary": summary}


async def test_the_largest_entry_fits_into_an_item(graph, website):
    tenant = await website.tenant(config={"x": noise(99_990)})
    page = await website.thing(Product, data={"x": noise(99_980)}, description=noise(80_000))
    longer = replace(page, data={"x": noise(99_000)}, description=noise(70_000))
    context = graph.context(EDITOR)
    context.command = "update"

    entries = [
        await audit_entry(context, page, longer),
        await audit_entry(context, tenant, replace(tenant, config={"x": noise(99_000)})),
    ]
    for entry in entries:
        await graph.table.put(entry.record)

    product, config = (json.loads(json.dumps([entry.record.before, entry.record.after])) for entry in entries)
    assert product == [
        {"description": noise(80_000), "data": "99,988 bytes, too many to record"},
        {"description": noise(70_000), "data": "99,008 bytes, too many to record"},
    ]
    assert config == [{"config": {"x": noise(99_990)}}, {"config": {"x": noise(99_000)}}]
    assert all(len(json.dumps(entry.record.encode())) < 400_000 for entry in entries)
