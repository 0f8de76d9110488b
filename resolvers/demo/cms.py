"""The repair café's website: a tenant with versioned pages, a redirect and page comments."""

from collections.abc import Iterator
from typing import Any

from datastore.accounts import Unique
from datastore.cms import (
    Asset,
    Content,
    ContentStatus,
    ContentVersion,
    PageComment,
    PageCommentStatus,
    Product,
    ProductStatus,
    Route,
    Tenant,
)
from datastore.model.codec import JSON, BigInt
from datastore.model.entity import Entity
from resolvers.demo.people import IDS, at, day, identifier

TENANT = "repair-cafe"
DOMAINS = ["www.repair-cafe.example", "repair-cafe.example"]
STAFF = {TENANT: "admin"}
"""The tenant roles in Maya's token."""

# Path, type, title, status, and for each version: author, time, message and blocks.
PAGES = (
    ("/", "page", "Welcome", ContentStatus.PUBLISHED, (
        ("maya", 30, "First words.", "The café opens at ten."),
        ("maya", 33, "We moved an hour.", "The café opens at nine."),
        ("teo", 45, "It was too early.", "The café opens at ten. Bring what is broken."),
    )),
    ("/contact", "page", "Contact", ContentStatus.PUBLISHED, (
        ("maya", 30, None, "Alder Street 7, behind the library."),
    )),
    ("/guides/sharpening", "article", "How to sharpen a knife", ContentStatus.PUBLISHED, (
        ("teo", 37, None, "Slowly."),
        ("teo", 38, "More of it.", "Slowly, at twenty degrees, and away from you."),
    )),
    ("/guides/clocks", "article", "Clocks that are happier broken", ContentStatus.IN_REVIEW, (
        ("winnie", 46, None, "Some clocks do not want to know."),
    )),
)  # fmt: skip

MOVED = ("/knives", "/guides/sharpening")

COMMENTS = (
    ("/guides/sharpening", "Ines", 39, "Twenty degrees of what?", PageCommentStatus.APPROVED),
    ("/guides/sharpening", "Ravi", 40, "It worked. I have nine fingers.", PageCommentStatus.APPROVED),
    ("/", "cheap-watches", 41, "Visit my shop!!!", PageCommentStatus.PENDING),
)


def cms() -> list[Entity]:
    return [*_tenant(), *_pages(), *_comments(), *_things()]


def _tenant() -> Iterator[Entity]:
    config = JSON({"theme": "oak", "languages": ["en"]})
    tenant = Tenant(tenant_id=TENANT, name="The repair café", domain=DOMAINS[0], domains=DOMAINS, config=config)
    yield at(29, tenant)
    for domain in DOMAINS:
        yield at(29, Unique(kind="domain", value=domain, owner_id=TENANT))


def _pages() -> Iterator[Entity]:
    for number, (slug, kind, title, status, versions) in enumerate(PAGES):
        common: dict[str, Any] = {
            "tenant_id": TENANT,
            "node_id": identifier("N0DE", number),
            "content_type": kind,
            "title": title,
            "status": status,
            "created_at": day(versions[0][1]),
        }
        made = [_version(common, place, *version) for place, version in enumerate(versions, 1)]
        yield from (ContentVersion(**each) for each in made[:-1])
        old, new = MOVED
        yield Content(**made[-1], slug=slug, old_slugs=[old] if slug == new else [])
        yield at(versions[0][1], Route(tenant_id=TENANT, slug=slug, node_id=common["node_id"]))
        if slug == new:
            redirect = Route(tenant_id=TENANT, slug=old, node_id=common["node_id"], is_redirect=True, target=new)
            yield at(versions[-1][1], redirect)


def _version(
    common: dict[str, Any], number: int, author: str, when: float, message: str | None, text: str
) -> dict[str, Any]:
    blocks = JSON([{"type": "text", "text": text}])
    changed = {"version": number, "author_id": IDS[author], "message": message, "blocks": blocks}
    return {**common, **changed, "updated_at": day(when)}


def _comments() -> Iterator[Entity]:
    nodes = {slug: identifier("N0DE", number) for number, (slug, *_) in enumerate(PAGES)}
    for slug, name, when, body, status in COMMENTS:
        yield at(
            when,
            PageComment(tenant_id=TENANT, node_id=nodes[slug], author_name=name, body=body, status=status),
        )


def _things() -> Iterator[Entity]:
    yield at(
        31,
        Asset(
            tenant_id=TENANT,
            asset_id=identifier("ASSET", 1),
            title="The long table",
            url="https://example.org/pictures/table.jpg",
            media_type="image/jpeg",
            alt="Eight people around a toaster",
        ),
    )
    yield at(
        34,
        Product(
            tenant_id=TENANT,
            product_id=identifier("PR0DUCT", 1),
            title="Repair kit",
            status=ProductStatus.PUBLISHED,
            sku="KIT-1",
            price=BigInt(1900),
            currency="EUR",
            description="Three screwdrivers, wax, and a letter of encouragement.",
        ),
    )
