"""Websites in the mixed data: two tenants with content of every status, versions, redirects and some damage."""

from typing import TYPE_CHECKING, Any

from datastore.accounts import Unique
from datastore.cms import (
    Asset,
    Consent,
    Content,
    ContentStatus,
    ContentVersion,
    EditorialContext,
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
    Tenant,
)
from loaders.viewer import Viewer
from tests.support.social import minute

if TYPE_CHECKING:
    from tests.support.mixed.society import MixedSociety

SLUGS = ["/page-0", "/Page-1/", "/old-0", "/", "/nothing"]
VISITORS = ["visitor-number-00001", "visitor-number-00002", "short", ""]
NODES = [f"node{number}" for number in range(5)]
THINGS = [f"thing{number}" for number in range(3)]


def website_viewers() -> list[Viewer]:
    """Returns staff and visitors, in requests for acme, for the other tenant, and for none."""
    ada, both = {"user_id": "id-ada"}, frozenset({("acme", "editor"), ("other", "viewer")})
    return [
        Viewer(**ada, tenant_id="acme", tenants=both),
        Viewer(**ada, tenant_id="acme", tenants=frozenset({("acme", "admin")})),
        Viewer(**ada, tenant_id="other", tenants=both),
        Viewer(tenant_id="acme"),
        Viewer(**ada, tenants=both),
    ]


def add_websites(made: "MixedSociety") -> None:
    for tenant_id in ("acme", "other"):
        own = {"tenant_id": tenant_id}
        made.add(Tenant, **own, name=tenant_id, domain=f"{tenant_id}.example", domains=[f"{tenant_id}.example"])
        made.add(Unique, kind="domain", value=f"{tenant_id}.example", owner_id=tenant_id)
        for number, node_id in enumerate(NODES):
            _content(made, tenant_id, number, node_id)
        for number, thing in enumerate(THINGS):
            _things(made, own, number, thing)
    made.damaged(made.of(Content)[4], title=None)
    made.damaged(made.of(ContentVersion)[1], blocks={"B": "AAAA"})
    made.damaged(made.of(Signal)[2], status={"S": "LOUD"})


def _content(made: "MixedSociety", tenant_id: str, number: int, node_id: str) -> None:
    page: dict[str, Any] = {
        "tenant_id": tenant_id,
        "node_id": node_id,
        "content_type": "page" if number % 2 else "article",
        "title": f"Page {number}",
        "author_id": "id-ada" if number else "id-nobody",
        "status": list(ContentStatus)[(number + 2) % 4],
        "created_at": minute(number),
    }
    for version in range(1, number + 1):
        made.add(ContentVersion, **page, version=version, blocks=[{"text": f"{version}"}])
    slug = f"/page-{number}" if number else "/"
    made.add(
        Content,
        **page,
        version=number + 1,
        blocks=[{"text": "x" * 500 * number}],
        slug=slug,
        old_slugs=[f"/old-{number}"],
    )
    made.add(Route, tenant_id=tenant_id, slug=slug, node_id=node_id)
    made.add(Route, tenant_id=tenant_id, slug=f"/old-{number}", node_id=node_id, is_redirect=True, target=slug)
    for status in PageCommentStatus:
        made.add(PageComment, tenant_id=tenant_id, node_id=node_id, author_name="Ines", body="Hm.", status=status)


def _things(made: "MixedSociety", own: dict[str, str], number: int, thing: str) -> None:
    title = f"Thing {number}"
    made.add(Product, **own, product_id=thing, title=title, status=list(ProductStatus)[number], data={"n": number})
    made.add(Asset, **own, asset_id=thing, title=title, url="https://example.org/x")
    made.add(Resource, **own, resource_id=thing, title=title, kind="note", data={"n": number})
    made.add(EditorialContext, **own, context_id=thing, title=title, data={"n": number})
    made.add(Signal, **own, signal_id=thing, title=title, kind="note", status=list(SignalStatus)[number])
    made.add(Lead, **own, email=f"lead{number}@example.org", status=list(LeadStatus)[number])
    made.add(Consent, **own, visitor_id=VISITORS[number % 2], purposes=["analytics"] * number)
