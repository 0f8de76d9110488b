"""Tenants: created and edited by system administrators, each domain claimed once."""

import pytest

from datastore.cms import Tenant
from loaders.viewer import Viewer
from tests.resolvers.cms.test_content_commands import told, writing
from tests.support.cms import ADMIN, EDITOR, VISITOR
from tests.support.graph import id_of

TENANT = "tenant { databaseId name domains config }"
CREATE_TENANT, UPDATE_TENANT = writing("createTenant", TENANT), writing("updateTenant", TENANT)
SYSTEM = Viewer("id-root", frozenset({"admin"}))


async def test_a_tenants_settings_are_any_json(graph):
    deep: dict = {}
    for _ in range(60):
        deep = {"in": deep}
    config = {"deep": deep, "float": 1.0, "large": 1e300, "none": None}

    payload = await graph.command(CREATE_TENANT, SYSTEM, databaseId="acme", name="Acme", config=config)
    found = await graph.ask("{ tenant { config } }", EDITOR)

    assert payload["tenant"]["config"] == config
    assert found.data["tenant"]["config"] == config


async def test_a_system_administrator_takes_in_a_tenant(graph):
    given = {"databaseId": "Acme", "name": "Acme Ltd", "domains": ["WWW.Acme.example.", "acme.example"]}

    asked = await graph.ask(CREATE_TENANT, SYSTEM, input={**given, "config": {"theme": "dark"}})
    again = await graph.command(CREATE_TENANT, SYSTEM, databaseId="acme", name="Again")
    rival = await graph.command(CREATE_TENANT, SYSTEM, databaseId="rival", name="Rival", domains=["acme.example"])

    assert asked.data["createTenant"] == {
        "tenant": {
            "databaseId": "acme",
            "name": "Acme Ltd",
            "domains": ["www.acme.example", "acme.example"],
            "config": {"theme": "dark"},
        },
        "problems": [],
    }
    assert asked.calls == {"TransactWriteItems": 1}
    assert [told(again), told(rival)] == [[("TAKEN", "databaseId")], [("TAKEN", "domains")]]
    assert await graph.table.get(Tenant.key(tenant_id="rival")) is None


async def test_domains_move_all_at_once(graph, website):
    acme = await website.tenant("acme", "a.example", "b.example")
    rival = await website.tenant("rival", "r.example")
    find = "query ($domain: String!) { tenant(by: {domain: $domain}) { databaseId } }"

    taken = await graph.command(UPDATE_TENANT, SYSTEM, tenantId=id_of(acme), domains=["c.example", "r.example"])
    moved = await graph.command(UPDATE_TENANT, SYSTEM, tenantId=id_of(acme), domains=["b.example", "c.example"])
    freed = await graph.command(UPDATE_TENANT, SYSTEM, tenantId=id_of(rival), domains=["a.example"])

    assert told(taken) == [("TAKEN", "domains")]
    assert moved["tenant"]["domains"] == ["b.example", "c.example"]
    assert freed["problems"] == []
    found = {name: (await graph.ask(find, domain=f"{name}.example")).data["tenant"] for name in ("a", "b", "c", "r")}
    assert found == {"a": {"databaseId": "rival"}, "b": {"databaseId": "acme"}, "c": {"databaseId": "acme"}, "r": None}


@pytest.mark.parametrize(
    ("given", "problems"),
    [
        ({"databaseId": "a b"}, [("INVALID", "databaseId")]),
        ({"databaseId": "a#b", "name": ""}, [("INVALID", "databaseId"), ("INVALID", "name")]),
        ({"domains": ["localhost", "a b.example"]}, [("INVALID", "domains"), ("INVALID", "domains")]),
        ({"domains": [f"d{number}.example" for number in range(21)]}, [("INVALID", "domains")]),
        ({"config": []}, [("INVALID", "config")]),
    ],
)
async def test_tenants_that_cannot_be(graph, given, problems):
    payload = await graph.command(CREATE_TENANT, SYSTEM, **{"databaseId": "acme", "name": "Acme", **given})

    assert told(payload) == problems


@pytest.mark.parametrize(("viewer", "code"), [(VISITOR, "UNAUTHENTICATED"), (ADMIN, "FORBIDDEN")])
async def test_tenants_are_for_system_administrators(graph, website, viewer, code):
    acme = await website.tenant()

    payloads = [
        await graph.command(CREATE_TENANT, viewer, databaseId="new", name="New"),
        await graph.command(UPDATE_TENANT, viewer, tenantId=id_of(acme), name="Mine"),
    ]

    assert [told(payload) for payload in payloads] == [[(code,)]] * 2
