"""The audit log by actor, action and record: one index for each, and the rest is dropped."""

from dataclasses import replace
from typing import Any

import pytest

from datastore.accounts import User
from datastore.cms import AuditEntry, Content, Tenant
from datastore.security import AuditActor, AuditTarget
from datastore.social import Post
from schema.build import build
from tests.schema.hostile import cost, whole
from tests.support.cms import ADMIN, EDITOR
from tests.support.graph import Graph, id_of, mutation
from tests.support.social import minute

LOG = """query ($actor: ID, $action: String, $target: ID, $after: DateTime, $before: DateTime) {
    auditLog(actorId: $actor, action: $action, targetId: $target, createdAfter: $after, createdBefore: $before) {
        nodes { action } } }"""


def content(number: int, tenant_id: str = "acme") -> Content:
    return Content(
        tenant_id=tenant_id, node_id=f"n{number}", content_type="page", title="Page", author_id="id-ada", blocks=[]
    )


def user(name: str) -> User:
    return User(user_id=f"id-{name}", username=name, email=f"{name}@example.org")


async def add_entries(graph: Graph) -> list[str]:
    """Three people, two actions and two pages in turn. Returns what each entry is about, oldest first."""
    entries = []
    for number in range(12):
        name, action, page = ("ada", "bob", None)[number % 3], ("create", "update")[number // 3 % 2], number // 6
        entries.append(
            AuditEntry(
                tenant_id="acme",
                entry_id=f"e{number:02d}",
                actor=AuditActor(user_id=f"id-{name}" if name else None),
                action=f"{action}Content",
                target=AuditTarget(type="Content", id=f"n{page}", title="Page"),
                created_at=minute(number),
            )
        )
    theirs = replace(entries[0], tenant_id="other")
    await graph.table.batch_write(puts=[*entries, theirs])
    return [f"{entry.actor.user_id} {entry.action} {entry.target.id}" for entry in entries]


FILTERS = {
    "actor": (id_of(user("ada")), "id-ada "),
    "action": ("updateContent", " updateContent "),
    "target": (id_of(content(1)), " n1"),
}


@pytest.mark.parametrize(
    "names",
    [
        (),
        ("actor",),
        ("action",),
        ("target",),
        ("actor", "action"),
        ("actor", "target"),
        ("action", "target"),
        ("actor", "action", "target"),
    ],
)
async def test_every_combination_of_filters_is_one_query(graph, names):
    about = await add_entries(graph)
    expected = [each for each in reversed(about) if all(FILTERS[name][1] in each for name in names)]

    asked = await graph.ask(LOG, ADMIN, **{name: FILTERS[name][0] for name in names})

    assert [node["action"] for node in asked.data["auditLog"]["nodes"]] == [each.split()[1] for each in expected]
    assert asked.calls == {"Query": 1}


@pytest.mark.parametrize("name", ["actor", "action", "target"])
async def test_each_filter_within_a_time(graph, name):
    about = await add_entries(graph)
    given, part = FILTERS[name]
    within = {"after": minute(4), "before": minute(9)}

    asked = await graph.ask(LOG, ADMIN, **{name: given}, **within)

    assert len(asked.data["auditLog"]["nodes"]) == sum(part in each for each in about[4:9])
    assert asked.calls == {"Query": 1}


async def test_what_commands_write_is_found(graph, website):
    await website.tenant()
    page = await website.content(slug="/a/b")
    update = mutation("changeSlug", "content { id route { id } }")
    moved = await graph.command(update, EDITOR, contentId=id_of(page), slug="/c/d")
    delete = mutation("deleteRoute", "deletedRouteId")
    redirect = await graph.command(
        mutation("createRedirect", "route { id }"), EDITOR, contentId=id_of(page), slug="/e/f"
    )
    await graph.command(delete, EDITOR, routeId=redirect["route"]["id"])

    async def found(**given: Any) -> list[str]:
        return [node["action"] for node in (await graph.ask(LOG, ADMIN, **given)).data["auditLog"]["nodes"]]

    assert moved["problems"] == []
    assert await found(target=id_of(page)) == ["changeSlug"]
    assert await found(target=redirect["route"]["id"]) == ["deleteRoute", "createRedirect"]
    assert await found(action="changeSlug") == ["changeSlug"]
    assert len(await found(actor=id_of(user("ada")))) == 3


async def test_changes_of_the_tenant_itself(graph, website):
    tenant = await website.tenant()
    entry = AuditEntry(
        tenant_id="acme",
        entry_id="e1",
        actor=AuditActor(),
        action="updateTenant",
        target=AuditTarget(type="Tenant", id="acme", title="Acme"),
    )
    await graph.table.put(entry)

    asked = await graph.ask(LOG, ADMIN, target=id_of(tenant))

    assert asked.data["auditLog"]["nodes"] == [{"action": "updateTenant"}]


@pytest.mark.parametrize(
    "target",
    [
        content(1, "other"),
        Tenant(tenant_id="other", name="Other"),
        Post(post_id="p", user_id="u", image_url="https://example.org/p.jpg"),
    ],
)
async def test_a_record_that_is_not_the_tenants_is_refused(graph, target):
    await add_entries(graph)

    asked = await graph.ask(LOG, ADMIN, target=id_of(target))

    assert asked.error["message"] == "this is no record of the tenant acme"
    assert asked.calls == {}


@pytest.mark.parametrize("wrong", [{"actor": id_of(content(1))}, {"actor": "id-ada"}, {"target": "n1"}])
async def test_an_id_of_another_kind_is_refused(graph, wrong):
    asked = await graph.ask(LOG, ADMIN, **wrong)

    assert asked.error["extensions"]["code"] == "INVALID"
    assert asked.calls == {}


async def test_an_entry_that_fits_in_no_index_is_still_in_the_log(graph):
    entry = AuditEntry(
        tenant_id="acme",
        entry_id="e1",
        actor=AuditActor(user_id="a#b"),
        action="updateContent",
        target=AuditTarget(type="Content", id="x" * 3_000, title="Page"),
    )
    await graph.table.put(entry)

    assert (await graph.ask(LOG, ADMIN)).data["auditLog"]["nodes"] == [{"action": "updateContent"}]


def test_one_filter_has_an_index_and_two_pay_for_what_they_drop():
    query = "{ auditLog(first: 5, %s) { nodes { action } } }"
    schema = build()._schema

    assert cost(query % 'action: "x"', schema) == whole(5, 5)
    assert cost(query % 'action: "x", actorId: null', schema) == whole(5, 5)
    assert cost(query % 'action: "x", actorId: "y"', schema) == whole(1_000, 5)
