"""Making, changing and deleting products, assets, resources, contexts and signals."""

import asyncio
from typing import Any

import pytest

from datastore.client.writes import Update
from datastore.cms import Asset
from datastore.security import AuditActor, AuditTarget
from loaders.viewer import Viewer
from resolvers.cms import audited_writes
from tests.support.cms import ADMIN, EDITOR, READER, STRANGER, VISITOR, audited, codes, staff
from tests.support.cms_catalog import HEADER_MISSING, KINDS, SYSTEM_ADMIN, Kind, every_kind, make, titles
from tests.support.graph import id_of
from tests.support.social import minute

REQUIRED = {"title", "kind", "status"}


def required(kind: Kind) -> set[str]:
    return REQUIRED | ({"url"} if kind.entity is Asset else set())


@every_kind
async def test_making_one_with_everything(graph, website, kind):
    await website.tenant()

    asked = await graph.ask(kind.doing("create"), EDITOR, input=kind.full)

    (payload,) = asked.data.values()
    assert payload["problems"] == []
    made = payload[kind.name]
    assert made == {"id": made["id"], "databaseId": made["databaseId"], **kind.full}
    assert asked.calls == {"GetItem": 1, "TransactWriteItems": 1}
    (entry,) = await audited(graph)
    assert entry.actor == AuditActor(user_id="id-ada")
    assert entry.action == f"create{kind.entity.__name__}"
    assert entry.target == AuditTarget(type=kind.entity.__name__, id=made["databaseId"], title=kind.full["title"])
    assert entry.before is None
    assert entry.after == {kind.stored_id: made["databaseId"], **kind.stored(kind.full)}


@every_kind
async def test_making_one_with_as_little_as_can_be(graph, website, kind):
    await website.tenant()
    least = {name: value for name, value in kind.full.items() if name in required(kind) - {"status"}}

    payload = await graph.command(kind.doing("create"), EDITOR, **least)

    made = payload[kind.name]
    nothing = dict.fromkeys(kind.full)
    assert made == {
        "id": made["id"],
        "databaseId": made["databaseId"],
        **nothing,
        **kind.defaults,
        **least,
    }


@every_kind
async def test_a_change_keeps_what_it_does_not_mention(graph, website, kind):
    await website.tenant()
    await graph.add_user("ada", email="ada@example.org")
    for name, value in kind.other.items():
        made = await make(graph, kind)

        asked = await graph.ask(kind.doing("update"), EDITOR, input={kind.id_field: made["id"], name: value})

        (payload,) = asked.data.values()
        assert payload == {kind.name: {**made, name: value}, "problems": []}
        assert asked.calls == {"GetItem": 1, "TransactWriteItems": 1}
        entry = (await audited(graph))[-1]
        assert entry.actor == AuditActor(user_id="id-ada", email="ada@example.org")
        assert entry.action == f"update{kind.entity.__name__}"
        title = value if name == "title" else made["title"]
        assert entry.target == AuditTarget(type=kind.entity.__name__, id=made["databaseId"], title=title)
        assert entry.before == kind.stored({name: kind.full[name]})
        assert entry.after == kind.stored({name: value})


@every_kind
async def test_a_change_of_everything(graph, website, kind):
    await website.tenant()
    made = await make(graph, kind)

    payload = await graph.command(kind.doing("update"), EDITOR, **{kind.id_field: made["id"]}, **kind.other)

    assert payload == {kind.name: {**made, **kind.other}, "problems": []}
    found = await graph.ask(kind.one, READER, id=made["databaseId"])
    assert found.data["thing"] == {**made, **kind.other}


@every_kind
async def test_null_removes_what_may_be_missing_and_nothing_else(graph, website, kind):
    await website.tenant()
    for name in kind.full:
        made = await make(graph, kind)

        payload = await graph.command(kind.doing("update"), EDITOR, **{kind.id_field: made["id"], name: None})

        if name in required(kind):
            assert payload[kind.name] is None
            assert codes(payload) == [("INVALID", name)]
        else:
            assert payload == {kind.name: {**made, name: None}, "problems": []}


