"""Tenants stay apart: every field and every command of the content system, without a tenant and across tenants."""

import json
from typing import Any

import jwt
import pytest
from graphql import (
    GraphQLEnumType,
    GraphQLField,
    GraphQLInputObjectType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    get_named_type,
    is_leaf_type,
    is_required_argument,
)

from datastore.cms import (
    Asset,
    AuditEntry,
    Consent,
    Content,
    ContentStatus,
    ContentVersion,
    EditorialContext,
    Lead,
    PageComment,
    PageCommentStatus,
    Product,
    ProductStatus,
    Resource,
    Route,
    Signal,
    Tenant,
)
from datastore.model.codec import camel
from datastore.model.entity import Entity
from datastore.security import AuditActor, AuditTarget
from loaders.viewer import Viewer
from resolvers.accounts.tokens import Tokens
from schema import cms
from schema.build import build
from tests.support.cms import staff
from tests.support.graph import Graph, id_of
from tests.support.serving import Served, a_table, serving

SCHEMA = build()._schema
SECRET = "ACME'S SECRET"
NOT_ABOUT_ONE = {"tenant", "createTenant", "updateTenant"}


def fields_of(root: str) -> list[str]:
    names = [camel(name) for name in vars(cms)[root].__annotations__]
    return [name for name in names if name not in NOT_ABOUT_ONE]


def everything_of(tenant_id: str, text: str) -> list[Entity]:
    """One of each kind, under identifiers that are the same for every tenant."""
    own: dict[str, Any] = {"tenant_id": tenant_id}
    page = {"node_id": "node1", "content_type": "page", "title": text, "author_id": "id-x", "blocks": [text]}
    actor, target = AuditActor(user_id="id-x", email=text), AuditTarget(type="Content", id="node1", title=text)
    return [
        Tenant(**own, name=tenant_id),
        Content(**own, **page, version=2, slug="/page", status=ContentStatus.PUBLISHED),
        ContentVersion(**own, **page, version=1, status=ContentStatus.DRAFT),
        Route(**own, slug="/page", node_id="node1"),
        Product(**own, product_id="thing1", title=text, status=ProductStatus.PUBLISHED, description=text),
        Asset(**own, asset_id="thing1", title=text, url="https://example.org/x"),
        Resource(**own, resource_id="thing1", title=text, kind="note", data={"x": text}),
        EditorialContext(**own, context_id="thing1", title=text, data={"x": text}),
        Signal(**own, signal_id="thing1", title=text, kind="note", data={"x": text}),
        PageComment(**own, node_id="node1", author_name=text, body=text, status=PageCommentStatus.PENDING),
        Lead(**own, email="somebody@example.org", name=text),
        Consent(**own, visitor_id="visitor-of-16-letters", purposes=[text]),
        AuditEntry(**own, entry_id="entry1", actor=actor, action="test", target=target),
    ]


ACME = everything_of("acme", SECRET)
IDS = {type(record).__name__: id_of(record) for record in ACME if not isinstance(record, ContentVersion)}
VALUES = {
    "ContentBy": {"databaseId": "node1"},
    "RouteBy": {"slug": "/page"},
    "LeadBy": {"email": "somebody@example.org"},
    **{
        f"{kind}By": {"databaseId": "thing1"} for kind in ("Product", "Asset", "Resource", "EditorialContext", "Signal")
    },
    "slug": "/page",
    "email": "somebody@example.org",
    "visitorKey": "visitor-of-16-letters",
    "time": "2031-01-01T00:00:00Z",
    "url": "https://example.org/new",
    "expectedVersion": 2,
    "number": 1,
    "currency": "EUR",
    "mediaType": "image/png",
    "authorEmail": "somebody@example.org",
    "policyVersion": "1",
}


def value_for(name: str, of_type: Any) -> Any:
    if isinstance(of_type, GraphQLNonNull):
        return value_for(name, of_type.of_type)
    if isinstance(of_type, GraphQLList):
        return [value_for(name, of_type.of_type)]
    if isinstance(of_type, GraphQLInputObjectType) and of_type.is_one_of:
        return VALUES[of_type.name]
    if isinstance(of_type, GraphQLInputObjectType):
        return {key: value_for(key, field.type) for key, field in of_type.fields.items()}
    if isinstance(of_type, GraphQLEnumType):
        return next(iter(of_type.values))
    if of_type.name == "ID":
        kind = name.removesuffix("Id")
        return IDS["PageComment" if kind == "comment" else kind[0].upper() + kind[1:]]
    if name in VALUES:
        return VALUES[name]
    return {"String": "text", "Int": 1, "BigInt": 1, "Boolean": True, "JSON": [] if name == "blocks" else {}}[
        of_type.name
    ]


