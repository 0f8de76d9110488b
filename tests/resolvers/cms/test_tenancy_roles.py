"""Every field and mutation of the content system refuses viewers without the role it declares, and no one else."""

from typing import Any

import pytest
from graphql import GraphQLField

from datastore.cms import Tenant
from datastore.model.codec import camel
from loaders.viewer import Viewer
from schema import cms
from tests.resolvers.cms.test_tenancy import ACME, IDS, SCHEMA, fields_of, items_of, query, selection
from tests.support.cms import ADMIN, EDITOR, READER, STRANGER, VISITOR
from tests.support.every_mutation import CASES, make_world, text_of
from tests.support.graph import Graph

VIEWERS = {
    "visitor": VISITOR,
    "user": Viewer("id-bob", tenant_id="acme"),
    "stranger": STRANGER,
    "viewer": READER,
    "editor": EDITOR,
    "admin": ADMIN,
    "system admin": Viewer("id-root", frozenset({"admin"}), tenant_id="acme"),
}
ALLOWED = {
    None: {*VIEWERS},
    "TENANT_VIEWER": {"viewer", "editor", "admin"},
    "TENANT_EDITOR": {"editor", "admin"},
    "TENANT_ADMIN": {"admin"},
    "ADMIN": {"system admin"},
}
REFUSALS = {"UNAUTHENTICATED", "FORBIDDEN"}

# The role that each field requires. All others are for everyone.
STAFF_FIELDS = {
    **dict.fromkeys(("resource", "resources", "editorialContext", "editorialContexts"), "TENANT_VIEWER"),
    **dict.fromkeys(("signal", "signals", "pageComments", "lead", "leads", "consentHistory"), "TENANT_VIEWER"),
    "auditLog": "TENANT_ADMIN",
}
HISTORY = {
    "versions": "versions { nodes { title } }",
    "atVersion": "atVersion(number: 1) { title }",
    "asOf": 'asOf(time: "2036-01-01T00:00:00Z") { title }',
    "diff": "diff(from: 1, to: 2) { path }",
}
FOR_VISITORS = {"addPageComment", "recordConsent"}
FOR_SYSTEM_ADMINS = {"createTenant", "updateTenant"}


def required(field: GraphQLField) -> str | None:
    """The role in the directive `@access` of a field."""
    directives = field.extensions["strawberry-definition"].directives
    roles = [each.requires for each in directives if type(each).__name__ == "AccessDirective" and each.requires]
    return roles[0].value if roles else None


def related(field: GraphQLField) -> list[str]:
    """The relations in the directive `@access` of a field."""
    directives = field.extensions["strawberry-definition"].directives
    named = [each.only for each in directives if type(each).__name__ == "AccessDirective" and each.only]
    return [relation.value for relations in named for relation in relations]


def code_for(role: str | None, viewer: str) -> str | None:
    if viewer in ALLOWED[role]:
        return None
    return "UNAUTHENTICATED" if viewer == "visitor" else "FORBIDDEN"


def types_of_the_cms() -> dict[str, dict[str, GraphQLField]]:
    shown = {name for name in vars(cms) if name in SCHEMA.type_map and name not in ("Query", "Mutation", "User")}
    return {name: SCHEMA.type_map[name].fields for name in shown if hasattr(SCHEMA.type_map[name], "fields")}


def mutations() -> list[str]:
    return [camel(name) for name in vars(cms)["Mutation"].__annotations__]


@pytest.fixture
async def acme(graph: Graph) -> Graph:
    await graph.table.batch_write(puts=[*ACME, Tenant(tenant_id="other", name="Other")])
    return graph


def test_the_schema_says_who_may_read():
    assert SCHEMA.query_type
    root = {name: required(SCHEMA.query_type.fields[name]) for name in ["tenant", *fields_of("Query")]}
    inner = {
        f"{owner}.{name}": role
        for owner, fields in types_of_the_cms().items()
        for name, field in fields.items()
        if (role := required(field))
    }

    assert {name: role for name, role in root.items() if role} == STAFF_FIELDS
    subscriptions = {
        "Subscription.auditEntryAdded": "TENANT_ADMIN",
        "Subscription.buildAdded": "BUILDER",
        "Subscription.homeFeedPostAdded": "SIGNED_IN",
        "Subscription.notificationAdded": "SIGNED_IN",
        "Subscription.siteBuildAdded": "SIGNED_IN",
    }
    history = {f"Content.{name}": "TENANT_VIEWER" for name in HISTORY}
    assert inner == history | {"Tenant.webhooks": "TENANT_ADMIN"} | subscriptions


def test_the_schema_says_what_is_null_for_whom():
    only = {
        f"{owner}.{name}": relations
        for owner, fields in types_of_the_cms().items()
        for name, field in fields.items()
        if (relations := related(field))
    }

    assert only == {
        "Content.analytics": ["TENANT_STAFF", "ADMIN"],
        "Content.message": ["TENANT_STAFF"],
        "PageComment.authorEmail": ["TENANT_STAFF"],
        "Tenant.analytics": ["TENANT_STAFF", "ADMIN"],
        "Tenant.config": ["TENANT_STAFF", "ADMIN"],
        "Tenant.topContents": ["TENANT_STAFF", "ADMIN"],
    }


