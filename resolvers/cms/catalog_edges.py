"""Edges of products, assets, resources, contexts and signals: the key or range each field reads."""

from typing import Annotated

from typing_extensions import Doc

from datastore.cms import Asset, EditorialContext, Product, ProductStatus, Resource, Signal, SignalStatus
from datastore.model.enums import Choice
from datastore.model.keys import Key, Range
from loaders.filtered import UNINDEXED, Filtered, filtered
from loaders.merge import Merge
from loaders.searched import Searched
from loaders.viewer import Viewer
from resolvers.cms.tenancy import GLOBAL_ID, STAFF, is_staff, tenant_of
from resolvers.core.access import AccessRole, access
from resolvers.core.money import Money, money
from resolvers.search.finding import SearchText, Wanted, found_by
from resolvers.search.index import SearchIndex

DatabaseId = Annotated[str, Doc("Permanent identifier (`databaseId`).")]


class ProductOrder(Choice):
    """Order of products."""

    NEWEST_UPDATE_FIRST = "NEWEST_UPDATE_FIRST", "By time of the last change, newest first."
    OLDEST_UPDATE_FIRST = "OLDEST_UPDATE_FIRST", "By time of the last change, oldest first."
    LOWEST_PRICE_FIRST = "LOWEST_PRICE_FIRST", "By currency, then by price. Without products that have no price."
    HIGHEST_PRICE_FIRST = "HIGHEST_PRICE_FIRST", "The reverse of LOWEST_PRICE_FIRST."


def product_by_id(viewer: Viewer, *, id: Annotated[Key[Product], Doc(GLOBAL_ID)]) -> Key[Product]:
    """The product with this ID."""
    tenant_of(viewer)
    return id


def product_by_database_id(viewer: Viewer, *, database_id: DatabaseId) -> Key[Product]:
    """A product. Visitors see published products only."""
    return Product.key(tenant_id=tenant_of(viewer), product_id=database_id)


def products(
    viewer: Viewer,
    search_index: SearchIndex,
    *,
    status: Annotated[
        ProductStatus | None,
        Doc("Returns only products with this status. Statuses other than PUBLISHED require a staff role."),
    ] = None,
    search: SearchText = None,
    order_by: Annotated[ProductOrder, Doc("Order of the products.")] = ProductOrder.NEWEST_UPDATE_FIRST,
) -> Range[Product] | Merge[Product] | Searched[Product]:
    """Products of the tenant. Visitors see published products only."""
    tenant_id = tenant_of(viewer)
    if not is_staff(viewer):
        if status not in (None, ProductStatus.PUBLISHED):
            STAFF.check(viewer)
        status = ProductStatus.PUBLISHED
    if search is not None:
        wanted = Wanted(search, frozenset({"Product"}), at="search", within=tenant_id)
        return found_by(search_index, viewer, wanted, lambda product: status in (None, product.status))
    downward = order_by in (ProductOrder.NEWEST_UPDATE_FIRST, ProductOrder.HIGHEST_PRICE_FIRST)
    if order_by in (ProductOrder.LOWEST_PRICE_FIRST, ProductOrder.HIGHEST_PRICE_FIRST):
        statuses = [status] if status else [*ProductStatus]
        by_price = [Product.by_price(tenant_id=tenant_id, status=each) for each in statuses]
        return Merge(tuple(each.directed(descending=downward) for each in by_price), tenant_id)
    if status is None:
        return Product.of_tenant(tenant_id=tenant_id).directed(descending=downward)
    return Product.by_status(tenant_id=tenant_id, status=status).directed(descending=downward)


def price(product: Product) -> Money | None:
    """Price."""
    return money(product.price, product.currency)


def asset_by_id(viewer: Viewer, *, id: Annotated[Key[Asset], Doc(GLOBAL_ID)]) -> Key[Asset]:
    """The asset with this ID."""
    tenant_of(viewer)
    return id


def asset_by_database_id(viewer: Viewer, *, database_id: DatabaseId) -> Key[Asset]:
    """An asset."""
    return Asset.key(tenant_id=tenant_of(viewer), asset_id=database_id)


def assets(
    viewer: Viewer,
    *,
    media_type: Annotated[
        str | None,
        Doc("Returns only assets whose media type begins with this text, such as image/. Case-insensitive."),
        UNINDEXED,
    ] = None,
) -> Range[Asset] | Filtered[Asset]:
    """Assets of the tenant, most recently updated first."""
    latest = Asset.of_tenant(tenant_id=tenant_of(viewer)).newest_first()
    if media_type is None:
        return latest
    wanted = media_type.strip().lower()
    return filtered(latest, lambda asset: (asset.media_type or "").startswith(wanted))


@access(requires=AccessRole.TENANT_VIEWER)
def resource_by_database_id(viewer: Viewer, *, database_id: DatabaseId) -> Key[Resource]:
    """A resource."""
    return Resource.key(tenant_id=tenant_of(viewer), resource_id=database_id)


@access(requires=AccessRole.TENANT_VIEWER)
def resources(viewer: Viewer) -> Range[Resource]:
    """Resources of the tenant, most recently updated first."""
    return Resource.of_tenant(tenant_id=tenant_of(viewer)).newest_first()


@access(requires=AccessRole.TENANT_VIEWER)
def editorial_context_by_database_id(viewer: Viewer, *, database_id: DatabaseId) -> Key[EditorialContext]:
    """An editorial context."""
    return EditorialContext.key(tenant_id=tenant_of(viewer), context_id=database_id)


@access(requires=AccessRole.TENANT_VIEWER)
def editorial_contexts(viewer: Viewer) -> Range[EditorialContext]:
    """Editorial contexts of the tenant, most recently updated first."""
    return EditorialContext.of_tenant(tenant_id=tenant_of(viewer)).newest_first()


@access(requires=AccessRole.TENANT_VIEWER)
def signal_by_database_id(viewer: Viewer, *, database_id: DatabaseId) -> Key[Signal]:
    """A signal."""
    return Signal.key(tenant_id=tenant_of(viewer), signal_id=database_id)


@access(requires=AccessRole.TENANT_VIEWER)
def signals(
    viewer: Viewer, *, status: Annotated[SignalStatus | None, Doc("Returns only signals with this status.")] = None
) -> Range[Signal]:
    """Signals of the tenant, most recently updated first."""
    tenant_id = tenant_of(viewer)
    if status is None:
        return Signal.of_tenant(tenant_id=tenant_id).newest_first()
    return Signal.by_status(tenant_id=tenant_id, status=status).newest_first()
