"""Consents of visitors: recorded without a token, never changed."""

import asyncio

import pytest

from datastore.cms import Consent
from datastore.security import AuditActor, AuditTarget
from loaders.viewer import ANONYMOUS
from resolvers.cms import consent_commands
from tests.support.cms import READER, VISITOR, audited, codes, command, staff, visitor
from tests.support.cms_visitors import NOT_STAFF, ROLES
from tests.support.social import minute

CONSENT = "visitorKey purposes policyVersion createdAt"


RECORD = command("recordConsent", f"consent {{ {CONSENT} }}")


LATEST = f"query ($id: String!) {{ consent(visitorKey: $id) {{ {CONSENT} }} }}"


HISTORY = f"""query ($id: String!, $first: Int, $after: String) {{
    consentHistory(visitorKey: $id, first: $first, after: $after) {{
        nodes {{ {CONSENT} }} pageInfo {{ hasNextPage endCursor }} }} }}"""


SOMEBODY = "visitor-0123456789"


async def test_a_visitor_agrees_without_a_token(graph, website):
    await website.tenant()

    asked = await graph.ask(
        RECORD,
        VISITOR,
        input={"visitorKey": SOMEBODY, "purposes": ["analytics", "ads_2", "analytics"], "policyVersion": " 2026-01 "},
    )
    latest = await graph.ask(LATEST, VISITOR, id=SOMEBODY)

    recorded = asked.data["recordConsent"]["consent"]
    created_at = recorded["createdAt"]
    assert asked.data["recordConsent"]["problems"] == []
    assert recorded == {
        "visitorKey": SOMEBODY,
        "purposes": ["analytics", "ads_2"],
        "policyVersion": "2026-01",
        "createdAt": created_at,
    }
    assert asked.calls == {"GetItem": 1, "TransactWriteItems": 2}
    assert latest.data["consent"] == recorded
    assert latest.calls == {"Query": 1}
    (entry,) = await audited(graph)
    assert (entry.actor, entry.action) == (AuditActor(), "recordConsent")
    assert entry.target == AuditTarget(type="Consent", id=f"{SOMEBODY}/{created_at}", title=SOMEBODY)
    assert entry.before is None
    assert entry.after == {"visitorId": SOMEBODY, "purposes": ["analytics", "ads_2"], "policyVersion": "2026-01"}


async def test_consents_are_added_and_never_changed(graph, website):
    await website.tenant()
    given = [["analytics", "ads"], ["analytics"], []]

    for purposes in given:
        payload = await graph.command(RECORD, VISITOR, visitorKey=SOMEBODY, purposes=purposes)
        assert payload["problems"] == []
    latest = await graph.ask(LATEST, VISITOR, id=SOMEBODY)
    history = await graph.ask(HISTORY, READER, id=SOMEBODY)

    assert latest.data["consent"]["purposes"] == []
    assert [node["purposes"] for node in history.data["consentHistory"]["nodes"]] == given[::-1]
    assert history.calls == {"Query": 1}


async def test_consents_at_once_are_all_kept(graph, website):
    await website.tenant()

    payloads = await asyncio.gather(
        *(graph.command(RECORD, VISITOR, visitorKey=SOMEBODY, purposes=[f"p{number}"]) for number in range(10))
    )

    assert [payload["problems"] for payload in payloads] == [[]] * 10
    kept = (await graph.table.query(Consent.within(tenant_id="acme", visitor_id=SOMEBODY), limit=20)).records
    assert sorted(record.purposes for record in kept) == [[f"p{number}"] for number in range(10)]


async def test_two_consents_in_one_millisecond_are_two(graph, website, clock):
    await website.tenant()
    first = await website.thing(Consent, visitor_id=SOMEBODY, purposes=["ads"])
    clock(first.created_at, minute(100))

    payload = await graph.command(RECORD, VISITOR, visitorKey=SOMEBODY, purposes=[])

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
        await graph.command(RECORD, visitor(tenant_id), visitorKey=SOMEBODY, purposes=[tenant_id])

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
    assert [each.error["extensions"]["code"] for each in hostile] == ["INVALID"] * 3
    assert [each.calls for each in hostile] == [{}] * 3


@pytest.mark.parametrize(
    ("given", "paths"),
    [
        ({"visitorKey": "x" * 15}, ["visitorKey"]),
        ({"visitorKey": "x" * 129}, ["visitorKey"]),
        ({"visitorKey": "visitor#0123456789"}, ["visitorKey"]),
        ({"visitorKey": "visitor 0123456789"}, ["visitorKey"]),
        ({"visitorKey": "visitor-0123456789\n"}, ["visitorKey"]),
        ({"visitorKey": "ünicode-0123456789"}, ["visitorKey"]),
        ({"purposes": [""]}, ["purposes"]),
        ({"purposes": ["x" * 41]}, ["purposes"]),
        ({"purposes": ["Ads"]}, ["purposes"]),
        ({"purposes": ["fine", "not fine"]}, ["purposes"]),
        ({"purposes": ["x"] * 21}, ["purposes"]),
        ({"policyVersion": "x" * 101}, ["policyVersion"]),
        ({"visitorKey": "", "purposes": ["#"], "policyVersion": "\x07"}, ["visitorKey", "purposes", "policyVersion"]),
    ],
)
async def test_what_is_no_consent(graph, website, given, paths):
    await website.tenant()

    payload = await graph.command(RECORD, VISITOR, **{"visitorKey": SOMEBODY, "purposes": ["ads"], **given})

    assert payload["consent"] is None
    assert codes(payload) == [("INVALID", path) for path in paths]
    assert await audited(graph) == []


@pytest.mark.parametrize("visitor_id", ["x" * 16, "A-Z_a-z_0-9" * 11])
async def test_what_is_just_a_consent(graph, website, visitor_id):
    await website.tenant()
    purposes = [f"{number:02d}".ljust(40, "-") for number in range(20)]

    payload = await graph.command(RECORD, VISITOR, visitorKey=visitor_id, purposes=purposes, policyVersion="x" * 100)

    assert payload["problems"] == []
    assert payload["consent"]["purposes"] == purposes


async def test_a_consent_takes_a_tenant(graph):
    nobodys = await graph.command(RECORD, ANONYMOUS, visitorKey=SOMEBODY, purposes=[])
    unknown = await graph.command(RECORD, VISITOR, visitorKey=SOMEBODY, purposes=[])

    assert codes(nobodys) == [("INVALID",)]
    assert unknown["problems"] == [{"code": "NOT_FOUND", "message": "there is no tenant acme", "path": []}]


async def test_nobody_agrees_too_often(graph, website, monkeypatch):
    await website.tenant()
    monkeypatch.setattr(consent_commands, "CONSENTS_PER_CLIENT", 2)

    payloads = [await graph.command(RECORD, VISITOR, visitorKey=SOMEBODY, purposes=[]) for _ in range(3)]

    assert [codes(payload) for payload in payloads] == [[], [], [("RATE_LIMITED",)]]