@every_kind
async def test_deleting_one(graph, website, kind):
    await website.tenant()
    made = await make(graph, kind)

    asked = await graph.ask(kind.doing("delete"), EDITOR, input={kind.id_field: made["id"]})
    again = await graph.command(kind.doing("delete"), EDITOR, **{kind.id_field: made["id"]})
    found = await graph.ask(kind.one, READER, id=made["databaseId"])
    listed = await graph.ask(kind.all(), READER)

    (payload,) = asked.data.values()
    assert payload == {f"deleted{kind.entity.__name__}Id": made["id"], "problems": []}
    assert asked.calls == {"GetItem": 1, "TransactWriteItems": 1}
    message = f"there is no such {kind.noun}"
    assert again["problems"] == [{"code": "NOT_FOUND", "message": message, "path": ["input", kind.id_field]}]
    assert found.data == {"thing": None}
    assert titles(listed) == []
    entry = (await audited(graph))[-1]
    assert (entry.actor, entry.action) == (AuditActor(user_id="id-ada"), f"delete{kind.entity.__name__}")
    assert entry.target == AuditTarget(type=kind.entity.__name__, id=made["databaseId"], title=made["title"])
    assert entry.before == {kind.stored_id: made["databaseId"], **kind.stored(kind.full)}
    assert entry.after is None


@every_kind
@pytest.mark.parametrize("verb", ["create", "update", "delete"])
@pytest.mark.parametrize(
    ("viewer", "code"),
    [
        (ADMIN, None),
        (EDITOR, None),
        (READER, "FORBIDDEN"),
        (STRANGER, "FORBIDDEN"),
        (SYSTEM_ADMIN, "FORBIDDEN"),
        (VISITOR, "UNAUTHENTICATED"),
        (HEADER_MISSING, "INVALID"),
    ],
    ids=["admin", "editor", "viewer", "stranger", "system admin", "visitor", "no header"],
)
async def test_who_may_write(graph, website, kind, verb, viewer, code):
    await website.tenant()
    made = await website.thing(kind.entity)
    given = kind.full if verb == "create" else {kind.id_field: id_of(made)}

    payload = await graph.command(kind.doing(verb), viewer, **given)

    assert codes(payload) == ([(code,)] if code else [])
    if code:
        assert await graph.table.get(made.own_key) == made
        assert titles(await graph.ask(kind.all(), READER)) == [made.title]
        assert await audited(graph) == []


@every_kind
async def test_a_tenant_there_must_be(graph, kind):
    payload = await graph.command(kind.doing("create"), EDITOR, **kind.full)

    assert payload["problems"] == [{"code": "NOT_FOUND", "message": "there is no tenant acme", "path": []}]
    assert titles(await graph.ask(kind.all(), READER)) == []


@every_kind
async def test_two_tenants_with_the_same_ids_stay_apart(graph, website, kind):
    ids = {kind.entity.key_holes[-1]: "same"}
    tenants = ("acme", "other")
    for tenant_id in tenants:
        await website.tenant(tenant_id)
        await website.thing(kind.entity, tenant_id, title=f"Of {tenant_id}", **ids)

    for tenant_id in tenants:
        viewer = staff("viewer", tenant_id)
        single = await graph.ask(kind.one, viewer, id="same")
        listed = await graph.ask(kind.all(), viewer)
        assert single.data["thing"]["title"] == f"Of {tenant_id}"
        assert titles(listed) == [f"Of {tenant_id}"]
    theirs = kind.entity.key(tenant_id="other", **ids)
    own = kind.entity.key(tenant_id="acme", **ids)
    before = await graph.table.get(theirs)
    refusals = [
        await graph.command(kind.doing(verb), EDITOR, **{kind.id_field: id_of(before)}, **given)
        for verb, given in (("update", {"title": "Mine"}), ("delete", {}))
    ]
    assert [codes(each) for each in refusals] == [[("NOT_FOUND", kind.id_field)]] * 2
    assert await graph.table.get(theirs) == before
    by_id = await graph.ask("query ($id: ID!) { node(id: $id) { id } }", ADMIN, id=id_of(before))
    assert by_id.data == {"node": None}

    mine = id_of(await graph.table.get(own))
    changed = await graph.command(kind.doing("update"), EDITOR, **{kind.id_field: mine}, title="Changed")
    gone = await graph.command(kind.doing("delete"), EDITOR, **{kind.id_field: mine})
    assert codes(changed) == codes(gone) == []
    assert await graph.table.get(own) is None
    assert await graph.table.get(theirs) == before
    assert await audited(graph, "other") == []


