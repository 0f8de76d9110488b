"""Documents of content and products. They are found in requests about their tenant only."""

from datastore.cms import Content, ContentStatus, Product, ProductStatus, Tenant
from datastore.model.keys import Range
from resolvers.core.options import Options
from resolvers.search.documents import (
    Audience,
    Document,
    Related,
    Searchable,
    Under,
    Weight,
    document_key,
    searchable,
    some_texts,
    text_in,
)


def tenant_document(tenant: Tenant, related: Related) -> None:
    """A tenant itself is not found: it is where to look."""
    return


def all_tenants(options: Options) -> list[Range[Tenant]]:
    return [Tenant.within()]


def content_document(content: Content, related: Related) -> Document:
    texts = some_texts(
        ("title", content.title, Weight.TITLE),
        ("slug", content.slug, Weight.TAGS),
        ("contentType", content.content_type, Weight.TAGS),
        ("blocks", text_in(content.blocks), Weight.BODY),
    )
    return Document(
        document_key(content.own_key),
        "Content",
        texts,
        [_audience(content.tenant_id, is_public=content.status is ContentStatus.PUBLISHED)],
        within=content.tenant_id,
        tags=[content.content_type],
        created_at=content.created_at,
    )


def contents_of(tenant: Tenant) -> list[Range[Content]]:
    return [Content.of_tenant(tenant_id=tenant.tenant_id)]


def product_document(product: Product, related: Related) -> Document:
    texts = some_texts(
        ("title", product.title, Weight.TITLE),
        ("sku", product.sku, Weight.TAGS),
        ("description", product.description, Weight.BODY),
        ("data", text_in(product.data), Weight.BODY),
    )
    return Document(
        document_key(product.own_key),
        "Product",
        texts,
        [_audience(product.tenant_id, is_public=product.status is ProductStatus.PUBLISHED)],
        within=product.tenant_id,
        created_at=product.created_at,
    )


def products_of(tenant: Tenant) -> list[Range[Product]]:
    return [Product.of_tenant(tenant_id=tenant.tenant_id)]


def _audience(tenant_id: str, *, is_public: bool) -> Audience:
    return Audience.tenant(tenant_id) if is_public else Audience.staff(tenant_id)


searchable(Searchable(Tenant, tenant_document, all_tenants))
searchable(Searchable(Content, content_document, under=Under(Tenant, contents_of)))
searchable(Searchable(Product, product_document, under=Under(Tenant, products_of)))
