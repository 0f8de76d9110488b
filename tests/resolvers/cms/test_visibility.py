"""Visibility of a tenant's records: outsiders learn neither address, title, count nor existence of what is hidden."""

import json

import pytest

from datastore.cms import (
    Asset,
    Consent,
    ContentStatus,
    EditorialContext,
    Lead,
    PageComment,
    PageCommentStatus,
    Product,
    ProductStatus,
    Resource,
    Route,
    Signal,
)
from schema.build import build
from schema.cms import Query
from tests.resolvers.cms.test_route_commands import CHANGE_SLUG, CREATE_REDIRECT
from tests.support.cms import EDITOR, READER, STRANGER, VISITOR
from tests.support.graph import id_of, listed

HIDDEN = [status for status in ContentStatus if status is not ContentStatus.PUBLISHED]
OUTSIDERS = pytest.mark.parametrize("outsider", [VISITOR, STRANGER], ids=["visitor", "staff of another tenant"])
ROUTES = "{ routes { nodes { slug target content { databaseId } } } }"
ROUTE = "query ($slug: String!) { route(by: {slug: $slug}) { slug isRedirect target content { title } } }"
NODE = "query ($id: ID!) { node(id: $id) { id } }"


@OUTSIDERS
@pytest.mark.parametrize("status", HIDDEN)
async def test_routes_of_hidden_content_are_not_listed(graph, website, status, outsider):
    await website.content(slug="/secret", status=status)
    shown = await website.content(slug="/shown")

    asked = await graph.ask(ROUTES, outsider)

    assert asked.data == {
        "routes": {"nodes": [{"slug": "/shown", "target": None, "content": {"databaseId": shown.node_id}}]}
    }
    assert asked.calls == {"Query": 1, "BatchGetItem": 1}


@OUTSIDERS
@pytest.mark.parametrize("status", HIDDEN)
async def test_a_route_to_hidden_content_is_like_none(graph, website, status, outsider):
    await website.content(slug="/secret", status=status)

    hidden = await graph.ask(ROUTE, outsider, slug="/secret")
    by_id = await graph.ask(NODE, outsider, id=id_of(Route(tenant_id="acme", slug="/secret", node_id="x")))
    missing = await graph.ask(ROUTE, outsider, slug="/missing")

    assert hidden.data == missing.data == {"route": None}
    assert hidden.calls == {"GetItem": 2}
    assert by_id.data == {"node": None}
    assert by_id.calls == {"GetItem": 2}


@OUTSIDERS
async def test_redirects_and_former_paths_of_hidden_content_are_hidden(graph, website, outsider):
    await website.tenant()
    draft = await website.content(slug="/before", status=ContentStatus.DRAFT)
    await graph.command(CHANGE_SLUG, EDITOR, contentId=id_of(draft), slug="/after")
    await graph.command(CREATE_REDIRECT, EDITOR, contentId=id_of(draft), slug="/short")

    found = [await graph.ask(ROUTE, outsider, slug=slug) for slug in ("/before", "/after", "/short")]
    everything = await graph.ask(ROUTES, outsider)

    assert [asked.data for asked in found] == [{"route": None}] * 3
    assert everything.data == {"routes": {"nodes": []}}


async def test_a_route_without_content_is_hidden(graph, website):
    await website.thing(Route, slug="/orphan", node_id="gone")

    asked = await graph.ask(ROUTE, VISITOR, slug="/orphan")
    everything = await graph.ask(ROUTES, VISITOR)

    assert asked.data == {"route": None}
    assert everything.data == {"routes": {"nodes": []}}


async def test_a_route_comes_and_goes_with_its_content(graph, website):
    await website.tenant()
    page = await website.content(slug="/page", status=ContentStatus.DRAFT)
    update = "mutation ($input: UpdateContentInput!) { updateContent(input: $input) { problems { code } } }"
    seen = []

    for version, status in enumerate(("PUBLISHED", "ARCHIVED"), 1):
        await graph.command(update, EDITOR, contentId=id_of(page), expectedVersion=version, status=status)
        seen.append((await graph.ask("{ routes { nodes { slug } } }", VISITOR)).data["routes"]["nodes"])

    assert seen == [[{"slug": "/page"}], []]


async def test_the_staff_sees_every_route_without_reading_content(graph, website):
    await website.content(slug="/a", status=ContentStatus.DRAFT)
    await website.content(slug="/b")

    listed_routes = await graph.ask("{ routes { nodes { slug } } }", READER)
    one = await graph.ask('{ route(by: {slug: "/a"}) { slug } }', READER)

    assert listed_routes.data == {"routes": {"nodes": [{"slug": "/a"}, {"slug": "/b"}]}}
    assert listed_routes.calls == {"Query": 1}
    assert one.data == {"route": {"slug": "/a"}}
    assert one.calls == {"GetItem": 1}


async def test_pages_of_routes_are_full_although_some_are_hidden(graph, website):
    for number in range(12):
        status = ContentStatus.PUBLISHED if number % 4 == 3 else ContentStatus.DRAFT
        await website.content(slug=f"/p{number:02d}", status=status)
    page = """query ($after: String) { routes(first: 2, after: $after) {
        nodes { slug } pageInfo { hasNextPage endCursor } } }"""

    first = await graph.ask(page, VISITOR)
    after = first.data["routes"]["pageInfo"]["endCursor"]
    second = await graph.ask(page, VISITOR, after=after)

    assert first.data["routes"]["nodes"] == [{"slug": "/p03"}, {"slug": "/p07"}]
    assert first.data["routes"]["pageInfo"]["hasNextPage"] is True
    assert first.calls == {"Query": 2, "BatchGetItem": 2}
    assert second.data["routes"] == {
        "nodes": [{"slug": "/p11"}],
        "pageInfo": {"hasNextPage": False, "endCursor": second.data["routes"]["pageInfo"]["endCursor"]},
    }
    assert second.calls == {"Query": 2, "BatchGetItem": 1, "GetItem": 1}


