"""Websites of many tenants: content with its versions, routes, a catalog, visitors and an audit log."""

from datastore import cms as stored
from datastore.cms import (
    Asset,
    ContentStatus,
    Lead,
    LeadStatus,
    PageComment,
    PageCommentStatus,
    Product,
    ProductStatus,
    Resource,
    Route,
    Signal,
    SignalStatus,
)
from loaders.viewer import Viewer
from tests.requirements import page
from tests.support.cms import ADMIN, EDITOR, READER, VISITOR, codes, command, staff, visitor
from tests.support.graph import id_of, listed
from tests.support.requirements import Document

cms = Document("Websites (CMS)")

SYSTEM_ADMIN = Viewer("id-root", frozenset({"admin"}))
CREATE_TENANT = command("createTenant", "tenant { databaseId }")
VISITOR_KEY = "visitor-0123456789"


@cms.access_pattern("Tenant by domain", calls={"GetItem": 2})
async def test_tenant_by_domain(website, ask):
    await website.tenant("acme", "acme.example", "www.acme.example")

    asked = await ask('{ tenant(by: {domain: "www.acme.example"}) { databaseId } }')

    assert asked.data == {"tenant": {"databaseId": "acme"}}


@cms.access_pattern("Tenant of the request, with its configuration for staff", calls={"GetItem": 1})
async def test_tenant_of_the_request(website, ask):
    await website.tenant("acme", config={"theme": "dark"})

    asked = await ask("{ tenant { databaseId config } }", READER)

    assert asked.data == {"tenant": {"databaseId": "acme", "config": {"theme": "dark"}}}


@cms.access_pattern("Latest version of content", calls={"GetItem": 1})
async def test_latest_version(website, ask):
    content = await website.content(versions=3)

    asked = await ask(
        "query ($id: String!) { content(by: {databaseId: $id}) { version blocks } }", VISITOR, id=content.node_id
    )

    assert asked.data == {"content": {"version": 3, "blocks": [{"text": "Version 3."}]}}


@cms.access_pattern("One version of content by its number", calls={"GetItem": 2})
async def test_version_by_number(website, ask):
    content = await website.content(versions=3)

    asked = await ask(
        "query ($id: String!) { content(by: {databaseId: $id}) { atVersion(number: 2) { blocks } } }",
        READER,
        id=content.node_id,
    )

    assert asked.data == {"content": {"atVersion": {"blocks": [{"text": "Version 2."}]}}}


@cms.access_pattern("Versions of content, latest first", calls={"GetItem": 1, "BatchGetItem": 1})
async def test_versions_of_content(website, ask):
    content = await website.content(versions=3)

    asked = await ask(
        "query ($id: String!) { content(by: {databaseId: $id}) { versions { nodes { version } } } }",
        READER,
        id=content.node_id,
    )

    assert asked.data == {"content": {"versions": {"nodes": [{"version": number} for number in (3, 2, 1)]}}}


@cms.access_pattern("Contents of a tenant, latest change first", calls={"Query": 1})
async def test_contents_of_a_tenant(website, ask):
    first, _, second = [await website.content(tenant) for tenant in ("acme", "other", "acme")]

    asked = await ask("{ contents { nodes { id } } }", READER)

    assert asked.data == {"contents": listed(second, first)}


@cms.access_pattern("Contents by status, for the workflow", calls={"Query": 1})
async def test_contents_by_status(website, ask):
    in_review, _ = [await website.content(status=status) for status in (ContentStatus.IN_REVIEW, ContentStatus.DRAFT)]

    asked = await ask("{ contents(status: IN_REVIEW) { nodes { id } } }", READER)

    assert asked.data == {"contents": listed(in_review)}


@cms.access_pattern("Route by slug, with the content it leads to", calls={"GetItem": 2})
async def test_route_by_slug(website, ask):
    content = await website.content(slug="/about")

    asked = await ask('{ route(by: {slug: "/about"}) { isRedirect content { id } } }', VISITOR)

    assert asked.data == {"route": {"isRedirect": False, "content": {"id": id_of(content)}}}


@cms.access_pattern("Routes of a tenant", calls={"Query": 1})
async def test_routes_of_a_tenant(website, ask):
    for slug in ("/contact", "/about"):
        await website.content(slug=slug)

    asked = await ask("{ routes { nodes { slug } } }", READER)

    assert asked.data == {"routes": {"nodes": [{"slug": "/about"}, {"slug": "/contact"}]}}


