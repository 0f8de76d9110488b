"""Leads: one per email address, for the staff."""

import asyncio
from typing import Any

import pytest

from datastore.cms import Lead, LeadStatus, PageComment
from datastore.security import AuditActor, AuditTarget
from tests.support.cms import EDITOR, READER, audited, codes, command, staff
from tests.support.cms_visitors import NOT_EDITORS, NOT_STAFF, ROLES
from tests.support.fault_proxy import FOR_EVER, Answer, Call
from tests.support.graph import id_of

LEAD = "email name status source data"


SAVE = command("saveLead", f"lead {{ id {LEAD} }}")


DELETE_LEAD = command("deleteLead", "deletedLeadId")


ONE_LEAD = f"query ($email: String!) {{ lead(by: {{email: $email}}) {{ {LEAD} }} }}"


LEADS = """query ($status: LeadStatus, $first: Int, $after: String) {
    leads(status: $status, first: $first, after: $after) { nodes { email } pageInfo { hasNextPage endCursor } } }"""


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
    assert first.actor == AuditActor(user_id="id-ada")
    assert first.target == second.target == AuditTarget(type="Lead", id="vera@example.org", title="Vera")
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
    assert (entry.action, entry.target) == ("deleteLead", AuditTarget(type="Lead", id=lead.email, title="Vera"))
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