async def test_the_route_of_content_costs_no_further_read_of_it(graph, website):
    page = await website.content(slug="/page")

    one = await graph.ask(
        "query ($id: String!) { content(by: {databaseId: $id}) { route { slug } } }", VISITOR, id=page.node_id
    )
    several = await graph.ask("{ contents { nodes { route { slug } } } }", VISITOR)

    assert one.data == {"content": {"route": {"slug": "/page"}}}
    assert one.calls == {"GetItem": 2}
    assert several.data == {"contents": {"nodes": [{"route": {"slug": "/page"}}]}}
    assert several.calls == {"Query": 1, "GetItem": 1}


@OUTSIDERS
async def test_approved_comments_on_hidden_content_are_hidden(graph, website, outsider):
    draft = await website.content(status=ContentStatus.ARCHIVED)
    shown = await website.content()
    approved = {"status": PageCommentStatus.APPROVED}
    on_draft = await website.thing(PageComment, node_id=draft.node_id, **approved)
    on_shown = await website.thing(PageComment, node_id=shown.node_id, **approved)
    comments = "query ($id: String!) { content(by: {databaseId: $id}) { comments { nodes { id } } } }"

    hidden = await graph.ask(NODE, outsider, id=id_of(on_draft))
    visible = await graph.ask(NODE, outsider, id=id_of(on_shown))
    on_page = await graph.ask(comments, outsider, id=shown.node_id)

    assert hidden.data == {"node": None}
    assert hidden.calls == {"GetItem": 2}
    assert visible.data == {"node": {"id": id_of(on_shown)}}
    assert on_page.data == {"content": {"comments": listed(on_shown)}}
    assert on_page.calls == {"GetItem": 1, "Query": 1}


SECRET = "the secret"
WITH_A_TENANT = {
    "content": '{ content(by: {databaseId: "hidden"}) { title } }',
    "contents": "{ contents { nodes { title slug } pageInfo { hasNextPage endCursor } } }",
    "route": '{ route(by: {slug: "/hidden"}) { id } }',
    "routes": "{ routes { nodes { id slug } pageInfo { hasNextPage endCursor } } }",
    "auditLog": "{ auditLog { nodes { action target { title } } } }",
    "product": '{ product(by: {databaseId: "hidden"}) { title } }',
    "products": "{ products { nodes { title } pageInfo { hasNextPage endCursor } } }",
    "resource": '{ resource(by: {databaseId: "hidden"}) { title } }',
    "resources": "{ resources { nodes { title } } }",
    "editorialContext": '{ editorialContext(by: {databaseId: "hidden"}) { title } }',
    "editorialContexts": "{ editorialContexts { nodes { title } } }",
    "signal": '{ signal(by: {databaseId: "hidden"}) { title } }',
    "signals": "{ signals { nodes { title } } }",
    "pageComments": "{ pageComments { nodes { body } } }",
    "lead": '{ lead(by: {email: "hidden@example.org"}) { name } }',
    "leads": "{ leads { nodes { name } } }",
    "consentHistory": '{ consentHistory(visitorKey: "hidden") { nodes { policyVersion } } }',
    "tenant": "{ tenant { name config } }",
    "tenant(by:)": '{ tenant(by: {domain: "acme.example.org"}) { name config } }',
}
PUBLIC = {
    "asset": "files of the website are public",
    "assets": "files of the website are public",
    "consent": "the visitor's identifier is the secret",
}


def test_the_matrix_covers_every_root_field_of_the_cms():
    fields = {name for name in vars(Query) if not name.startswith("_")}
    camel = {"".join([head, *(part.title() for part in rest)]) for head, *rest in (name.split("_") for name in fields)}

    assert camel == {name.partition("(")[0] for name in WITH_A_TENANT} | PUBLIC.keys()
    assert camel <= build()._schema.query_type.fields.keys()


@OUTSIDERS
@pytest.mark.parametrize("field", WITH_A_TENANT)
async def test_no_root_field_tells_an_outsider_of_what_is_hidden(graph, website, field, outsider):
    query = WITH_A_TENANT[field]
    await website.tenant("acme", "acme.example.org")
    before = await graph.ask(query, outsider)
    await website.tenant("acme", "acme.example.org", config={"note": SECRET})
    await website.content(node_id="hidden", slug="/hidden", title=SECRET, status=ContentStatus.DRAFT)
    await website.thing(Product, product_id="hidden", title=SECRET, status=ProductStatus.DRAFT)
    await website.thing(PageComment, node_id="hidden", body=SECRET)
    await website.thing(PageComment, node_id="hidden", body=SECRET, status=PageCommentStatus.APPROVED)
    await website.thing(Lead, email="hidden@example.org", name=SECRET)
    await website.thing(Consent, visitor_id="hidden", policy_version=SECRET)
    for entity in (Resource, EditorialContext, Signal):
        await website.thing(entity, **{entity.key_holes[-1]: "hidden", "title": SECRET})
    await website.thing(Asset)

    after = await graph.ask(query, outsider)

    assert after.body == before.body
    assert SECRET not in json.dumps(after.body)