@cms.access_pattern("Product by ID", calls={"GetItem": 1})
async def test_product_by_id(website, ask):
    product = await website.thing(Product, status=ProductStatus.PUBLISHED)

    asked = await ask("query ($id: String!) { product(by: {databaseId: $id}) { id } }", VISITOR, id=product.product_id)

    assert asked.data == {"product": {"id": id_of(product)}}


@cms.access_pattern("Products of a tenant, latest change first", calls={"Query": 1})
async def test_products_of_a_tenant(website, ask):
    products = [await website.thing(Product) for _ in range(2)]

    asked = await ask("{ products { nodes { id } } }", READER)

    assert asked.data == {"products": listed(*reversed(products))}


@cms.access_pattern("Products by status", calls={"Query": 1})
async def test_products_by_status(website, ask):
    published, _ = [
        await website.thing(Product, status=status) for status in (ProductStatus.PUBLISHED, ProductStatus.DRAFT)
    ]

    asked = await ask("{ products(status: PUBLISHED) { nodes { id } } }", READER)

    assert asked.data == {"products": listed(published)}


@cms.access_pattern("Comments on a page, oldest first", calls={"GetItem": 1, "Query": 1})
async def test_comments_on_a_page(website, ask):
    content = await website.content()
    approved = {"node_id": content.node_id, "status": PageCommentStatus.APPROVED}
    comments = [await website.thing(PageComment, **approved) for _ in range(2)]

    asked = await ask(
        "query ($id: String!) { content(by: {databaseId: $id}) { comments { nodes { id } } } }",
        VISITOR,
        id=content.node_id,
    )

    assert asked.data == {"content": {"comments": listed(*comments)}}


@cms.access_pattern("Comments by status, for moderation", calls={"Query": 1})
async def test_comments_by_status(website, ask):
    content = await website.content()
    pending, _ = [
        await website.thing(PageComment, node_id=content.node_id, status=status)
        for status in (PageCommentStatus.PENDING, PageCommentStatus.APPROVED)
    ]

    asked = await ask("{ pageComments(status: PENDING) { nodes { id } } }", READER)

    assert asked.data == {"pageComments": listed(pending)}


@cms.access_pattern("Lead by email", calls={"GetItem": 1})
async def test_lead_by_email(website, ask):
    lead = await website.thing(Lead, email="vera@example.org")

    asked = await ask('{ lead(by: {email: "vera@example.org"}) { id } }', READER)

    assert asked.data == {"lead": {"id": id_of(lead)}}


@cms.access_pattern("Leads of a tenant, latest change first", calls={"Query": 1})
async def test_leads_of_a_tenant(website, ask):
    leads = [await website.thing(Lead) for _ in range(2)]

    asked = await ask("{ leads { nodes { id } } }", READER)

    assert asked.data == {"leads": listed(*reversed(leads))}


@cms.access_pattern("Leads by status", calls={"Query": 1})
async def test_leads_by_status(website, ask):
    won, _ = [await website.thing(Lead, status=status) for status in (LeadStatus.WON, LeadStatus.NEW)]

    asked = await ask("{ leads(status: WON) { nodes { id } } }", READER)

    assert asked.data == {"leads": listed(won)}


@cms.access_pattern("Editorial context by ID", calls={"GetItem": 1})
async def test_context_by_id(website, ask):
    context = await website.thing(stored.EditorialContext)

    asked = await ask(
        "query ($id: String!) { editorialContext(by: {databaseId: $id}) { id } }", READER, id=context.context_id
    )

    assert asked.data == {"editorialContext": {"id": id_of(context)}}


@cms.access_pattern("Editorial contexts of a tenant, latest change first", calls={"Query": 1})
async def test_contexts_of_a_tenant(website, ask):
    contexts = [await website.thing(stored.EditorialContext) for _ in range(2)]

    asked = await ask("{ editorialContexts { nodes { id } } }", READER)

    assert asked.data == {"editorialContexts": listed(*reversed(contexts))}


@cms.access_pattern("Asset by ID", calls={"GetItem": 1})
async def test_asset_by_id(website, ask):
    asset = await website.thing(Asset)

    asked = await ask("query ($id: String!) { asset(by: {databaseId: $id}) { id } }", VISITOR, id=asset.asset_id)

    assert asked.data == {"asset": {"id": id_of(asset)}}


@cms.access_pattern("Assets of a tenant, latest change first", calls={"Query": 1})
async def test_assets_of_a_tenant(website, ask):
    assets = [await website.thing(Asset) for _ in range(2)]

    asked = await ask("{ assets { nodes { id } } }", READER)

    assert asked.data == {"assets": listed(*reversed(assets))}