def selection(of_type: Any, depth: int = 2) -> str:
    named = get_named_type(of_type)
    if is_leaf_type(named):
        return ""
    assert isinstance(named, GraphQLObjectType)
    parts = []
    for name, field in named.fields.items():
        if any(map(is_required_argument, field.args.values())):
            continue
        if is_leaf_type(get_named_type(field.type)):
            parts.append(name)
        elif depth:
            parts.append(f"{name} {selection(field.type, depth - 1)}")
    return "{ " + " ".join(parts) + " }"


def asking(name: str, field: GraphQLField, kind: str) -> tuple[str, dict[str, Any]]:
    """The field with the arguments it needs, as variables; a command with all it can be given."""
    wanted = {key: argument for key, argument in field.args.items() if is_required_argument(argument)}
    declared = ", ".join(f"${key}: {argument.type}" for key, argument in wanted.items())
    given = ", ".join(f"{key}: ${key}" for key in wanted)
    declared, given = (f"({text})" if text else "" for text in (declared, given))
    text = f"{kind} {declared} {{ {name}{given} {selection(field.type)} }}"
    return text, {key: value_for(key, argument.type) for key, argument in wanted.items()}


def query(name: str) -> tuple[str, dict[str, Any]]:
    assert SCHEMA.query_type
    return asking(name, SCHEMA.query_type.fields[name], "query")


def mutation(name: str) -> tuple[str, dict[str, Any]]:
    assert SCHEMA.mutation_type
    return asking(name, SCHEMA.mutation_type.fields[name], "mutation")


async def items_of(graph: Graph, tenant_id: str) -> list[Any]:
    """Everything in a tenant's partition, as it is stored."""
    items = await graph.items()
    return sorted(json.dumps(item, sort_keys=True) for item in items if item["PK"]["S"] == f"TENANT#{tenant_id}")


@pytest.fixture
async def two_tenants(graph: Graph) -> Graph:
    await graph.table.batch_write(puts=[*ACME, Tenant(tenant_id="other", name="Other")])
    return graph


STAFF_WITHOUT_TENANT = Viewer("id-ada", frozenset({"admin"}), tenants=frozenset({("acme", "admin")}))


@pytest.mark.parametrize("name", fields_of("Query"))
async def test_nothing_is_read_without_a_tenant(two_tenants, name):
    text, variables = query(name)

    asked = await two_tenants.ask(text, STAFF_WITHOUT_TENANT, **variables)

    assert asked.error["extensions"] == {"code": "INVALID"}
    assert asked.error["message"] == "send the `x-tenant-id` header to select a tenant"
    assert asked.calls == {}


@pytest.mark.parametrize("name", fields_of("Mutation"))
async def test_nothing_is_written_without_a_tenant(two_tenants, name):
    text, variables = mutation(name)

    asked = await two_tenants.ask(text, STAFF_WITHOUT_TENANT, **variables)

    (problem,) = asked.data[name]["problems"]
    assert (problem["code"], problem["path"]) == ("INVALID", [])
    assert "x-tenant-id" in problem["message"]
    assert asked.calls == {}


@pytest.mark.parametrize("name", fields_of("Query"))
async def test_every_field_shows_ones_own(two_tenants, name):
    """The same queries that find nothing below find something here."""
    text, variables = query(name)

    asked = await two_tenants.ask(text, staff("admin"), **variables)

    assert SECRET in json.dumps(asked.data)


@pytest.mark.parametrize("viewer", ["admin of the other", "admin of acme", "nobody"])
@pytest.mark.parametrize("name", fields_of("Query"))
async def test_nothing_of_one_tenant_is_read_in_a_request_about_another(two_tenants, name, viewer):
    text, variables = query(name)
    tenants = {"admin of the other": ("other", "admin"), "admin of acme": ("acme", "admin")}.get(viewer)
    about_the_other = Viewer(
        "id-ada" if tenants else None, tenant_id="other", tenants=frozenset({tenants} if tenants else ())
    )

    asked = await two_tenants.ask(text, about_the_other, **variables)

    assert SECRET not in json.dumps(asked.body)
    assert '"acme"' not in json.dumps(asked.body)