@every_kind
async def test_somebody_on_two_staffs_works_for_the_tenant_of_the_request(graph, website, kind):
    for tenant_id in ("acme", "other"):
        await website.tenant(tenant_id)
    both = frozenset({("acme", "editor"), ("other", "viewer")})

    made = await graph.command(kind.doing("create"), Viewer("id-ada", tenant_id="acme", tenants=both), **kind.full)
    refusal = await graph.command(kind.doing("create"), Viewer("id-ada", tenant_id="other", tenants=both), **kind.full)

    assert codes(made) == []
    assert codes(refusal) == [("FORBIDDEN",)]
    assert titles(await graph.ask(kind.all(), staff("viewer", "other"))) == []


DEEP: Any = 1
for _ in range(200):
    DEEP = [DEEP]

INVALID = [
    ("product", {"title": " \n"}, ["title"]),
    ("product", {"title": "x" * 301}, ["title"]),
    ("product", {"title": "a\x00b"}, ["title"]),
    ("product", {"title": "a\ud800b"}, ["title"]),
    ("product", {"sku": "x" * 101}, ["sku"]),
    ("product", {"price": {"amount": -1, "currency": "EUR"}}, ["price"]),
    ("product", {"price": {"amount": 1, "currency": ""}}, ["price"]),
    ("product", {"price": {"amount": 1, "currency": "eur"}}, ["price"]),
    ("product", {"price": {"amount": 1, "currency": "EURO"}}, ["price"]),
    ("product", {"price": {"amount": 1, "currency": "EU\u0052\n"}}, ["price"]),
    ("product", {"price": {"amount": 1, "currency": "ÄÖÜ"}}, ["price"]),
    ("product", {"description": "x" * 20_001}, ["description"]),
    ("product", {"data": []}, ["data"]),
    ("product", {"data": "{}"}, ["data"]),
    ("product", {"data": 1}, ["data"]),
    ("product", {"data": {"x": DEEP}}, ["data"]),
    ("product", {"data": {"x": 2**64}}, ["data"]),
    ("product", {"data": {"text": "x" * 99_990}}, ["data"]),
    ("product", {"title": "", "price": {"amount": -1, "currency": "x"}}, ["title", "price", "price"]),
    ("product", {"title": "", "data": []}, ["title", "data"]),
    ("asset", {"url": "http://example.org/logo.png"}, ["url"]),
    ("asset", {"url": "javascript:alert(1)"}, ["url"]),
    ("asset", {"url": "https://user:secret@example.org"}, ["url"]),
    ("asset", {"url": "https://example.org/" + "x" * 2_048}, ["url"]),
    ("asset", {"url": ""}, ["url"]),
    ("asset", {"mediaType": "png"}, ["mediaType"]),
    ("asset", {"mediaType": "image/"}, ["mediaType"]),
    ("asset", {"mediaType": "image/png/x"}, ["mediaType"]),
    ("asset", {"mediaType": "image/png; x=<script>"}, ["mediaType"]),
    ("asset", {"mediaType": "image/" + "x" * 128}, ["mediaType"]),
    ("asset", {"size": -1}, ["size"]),
    ("asset", {"alt": "x" * 1_001}, ["alt"]),
    ("asset", {"title": "", "url": "x", "size": -2}, ["title", "url", "size"]),
    ("resource", {"kind": ""}, ["kind"]),
    ("resource", {"kind": "no spaces"}, ["kind"]),
    ("resource", {"kind": "x" * 41}, ["kind"]),
    ("resource", {"kind": "a#b"}, ["kind"]),
    ("resource", {"url": "ftp://example.org"}, ["url"]),
    ("resource", {"data": ["x"], "kind": "#"}, ["kind", "data"]),
    ("editorialContext", {"title": ""}, ["title"]),
    ("editorialContext", {"data": {"text": "ü" * 50_000}}, ["data"]),
    ("signal", {"title": "x" * 301, "kind": "-", "data": False}, ["title", "kind", "data"]),
]