@cms.access_pattern("Resource by ID", calls={"GetItem": 1})
async def test_resource_by_id(website, ask):
    resource = await website.thing(Resource)

    asked = await ask(
        "query ($id: String!) { resource(by: {databaseId: $id}) { id } }", READER, id=resource.resource_id
    )

    assert asked.data == {"resource": {"id": id_of(resource)}}


@cms.access_pattern("Resources of a tenant, latest change first", calls={"Query": 1})
async def test_resources_of_a_tenant(website, ask):
    resources = [await website.thing(Resource) for _ in range(2)]

    asked = await ask("{ resources { nodes { id } } }", READER)

    assert asked.data == {"resources": listed(*reversed(resources))}


@cms.access_pattern("Signal by ID", calls={"GetItem": 1})
async def test_signal_by_id(website, ask):
    signal = await website.thing(Signal)

    asked = await ask("query ($id: String!) { signal(by: {databaseId: $id}) { id } }", READER, id=signal.signal_id)

    assert asked.data == {"signal": {"id": id_of(signal)}}


@cms.access_pattern("Signals of a tenant, latest change first", calls={"Query": 1})
async def test_signals_of_a_tenant(website, ask):
    signals = [await website.thing(Signal) for _ in range(2)]

    asked = await ask("{ signals { nodes { id } } }", READER)

    assert asked.data == {"signals": listed(*reversed(signals))}


@cms.access_pattern("Signals by status", calls={"Query": 1})
async def test_signals_by_status(website, ask):
    closed, _ = [await website.thing(Signal, status=status) for status in (SignalStatus.CLOSED, SignalStatus.OPEN)]

    asked = await ask("{ signals(status: CLOSED) { nodes { id } } }", READER)

    assert asked.data == {"signals": listed(closed)}


@cms.access_pattern("Latest consent of a visitor", calls={"Query": 1})
async def test_latest_consent(website, ask):
    for purposes in (["analytics"], []):
        await website.thing(stored.Consent, visitor_id=VISITOR_KEY, purposes=purposes)

    asked = await ask("query ($id: String!) { consent(visitorKey: $id) { purposes } }", VISITOR, id=VISITOR_KEY)

    assert asked.data == {"consent": {"purposes": []}}


@cms.access_pattern("Consent history of a visitor, latest first", calls={"Query": 1})
async def test_consent_history(website, ask):
    for purposes in (["analytics"], []):
        await website.thing(stored.Consent, visitor_id=VISITOR_KEY, purposes=purposes)

    asked = await ask(
        "query ($id: String!) { consentHistory(visitorKey: $id) { nodes { purposes } } }", READER, id=VISITOR_KEY
    )

    assert asked.data == {"consentHistory": {"nodes": [{"purposes": []}, {"purposes": ["analytics"]}]}}


@cms.access_pattern("Audit log, latest first", calls={"Query": 1})
async def test_audit_log(graph, website, ask):
    await website.tenant()
    for title in ("First", "Second"):
        await graph.command(CREATE, EDITOR, title=title)

    asked = await ask("{ auditLog { nodes { action target { title } } } }", ADMIN)

    noted = [{"action": "createContent", "target": {"title": title}} for title in ("Second", "First")]
    assert asked.data == {"auditLog": {"nodes": noted}}


CREATE = command("createContent", "content { version slug }")
UPDATE = command("updateContent", "content { version title }")
CHANGE_SLUG = command("changeSlug", "content { slug }")
DELETE_ROUTE = command("deleteRoute", "deletedRouteId")
FIND = "query ($slug: String!) { route(by: {slug: $slug}) { isRedirect target } }"


@cms.rule("No access pattern on this page scans the table")
def test_no_scans():
    assert [
        requirement.text
        for _, document in page.documents()
        for requirement in document.requirements
        if "Scan" in (requirement.calls or {})
    ] == []


@cms.rule("Lists read metadata only, by projection", calls={"Query": 1})
async def test_lists_are_projected(website, sent, ask):
    content = await website.content()
    sent.clear()

    asked = await ask("{ contents { nodes { title } } }", READER)

    assert asked.data == {"contents": {"nodes": [{"title": content.title}]}}
    (request,) = sent
    names = request["ExpressionAttributeNames"]
    projected = {names.get(name, name) for name in request["ProjectionExpression"].split(",")}
    assert "title" in projected
    assert "blocks" not in projected


