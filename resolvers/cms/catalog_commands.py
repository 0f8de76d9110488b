"""Commands of products, assets, resources, contexts and signals."""

from typing import Annotated, Any, TypeVar

from typing_extensions import Doc

from datastore import cms as stored
from datastore.cms import Asset, Product, ProductStatus, Resource, Signal, SignalStatus
from datastore.model.codec import JSON, BigInt
from datastore.model.entity import Entity
from datastore.model.keys import Key
from datastore.model.times import new_id
from resolvers.cms.audited_writes import changed, created, deleted, own, tenant_for
from resolvers.cms.constraints import Data, MediaType, Title
from resolvers.core.access import AccessRole, access
from resolvers.core.constraints import HttpsUrl, Name, Text
from resolvers.core.context import Context
from resolvers.core.money import Amount, Money, Price, parts_of
from resolvers.core.unset import UNSET, given

E = TypeVar("E", bound=Entity)

Json = Annotated[JSON | None, Doc("Further data."), Data]
Kind = Annotated[str, Doc("Kind."), Name()]
Titled = Annotated[str, Doc("Title."), Title]
Sku = Annotated[str | None, Doc("Stock keeping unit."), Text(at_most=100)]
ProductPrice = Annotated[Money | None, Doc("Price."), Price()]
Description = Annotated[str | None, Doc("Description."), Text(at_most=20_000)]
Url = Annotated[str, Doc("URL of the file."), HttpsUrl()]
Media = Annotated[str | None, Doc("Media type, such as image/png."), MediaType]
Size = Annotated[BigInt | None, Doc("Size in bytes."), Amount()]
Alt = Annotated[str | None, Doc("Alternative text."), Text(at_most=1_000)]
ResourceUrl = Annotated[str | None, Doc("URL, if it is on the web."), HttpsUrl()]
Summary = Annotated[str, Doc("Summary of the event."), Title]


@access(requires=AccessRole.TENANT_EDITOR)
async def create_product(
    context: Context,
    *,
    title: Titled,
    status: Annotated[ProductStatus, Doc("Publication status. Defaults to DRAFT.")] = ProductStatus.DRAFT,
    sku: Sku = None,
    price: ProductPrice = None,
    description: Description = None,
    data: Json = None,
) -> Product:
    """Creates a product."""
    tenant_id = await tenant_for(context)
    amount, currency = parts_of(price)
    product = Product(
        tenant_id=tenant_id,
        product_id=new_id(),
        title=title,
        status=status,
        sku=sku,
        price=amount,
        currency=currency,
        description=description,
        data=data,
    )
    return await created(context, product)


@access(requires=AccessRole.TENANT_EDITOR)
async def update_product(
    context: Context,
    *,
    product_id: Annotated[Key[Product], Doc("ID of the product.")],
    title: Titled = UNSET,
    status: Annotated[ProductStatus, Doc("Publication status.")] = UNSET,
    sku: Sku = UNSET,
    price: ProductPrice = UNSET,
    description: Description = UNSET,
    data: Json = UNSET,
) -> Product:
    """Edits a product. Omitted fields keep their values."""
    amount, currency = parts_of(price)
    return await _update(
        context,
        product_id,
        title=title,
        status=status,
        sku=sku,
        price=amount,
        currency=currency,
        description=description,
        data=data,
    )


@access(requires=AccessRole.TENANT_EDITOR)
async def delete_product(
    context: Context, *, product_id: Annotated[Key[Product], Doc("ID of the product.")]
) -> Product:
    """Deletes a product."""
    return await _delete(context, product_id)


@access(requires=AccessRole.TENANT_EDITOR)
async def create_asset(
    context: Context,
    *,
    title: Titled,
    url: Url,
    media_type: Media = None,
    size: Size = None,
    alt: Alt = None,
) -> Asset:
    """Creates an asset for an image or another file."""
    tenant_id = await tenant_for(context)
    return await created(
        context,
        Asset(tenant_id=tenant_id, asset_id=new_id(), title=title, url=url, media_type=media_type, size=size, alt=alt),
    )


@access(requires=AccessRole.TENANT_EDITOR)
async def update_asset(
    context: Context,
    *,
    asset_id: Annotated[Key[Asset], Doc("ID of the asset.")],
    title: Titled = UNSET,
    url: Url = UNSET,
    media_type: Media = UNSET,
    size: Size = UNSET,
    alt: Alt = UNSET,
) -> Asset:
    """Edits an asset. Omitted fields keep their values."""
    return await _update(context, asset_id, title=title, url=url, media_type=media_type, size=size, alt=alt)


