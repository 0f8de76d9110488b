"""The things of a website: where products, assets, resources, contexts and signals are."""

from typing import Annotated

from typing_extensions import Doc

from datastore.cms import Asset, Context, Product, ProductStatus, Resource, Signal, SignalStatus
from datastore.model.keys import Key, Range
from loaders.viewer import Viewer
from resolvers.cms.tenancy import is_staff, staff_of, tenant_of


def product(viewer: Viewer, *, product_id: Annotated[str, Doc("The `productId` of the product.")]) -> Key[Product]:
    """A product; the public sees what is on offer."""
    return Product.key(tenant_id=tenant_of(viewer), product_id=product_id)


def products(
    viewer: Viewer,
    *,
    status: Annotated[ProductStatus | None, Doc("Only these; staff see more than PUBLISHED.")] = None,
) -> Range[Product]:
    """The tenant's products, last changed first; the public sees what is on offer."""
    tenant_id = tenant_of(viewer)
    if not is_staff(viewer):
        if status not in (None, ProductStatus.PUBLISHED):
            staff_of(viewer)
        status = ProductStatus.PUBLISHED
    if status is None:
        return Product.of_tenant(tenant_id=tenant_id).newest_first()
    return Product.by_status(tenant_id=tenant_id, status=status).newest_first()


def asset(viewer: Viewer, *, asset_id: Annotated[str, Doc("The `assetId` of the asset.")]) -> Key[Asset]:
    """A picture or another file."""
    return Asset.key(tenant_id=tenant_of(viewer), asset_id=asset_id)


def assets(viewer: Viewer) -> Range[Asset]:
    """The tenant's pictures and other files, last changed first."""
    return Asset.of_tenant(tenant_id=tenant_of(viewer)).newest_first()


def resource(viewer: Viewer, *, resource_id: Annotated[str, Doc("The `resourceId` of the resource.")]) -> Key[Resource]:
    """A resource: for the staff."""
    return Resource.key(tenant_id=staff_of(viewer), resource_id=resource_id)


def resources(viewer: Viewer) -> Range[Resource]:
    """The tenant's resources, last changed first: for the staff."""
    return Resource.of_tenant(tenant_id=staff_of(viewer)).newest_first()


def context(viewer: Viewer, *, context_id: Annotated[str, Doc("The `contextId` of the context.")]) -> Key[Context]:
    """A context: for the staff."""
    return Context.key(tenant_id=staff_of(viewer), context_id=context_id)


def contexts(viewer: Viewer) -> Range[Context]:
    """The tenant's contexts, last changed first: for the staff."""
    return Context.of_tenant(tenant_id=staff_of(viewer)).newest_first()


def signal(viewer: Viewer, *, signal_id: Annotated[str, Doc("The `signalId` of the signal.")]) -> Key[Signal]:
    """A signal: for the staff."""
    return Signal.key(tenant_id=staff_of(viewer), signal_id=signal_id)


def signals(
    viewer: Viewer, *, status: Annotated[SignalStatus | None, Doc("Only those of which this is so.")] = None
) -> Range[Signal]:
    """The tenant's signals, last changed first: for the staff."""
    tenant_id = staff_of(viewer)
    if status is None:
        return Signal.of_tenant(tenant_id=tenant_id).newest_first()
    return Signal.by_status(tenant_id=tenant_id, status=status).newest_first()