@pytest.mark.parametrize("id", IDS)
async def test_an_id_of_one_tenant_is_of_no_use_in_another(two_tenants, id):
    query = "query ($id: ID!) { node(id: $id) { id } nodes(ids: [$id]) { id } }"

    own = await two_tenants.ask(query, staff("admin"), id=IDS[id])
    asked = [
        await two_tenants.ask(query, viewer, id=IDS[id])
        for viewer in (staff("admin", "other"), Viewer("id-ada", tenants=frozenset({("acme", "admin")})))
    ]

    assert own.data == {"node": {"id": IDS[id]}, "nodes": [{"id": IDS[id]}]}
    if id != "Tenant":  # tenants are public
        assert [each.data for each in asked] == [{"node": None, "nodes": [None]}] * 2


@pytest.mark.parametrize("name", fields_of("Mutation"))
async def test_no_command_reaches_what_is_anothers(two_tenants, name):
    text, variables = mutation(name)
    before = await items_of(two_tenants, "acme")

    asked = await two_tenants.ask(text, staff("admin", "other"), **variables)

    assert await items_of(two_tenants, "acme") == before
    if id_arguments(name):
        (problem,) = asked.data[name]["problems"]
        assert problem["code"] == "NOT_FOUND"
    assert SECRET not in json.dumps(asked.body)


def id_arguments(name: str) -> list[str]:
    assert SCHEMA.mutation_type
    (argument,) = SCHEMA.mutation_type.fields[name].args.values()
    fields = get_named_type(argument.type).fields  # type: ignore[union-attr]
    return [key for key, field in fields.items() if get_named_type(field.type).name == "ID"]


@pytest.mark.parametrize("name", ["contents", "routes", "products", "assets", "leads", "auditLog"])
async def test_a_cursor_of_one_tenant_is_of_no_use_in_another(two_tenants, name):
    await two_tenants.table.batch_write(puts=everything_of("other", "theirs"))
    page = f"query ($after: String) {{ {name}(first: 1, after: $after) {{ nodes {{ id }} pageInfo {{ endCursor }} }} }}"
    cursor = (await two_tenants.ask(page, staff("admin"))).data[name]["pageInfo"]["endCursor"]

    asked = await two_tenants.ask(page, staff("admin", "other"), after=cursor)

    assert asked.error["extensions"] == {"code": "INVALID"}
    assert "is not a cursor of this list" in asked.error["message"]


@pytest.fixture(scope="module")
def server(endpoint: str):
    with a_table(endpoint) as table_name, serving(endpoint, table_name) as served:
        served.add_tenant("acme")
        yield served


def authorization(served: Served, **tenants: str) -> dict[str, str]:
    tokens: Tokens = served.services.tokens
    return {"authorization": f"Bearer {tokens.issue('id-ada', tenants=tenants)}"}


def test_the_tenant_comes_with_the_header_and_the_staff_with_the_token(server):
    query = "{ contents(status: DRAFT) { nodes { title } } }"
    own, others = authorization(server, acme="viewer"), authorization(server, other="admin")

    answers = [
        server.post(query, headers=headers).json()
        for headers in (
            {**own, "x-tenant-id": "acme"},
            {**others, "x-tenant-id": "acme"},
            {"x-tenant-id": "acme"},
            own,
        )
    ]

    assert answers[0] == {"data": {"contents": {"nodes": []}}}
    assert [answer["errors"][0]["message"] for answer in answers[1:]] == [
        "your token does not cover the tenant acme",
        "sign in first: send `Authorization: Bearer <token>`",
        "send the `x-tenant-id` header to select a tenant",
    ]


@pytest.mark.parametrize("header", ["a#b", "acme#CONTENT", "x" * 3_000])
def test_a_tenant_that_could_be_another_key_is_refused(server, header):
    answer = server.post("{ contents { nodes { title } } }", headers={"x-tenant-id": header})

    assert "errors" in answer.json()
    assert answer.json().get("data") in (None, {"contents": None})


@pytest.mark.parametrize("tenants", [["acme"], {"acme": "king"}, {"acme": 1}, "acme"])
def test_a_token_with_other_roles_does_not_hold(server, tenants):
    token = jwt.encode({"sub": "x", "exp": 4_000_000_000, "tenants": tenants}, server.services.settings.auth_secret)

    answer = server.post("{ contents { nodes { title } } }", headers={"authorization": f"Bearer {token}"})

    assert answer.status_code == 401
    assert answer.json()["errors"][0]["extensions"] == {"code": "TOKEN_INVALID"}