@access(requires=AccessRole.TENANT_EDITOR)
async def delete_asset(context: Context, *, asset_id: Annotated[Key[Asset], Doc("ID of the asset.")]) -> Asset:
    """Deletes an asset, but not its file."""
    return await _delete(context, asset_id)


@access(requires=AccessRole.TENANT_EDITOR)
async def create_resource(
    context: Context,
    *,
    title: Titled,
    kind: Kind,
    url: ResourceUrl = None,
    data: Json = None,
) -> Resource:
    """Creates a resource."""
    tenant_id = await tenant_for(context)
    return await created(
        context, Resource(tenant_id=tenant_id, resource_id=new_id(), title=title, kind=kind, url=url, data=data)
    )


@access(requires=AccessRole.TENANT_EDITOR)
async def update_resource(
    context: Context,
    *,
    resource_id: Annotated[Key[Resource], Doc("ID of the resource.")],
    title: Titled = UNSET,
    kind: Kind = UNSET,
    url: ResourceUrl = UNSET,
    data: Json = UNSET,
) -> Resource:
    """Edits a resource. Omitted fields keep their values."""
    return await _update(context, resource_id, title=title, kind=kind, url=url, data=data)


@access(requires=AccessRole.TENANT_EDITOR)
async def delete_resource(
    context: Context, *, resource_id: Annotated[Key[Resource], Doc("ID of the resource.")]
) -> Resource:
    """Deletes a resource."""
    return await _delete(context, resource_id)


@access(requires=AccessRole.TENANT_EDITOR)
async def create_editorial_context(context: Context, *, title: Titled, data: Json = None) -> stored.EditorialContext:
    """Creates an editorial context."""
    tenant_id = await tenant_for(context)
    return await created(
        context, stored.EditorialContext(tenant_id=tenant_id, context_id=new_id(), title=title, data=data)
    )


@access(requires=AccessRole.TENANT_EDITOR)
async def update_editorial_context(
    context: Context,
    *,
    editorial_context_id: Annotated[Key[stored.EditorialContext], Doc("ID of the editorial context.")],
    title: Titled = UNSET,
    data: Json = UNSET,
) -> stored.EditorialContext:
    """Edits an editorial context. Omitted fields keep their values."""
    return await _update(context, editorial_context_id, title=title, data=data)


@access(requires=AccessRole.TENANT_EDITOR)
async def delete_editorial_context(
    context: Context,
    *,
    editorial_context_id: Annotated[Key[stored.EditorialContext], Doc("ID of the editorial context.")],
) -> stored.EditorialContext:
    """Deletes an editorial context."""
    return await _delete(context, editorial_context_id)


@access(requires=AccessRole.TENANT_EDITOR)
async def create_signal(
    context: Context,
    *,
    title: Summary,
    kind: Kind,
    status: Annotated[SignalStatus, Doc("Processing status. Defaults to OPEN.")] = SignalStatus.OPEN,
    data: Json = None,
) -> Signal:
    """Creates a signal."""
    tenant_id = await tenant_for(context)
    return await created(
        context, Signal(tenant_id=tenant_id, signal_id=new_id(), title=title, kind=kind, status=status, data=data)
    )


@access(requires=AccessRole.TENANT_EDITOR)
async def update_signal(
    context: Context,
    *,
    signal_id: Annotated[Key[Signal], Doc("ID of the signal.")],
    title: Summary = UNSET,
    kind: Kind = UNSET,
    status: Annotated[SignalStatus, Doc("Processing status.")] = UNSET,
    data: Json = UNSET,
) -> Signal:
    """Edits a signal. Omitted fields keep their values."""
    return await _update(context, signal_id, title=title, kind=kind, status=status, data=data)


@access(requires=AccessRole.TENANT_EDITOR)
async def delete_signal(context: Context, *, signal_id: Annotated[Key[Signal], Doc("ID of the signal.")]) -> Signal:
    """Deletes a signal."""
    return await _delete(context, signal_id)


async def _update(context: Context, key: Key[E], **fields: Any) -> E:
    return await changed(context, await own(context, key), **given(**fields))


async def _delete(context: Context, key: Key[E]) -> E:
    return await deleted(context, await own(context, key))