def test_the_schema_says_who_may_write():
    assert SCHEMA.mutation_type
    roles = {name: required(SCHEMA.mutation_type.fields[name]) for name in mutations()}

    assert roles == {
        name: None if name in FOR_VISITORS else "ADMIN" if name in FOR_SYSTEM_ADMINS else "TENANT_EDITOR"
        for name in mutations()
    }


@pytest.mark.parametrize("name", ["tenant", *fields_of("Query")])
async def test_a_root_field_is_refused_to_those_without_its_role(acme, name):
    assert SCHEMA.query_type
    field = SCHEMA.query_type.fields[name]
    text, variables = query(name)
    # Fields that are for the staff have errors of their own.
    text = text.replace(selection(field.type), "{ __typename }")

    asked = {viewer: await acme.ask(text, VIEWERS[viewer], **variables) for viewer in VIEWERS}

    for viewer, answer in asked.items():
        code = code_for(required(field), viewer)
        if code:
            assert (answer.error["extensions"], answer.error["path"]) == ({"code": code}, [name])
            assert answer.body["data"] == {name: None}
            assert answer.calls == {}
        elif name != "pageComments":
            assert answer.data[name] is not None


@pytest.mark.parametrize("name", [name for name in STAFF_FIELDS if f"{name[0].upper()}{name[1:]}" in IDS])
async def test_a_record_of_the_staff_is_refused_by_its_id_too(acme, name):
    text = f"query ($id: ID!) {{ {name}(by: {{id: $id}}) {{ id }} }}"
    id = IDS[f"{name[0].upper()}{name[1:]}"]

    asked = {viewer: await acme.ask(text, VIEWERS[viewer], id=id) for viewer in VIEWERS}

    for viewer, answer in asked.items():
        if code := code_for("TENANT_VIEWER", viewer):
            assert (answer.error["extensions"], answer.calls) == ({"code": code}, {})
        else:
            assert answer.data == {name: {"id": id}}


@pytest.mark.parametrize("name", HISTORY)
async def test_history_is_refused_at_its_path_and_the_content_is_not(acme, name):
    text = f'{{ content(by: {{databaseId: "node1"}}) {{ title {HISTORY[name]} }} contents {{ nodes {{ slug }} }} }}'

    asked = {viewer: await acme.ask(text, VIEWERS[viewer]) for viewer in VIEWERS}

    for viewer, answer in asked.items():
        content = answer.body["data"]["content"]
        assert content["title"] == "ACME'S SECRET"
        assert answer.body["data"]["contents"] == {"nodes": [{"slug": "/page"}]}
        if code := code_for("TENANT_VIEWER", viewer):
            assert (answer.error["extensions"], answer.error["path"]) == ({"code": code}, ["content", name])
            assert content[name] is None
        else:
            assert "errors" not in answer.body
            assert content[name] is not None


@pytest.mark.parametrize("name", mutations())
async def test_a_mutation_is_refused_to_those_without_its_role(graph, name):
    assert SCHEMA.mutation_type
    role = required(SCHEMA.mutation_type.fields[name])
    world = await make_world(graph)
    _, given = CASES[name](world)
    text = text_of(SCHEMA, name)
    before = await items_of(graph, "acme")

    for viewer in VIEWERS.keys() - ALLOWED[role]:
        asked = await graph.ask(text, VIEWERS[viewer], input=given)
        (problem,) = asked.data[name]["problems"]
        assert (problem["code"], problem["path"]) == (code_for(role, viewer), [])
        assert asked.calls == {}
    assert await items_of(graph, "acme") == before

    done = [await problems_of(graph, text, VIEWERS[viewer], given) for viewer in VIEWERS if viewer in ALLOWED[role]]
    assert done[0] == []
    assert not {problem["code"] for problems in done for problem in problems} & REFUSALS


@pytest.mark.parametrize("name", mutations())
async def test_invalid_input_is_told_before_a_missing_role(graph, name):
    text = f"mutation ($input: {name[0].upper()}{name[1:]}Input!) {{ {name}(input: $input) {{ problems {{ code }} }} }}"
    world = await make_world(graph)
    _, given = CASES[name](world)
    wrong = {key: "\x07" for key, value in given.items() if isinstance(value, str)}
    wrong.pop("status", None)

    asked = await graph.ask(text, VISITOR, input={**given, **wrong})

    assert {problem["code"] for problem in asked.data[name]["problems"]} == {"INVALID"}
    assert asked.calls == {}


async def problems_of(graph: Graph, text: str, viewer: Viewer, given: dict[str, Any]) -> list[dict[str, Any]]:
    asked = await graph.ask(text, viewer, input=given)
    (payload,) = asked.body["data"].values()
    problems: list[dict[str, Any]] = payload["problems"]
    return problems