@cms.rule("A request without a tenant (`x-tenant-id`) reads nothing", calls={})
async def test_tenant_is_required(website, ask):
    content = await website.content()
    without_header = Viewer("id-ada", tenants=frozenset({("acme", "admin")}))

    asked = await ask(
        "query ($id: String!) { content(by: {databaseId: $id}) { title } }", without_header, id=content.node_id
    )

    assert asked.error["extensions"] == {"code": "INVALID"}


@cms.rule("A tenant does not see the content of another", calls={"GetItem": 1})
async def test_tenants_are_isolated(website, ask):
    content = await website.content("acme")

    asked = await ask(
        "query ($id: String!) { content(by: {databaseId: $id}) { title } }", visitor("other"), id=content.node_id
    )

    assert asked.data == {"content": None}


@cms.rule("Staff of one tenant change nothing of another", calls={})
async def test_staff_belongs_to_a_tenant(website, ask):
    content = await website.content("acme")
    stranger = Viewer("id-eve", tenant_id="acme", tenants=frozenset({("other", "admin")}))

    asked = await ask(UPDATE, stranger, input={"contentId": id_of(content), "expectedVersion": 1, "title": "Mine"})

    assert codes(asked.data["updateContent"]) == [("FORBIDDEN",)]


@cms.rule("The routes `/` and `/contact` cannot be renamed", calls={"GetItem": 1})
async def test_system_routes_are_not_renamed(graph, website, ask):
    await website.tenant()
    home, contact = await website.content(slug="/"), await website.content(slug="/contact")

    asked = await ask(CHANGE_SLUG, EDITOR, input={"contentId": id_of(home), "slug": "/elsewhere"})
    other = await graph.command(CHANGE_SLUG, EDITOR, contentId=id_of(contact), slug="/elsewhere")

    assert codes(asked.data["changeSlug"]) == codes(other) == [("FORBIDDEN", "contentId")]


@cms.rule("The routes `/` and `/contact` cannot be deleted", calls={"GetItem": 2})
async def test_system_routes_are_not_deleted(graph, website, ask):
    await website.tenant()
    for slug in ("/", "/contact"):
        await website.content(slug=slug)
    home, contact = [id_of(Route(tenant_id="acme", slug=slug, node_id="x")) for slug in ("/", "/contact")]

    asked = await ask(DELETE_ROUTE, EDITOR, input={"routeId": home})
    other = await graph.command(DELETE_ROUTE, EDITOR, routeId=contact)

    assert codes(asked.data["deleteRoute"]) == codes(other) == [("FORBIDDEN", "routeId")]


@cms.rule(
    "Copy on write: a change stores the next version and keeps a snapshot of the last one",
    calls={"GetItem": 1, "TransactWriteItems": 1},
)
async def test_copy_on_write(graph, website, ask):
    await website.tenant()
    content = await website.content(title="Old")

    asked = await ask(UPDATE, EDITOR, input={"contentId": id_of(content), "expectedVersion": 1, "title": "New"})

    assert asked.data == {"updateContent": {"content": {"version": 2, "title": "New"}, "problems": []}}
    before = await graph.ask(
        "query ($id: String!) { content(by: {databaseId: $id}) { atVersion(number: 1) { title } } }",
        READER,
        id=content.node_id,
    )
    assert before.data == {"content": {"atVersion": {"title": "Old"}}}


@cms.rule("A change of an outdated version is refused", calls={"GetItem": 1})
async def test_outdated_version(website, ask):
    await website.tenant()
    content = await website.content(versions=2)

    asked = await ask(UPDATE, EDITOR, input={"contentId": id_of(content), "expectedVersion": 1, "title": "New"})

    assert codes(asked.data["updateContent"]) == [("CONFLICT", "expectedVersion")]


@cms.rule("A changed slug leaves a redirect to the new one", calls={"GetItem": 2})
async def test_slug_redirects(graph, website, ask):
    await website.tenant()
    content = await website.content(slug="/old")
    await graph.command(CHANGE_SLUG, EDITOR, contentId=id_of(content), slug="/new")

    asked = await ask(FIND, VISITOR, slug="/old")

    assert asked.data == {"route": {"isRedirect": True, "target": "/new"}}


@cms.rule("A tenant ID belongs to one tenant", calls={"TransactWriteItems": 1})
async def test_tenant_id_is_unique(website, ask):
    await website.tenant("acme")

    asked = await ask(CREATE_TENANT, SYSTEM_ADMIN, input={"databaseId": "acme", "name": "Acme"})

    assert codes(asked.data["createTenant"]) == [("TAKEN", "databaseId")]