@pytest.mark.parametrize("verb", ["create", "update"])
@pytest.mark.parametrize(("name", "given", "paths"), INVALID)
async def test_what_cannot_be_kept(graph, website, verb, name, given, paths):
    await website.tenant()
    (kind,) = [kind for kind in KINDS if kind.name == name]
    made = await website.thing(kind.entity)
    more = kind.full if verb == "create" else {kind.id_field: id_of(made)}

    asked = await graph.ask(kind.doing(verb), EDITOR, input={**more, **given})

    (payload,) = asked.data.values()
    assert payload[kind.name] is None
    assert codes(payload) == [("INVALID", path) for path in paths]
    assert asked.calls == {}
    assert await graph.table.get(made.own_key) == made
    assert await audited(graph) == []


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("product", {"title": "x" * 300, "sku": "x" * 100, "description": "ü" * 20_000}),
        ("product", {"price": {"amount": 2**53 - 1, "currency": "JPY"}, "data": {"text": "x" * 99_989}}),
        ("product", {"description": "Two\nlines"}),
        ("asset", {"mediaType": "application/vnd.openxmlformats-officedocument.wordprocessingml.document"}),
        ("asset", {"size": 2**53 - 1}),
        ("asset", {"alt": "x" * 1_000, "url": "https://example.org/ü?q=1#top"}),
        ("resource", {"kind": "x" * 40}),
        ("editorialContext", {"data": {"": {"a.b": "#", "PK": "TENANT#other"}}}),
    ],
)
async def test_what_can_just_be_kept(graph, website, name, given):
    await website.tenant()
    (kind,) = [kind for kind in KINDS if kind.name == name]

    made = await make(graph, kind, **given)
    found = await graph.ask(kind.one, READER, id=made["databaseId"])

    assert found.data["thing"] == made == {**made, **given}


@pytest.mark.parametrize("number", [2**53, -(2**53), 1.5, "12", True])
@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (KINDS[0], lambda number: {"title": "A chair", "price": {"amount": number, "currency": "EUR"}}),
        (KINDS[1], lambda number: {"title": "Logo", "url": "https://example.org/logo.png", "size": number}),
    ],
    ids=["price", "size"],
)
async def test_amounts_and_sizes_are_exact_whole_numbers(graph, website, kind, given, number):
    await website.tenant()

    asked = await graph.ask(kind.doing("create"), EDITOR, input=given(number))

    assert asked.error["extensions"]["code"] == "INVALID"
    assert asked.calls == {}


async def test_space_around_text_is_no_part_of_it(graph, website):
    await website.tenant()

    made = await make(graph, KINDS[0], title=" A chair\n", sku="  ", description=" ")

    assert (made["title"], made["sku"], made["description"]) == ("A chair", None, None)


@every_kind
async def test_an_id_of_something_else_is_no_id(graph, website, kind):
    await website.tenant()
    page = await website.content()

    for id in (id_of(page), "nonsense", ""):
        payload = await graph.command(kind.doing("delete"), EDITOR, **{kind.id_field: id})
        assert codes(payload) == [("INVALID", kind.id_field)]
    assert await graph.table.get(page.own_key) == page


@every_kind
@pytest.mark.parametrize("verb", ["update", "delete"])
async def test_what_changed_in_the_meantime_is_left_alone(graph, website, kind, verb, monkeypatch):
    await website.tenant()
    made = await website.thing(kind.entity)
    own = audited_writes.own

    async def then_changed(*given):
        record = await own(*given)
        await graph.table.update(Update(record.own_key, set={"title": "Theirs", "updated_at": minute(999)}))
        return record

    monkeypatch.setattr("resolvers.cms.catalog_commands.own", then_changed)
    given = {kind.id_field: id_of(made), **({"title": "Mine"} if verb == "update" else {})}
    payload = await graph.command(kind.doing(verb), EDITOR, **given)

    assert codes(payload) == [("CONFLICT", kind.id_field)]
    assert (await graph.table.get(made.own_key)).title == "Theirs"
    assert await audited(graph) == []


async def test_changes_at_once_lose_nothing_that_was_said_to_be_done(graph, website):
    await website.tenant()
    kind = KINDS[0]
    made = await make(graph, kind)

    payloads = dict(
        zip(
            kind.other,
            await asyncio.gather(
                *(
                    graph.command(kind.doing("update"), EDITOR, productId=made["id"], **{name: value})
                    for name, value in kind.other.items()
                )
            ),
            strict=True,
        )
    )

    done = {name for name, payload in payloads.items() if not payload["problems"]}
    assert done
    assert {code for payload in payloads.values() for code in codes(payload)} <= {("CONFLICT", "productId")}
    found = await graph.ask(kind.one, READER, id=made["databaseId"])
    assert found.data["thing"] == {**made, **{name: kind.other[name] for name in done}}
    assert len(await audited(graph)) == 1 + len(done)
