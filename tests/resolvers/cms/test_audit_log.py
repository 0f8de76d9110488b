"""Every command of the content system is written down, and no command waits for it."""

import asyncio
from dataclasses import replace

import pytest

from datastore.client.errors import DatastoreError
from datastore.cms import AuditActor, AuditEntry, AuditTarget
from resolvers.cms import audit_log as audits
from resolvers.cms.audit_log import Audit
from tests.resolvers.cms.test_content_commands import CREATE, RESTORE, UPDATE, writing
from tests.resolvers.cms.test_route_commands import CHANGE_SLUG, DELETE_ROUTE, route_id
from tests.support.cms import ADMIN, EDITOR, READER, STRANGER, VISITOR, staff
from tests.support.fault_proxy import FOR_EVER, error_500, throttled
from tests.support.graph import Graph, id_of

LOG = """query ($after: DateTime, $before: DateTime) { auditLog(createdAfter: $after, createdBefore: $before) { nodes {
    action actor { databaseId email } target { type databaseId title } before after createdAt } } }"""


async def logged(graph: Graph) -> list[dict]:
    await graph.services.audit.flush()
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


async def test_a_command_makes_no_call_for_it(graph, website):
    await website.tenant()

    asked = await graph.ask(CREATE, EDITOR, input={"title": "About"})

    assert asked.calls == {"GetItem": 1, "TransactWriteItems": 1}
    within = AuditEntry.within(tenant_id="acme")
    assert (await graph.table.query(within, limit=5)).records == []
    await graph.services.audit.flush()
    assert len((await graph.table.query(within, limit=5)).records) == 1


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
    await graph.services.audit.flush()
    (entry,) = (await graph.table.query(AuditEntry.within(tenant_id="acme"), limit=5)).records

    found = [
        (await graph.ask("query ($id: ID!) { node(id: $id) { id } }", viewer, id=id_of(entry))).data["node"]
        for viewer in (ADMIN, EDITOR, VISITOR, staff("admin", "other"))
    ]

    assert found == [{"id": id_of(entry)}, None, None, None]


def entry(number: int) -> AuditEntry:
    return AuditEntry(
        tenant_id="acme",
        entry_id=f"entry{number:05d}",
        actor=AuditActor(user_id="id-ada"),
        action="test",
        target=AuditTarget(type="Content", id="x", title="X"),
    )


async def test_entries_are_written_in_batches(graph):
    for number in range(60):
        graph.services.audit.note(entry(number))

    await graph.services.audit.flush()

    page = await graph.table.query(AuditEntry.within(tenant_id="acme"), limit=100)
    assert sorted(record.entry_id for record in page.records) == [f"entry{number:05d}" for number in range(60)]


async def test_what_cannot_be_written_waits_and_is_not_lost(graph, faulty_graph, proxy, monkeypatch):
    monkeypatch.setattr(audits, "TIME_FOR_ONE", 1.5)
    audit = faulty_graph.services.audit
    proxy.will("BatchWriteItem", throttled, FOR_EVER)
    proxy.will("BatchWriteItem", error_500, FOR_EVER)
    for number in range(30):
        audit.note(entry(number))
    with pytest.raises(DatastoreError):
        await audit.flush()

    proxy.recover()
    audit.note(entry(30))
    await audit.flush()

    page = await graph.table.query(AuditEntry.within(tenant_id="acme"), limit=100)
    assert len(page.records) == 31


async def test_one_entry_that_cannot_be_written_stands_in_nobodys_way(graph, caplog):
    audit = graph.services.audit
    audit.note(replace(entry(0), actor=AuditActor(user_id="x" * 2_100)))
    audit.note(replace(entry(1), action="\ud800"))
    audit.note(entry(2))

    await audit.flush()

    page = await graph.table.query(AuditEntry.within(tenant_id="acme"), limit=10)
    assert [record.entry_id for record in page.records] == ["entry00002"]
    assert "entry00000" in caplog.text
    assert "entry00001" in caplog.text


async def test_an_address_that_cannot_be_read_now_is_waited_for(graph, faulty_graph, proxy, monkeypatch):
    monkeypatch.setattr(audits, "TIME_FOR_ONE", 1.5)
    await graph.add_user("ada")
    audit = faulty_graph.services.audit
    proxy.will("GetItem", error_500, FOR_EVER)
    audit.note(entry(0))
    with pytest.raises(DatastoreError):
        await audit.flush()

    proxy.recover()
    await audit.flush()

    (record,) = (await graph.table.query(AuditEntry.within(tenant_id="acme"), limit=5)).records
    assert record.actor == AuditActor(user_id="id-ada", email="ada@example.org")


async def test_a_tenant_that_is_throttled_does_not_hold_up_the_others(graph, faulty_graph, proxy, monkeypatch):
    monkeypatch.setattr(audits, "TIME_FOR_ONE", 1.5)
    audit = faulty_graph.services.audit

    def of_hot(request: dict) -> bool:
        return "TENANT#hot" in str(request)

    proxy.will("BatchWriteItem", throttled, FOR_EVER, when=of_hot)
    for number in range(25):
        audit.note(replace(entry(number), tenant_id="hot"))
    audit.note(entry(25))

    with pytest.raises(DatastoreError):
        await audit.flush()
    with pytest.raises(DatastoreError):
        await audit.flush()

    page = await graph.table.query(AuditEntry.within(tenant_id="acme"), limit=5)
    assert [record.entry_id for record in page.records] == ["entry00025"]


async def test_a_visitor_is_nobodys_account(graph, website):
    await graph.add_user("visitor", user_id="visitor")
    graph.services.audit.note(replace(entry(0), actor=AuditActor()))

    await graph.services.audit.flush()

    (record,) = (await graph.table.query(AuditEntry.within(tenant_id="acme"), limit=5)).records
    assert record.actor == AuditActor(user_id=None, email=None)


async def test_a_server_writes_by_itself_and_at_its_end(graph):
    audit = Audit(graph.services.table)
    running = asyncio.create_task(audit.run())
    for number in range(25):
        audit.note(entry(number))
    within = AuditEntry.within(tenant_id="acme")
    while len((await graph.table.query(within, limit=100)).records) < 25:  # noqa: ASYNC110  it is the table that changes
        await asyncio.sleep(0.01)

    running.cancel()
    await asyncio.wait([running])
    audit.note(entry(25))
    await audit.drain()

    assert len((await graph.table.query(within, limit=100)).records) == 26


async def test_a_writer_that_is_stopped_in_the_middle_loses_nothing(graph, faulty_graph, proxy):
    reached = asyncio.Event()

    async def hangs(call):
        reached.set()
        await asyncio.sleep(60)

    audit = faulty_graph.services.audit
    proxy.will("BatchWriteItem", hangs, 1)
    audit.note(entry(0))
    running = asyncio.create_task(audit.run())
    await reached.wait()
    running.cancel()
    await asyncio.wait([running])

    await audit.drain()

    assert len((await graph.table.query(AuditEntry.within(tenant_id="acme"), limit=5)).records) == 1


async def test_a_full_log_says_what_is_lost(graph, monkeypatch, caplog):
    monkeypatch.setattr(audits, "MOST_WAITING", 1)
    audit = Audit(graph.services.table)

    audit.note(entry(0))
    audit.note(entry(1))

    assert "entry00001" in caplog.text
    assert "entry00000" not in caplog.text