@cms.rule("A domain belongs to one tenant", calls={"TransactWriteItems": 1})
async def test_domain_is_unique(website, ask):
    await website.tenant("acme", "acme.example")

    asked = await ask(
        CREATE_TENANT, SYSTEM_ADMIN, input={"databaseId": "other", "name": "Other", "domains": ["acme.example"]}
    )

    assert codes(asked.data["createTenant"]) == [("TAKEN", "domains")]


@cms.rule("A slug leads to one content of a tenant", calls={"GetItem": 1, "TransactWriteItems": 1})
async def test_slug_is_unique(website, ask):
    await website.tenant()
    await website.content(slug="/about")

    asked = await ask(CREATE, EDITOR, input={"title": "About", "slug": "/about"})

    assert codes(asked.data["createContent"]) == [("TAKEN", "slug")]


@cms.operation("Create content and its route in one transaction", calls={"GetItem": 1, "TransactWriteItems": 1})
async def test_create_content(graph, website, ask):
    await website.tenant()

    asked = await ask(CREATE, EDITOR, input={"title": "About us"})

    assert asked.data == {"createContent": {"content": {"version": 1, "slug": "/about-us"}, "problems": []}}
    assert (await graph.ask(FIND, EDITOR, slug="/about-us")).data == {"route": {"isRedirect": False, "target": None}}


@cms.operation("Save a lead: one for each email address", calls={"GetItem": 2, "TransactWriteItems": 1})
async def test_save_a_lead(graph, website, ask):
    await website.tenant()
    save = command("saveLead", "lead { name status }")
    await graph.command(save, EDITOR, email="vera@example.org", name="Vera")

    asked = await ask(save, EDITOR, input={"email": "Vera@example.org", "status": "CONTACTED"})

    assert asked.data == {"saveLead": {"lead": {"name": "Vera", "status": "CONTACTED"}, "problems": []}}


@cms.operation("Comment on a page as a visitor, pending moderation", calls={"GetItem": 1, "TransactWriteItems": 2})
async def test_comment_on_a_page(website, ask):
    await website.tenant()
    content = await website.content()

    asked = await ask(
        command("addPageComment", "pageComment { status }"),
        VISITOR,
        input={"contentId": id_of(content), "authorName": "Vera", "body": "Nice."},
    )

    assert asked.data == {"addPageComment": {"pageComment": {"status": "PENDING"}, "problems": []}}


@cms.operation("Record the consent of a visitor", calls={"GetItem": 1, "TransactWriteItems": 2})
async def test_record_consent(website, ask):
    await website.tenant()

    asked = await ask(
        command("recordConsent", "consent { purposes }"),
        VISITOR,
        input={"visitorKey": VISITOR_KEY, "purposes": ["analytics"]},
    )

    assert asked.data == {"recordConsent": {"consent": {"purposes": ["analytics"]}, "problems": []}}


@cms.rule(
    "Audit entries name the actor's email and the target's title, with a snapshot of what changed",
    calls={"Query": 1, "GetItem": 1},
)
async def test_audit_entries(graph, website, ask):
    await website.tenant()
    await graph.add_user("ada")
    content = await website.content(title="Old")
    await graph.command(UPDATE, staff("editor"), contentId=id_of(content), expectedVersion=1, title="New")

    asked = await ask("{ auditLog { nodes { actor { email } target { title } before after } } }", ADMIN)

    (entry,) = asked.data["auditLog"]["nodes"]
    assert (entry["actor"], entry["target"]) == ({"email": "ada@example.org"}, {"title": "New"})
    assert [entry[moment]["title"] for moment in ("before", "after")] == ["Old", "New"]


@cms.rule(
    "A command writes its audit entry in its own transaction, without another call",
    calls={"GetItem": 1, "TransactWriteItems": 1},
)
async def test_auditing_loses_nothing(graph, website, ask):
    await website.tenant()

    asked = await ask(CREATE, EDITOR, input={"title": "About us"})

    log = "{ auditLog { nodes { action } } }"
    assert asked.data["createContent"]["problems"] == []
    assert (await graph.ask(log, ADMIN)).data == {"auditLog": {"nodes": [{"action": "createContent"}]}}


cms.not_built(
    "Audit events published to a bus, with a worker that writes them",
    "operation",
    why="a command writes its entry in its own transaction, which loses none and needs no bus",
)
