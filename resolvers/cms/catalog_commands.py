"""The commands of a website's things: all for editors. A change keeps what it does not mention."""

from typing import Annotated, Any, TypeVar

from typing_extensions import Doc

from datastore import cms as stored
from datastore.cms import Asset, Product, ProductStatus, Resource, Signal, SignalStatus
from datastore.model.codec import JSON
from datastore.model.entity import Entity
from datastore.model.keys import Key
from datastore.model.times import new_id
from resolvers.cms.audited_writes import changed, created, deleted, own, tenant_for
from resolvers.cms.field_validation import checked
from resolvers.cms.tenancy import staff_of
from resolvers.core.context import Context
from resolvers.core.unset import UNSET

E = TypeVar("E", bound=Entity)

Data = Annotated[JSON | None, Doc("Whatever else there is: an object of up to 100,000 bytes.")]
Kind = Doc("What kind it is: 1 to 40 letters a-z, digits and dashes.")
Title = Doc("What it is called, up to 300 characters.")


async def create_product(
    context: Context,
    *,
    title: Annotated[str, Title],
    status: Annotated[ProductStatus, Doc("Whether it is on offer.")] = ProductStatus.DRAFT,
    sku: Annotated[str | None, Doc("What it is called in the shop's own books, up to 100 characters.")] = None,
    price: Annotated[int | None, Doc("What it costs, in the smallest unit of the currency.")] = None,
    currency: Annotated[str | None, Doc("Three letters, such as EUR.")] = None,
    description: Annotated[str | None, Doc("What there is to say about it, up to 20,000 characters.")] = None,
    data: Data = None,
) -> Product:
    """Make a product: for editors."""
    tenant_id = await tenant_for(context, "editor")
    fields = checked(
        Product,
        title=title,
        status=status,
        sku=sku,
        price=price,
        currency=currency,
        description=description,
        data=data,
    )
    return await created(context, Product(tenant_id=tenant_id, product_id=new_id(), **fields))


async def update_product(
    context: Context,
    *,
    product_id: Annotated[Key[Product], Doc("The `id` of the product.")],
    title: Annotated[str | None, Title] = UNSET,
    status: Annotated[ProductStatus | None, Doc("Whether it is on offer.")] = UNSET,
    sku: Annotated[str | None, Doc("What it is called in the shop's own books, up to 100 characters.")] = UNSET,
    price: Annotated[int | None, Doc("What it costs, in the smallest unit of the currency.")] = UNSET,
    currency: Annotated[str | None, Doc("Three letters, such as EUR.")] = UNSET,
    description: Annotated[str | None, Doc("What there is to say about it, up to 20,000 characters.")] = UNSET,
    data: Data = UNSET,
) -> Product:
    """Change a product: for editors. What is left out stays as it is."""
    return await _update(
        context,
        product_id,
        title=title,
        status=status,
        sku=sku,
        price=price,
        currency=currency,
        description=description,
        data=data,
    )


async def delete_product(
    context: Context, *, product_id: Annotated[Key[Product], Doc("The `id` of the product.")]
) -> Product:
    """Delete a product: for editors."""
    return await _delete(context, product_id)


async def create_asset(
    context: Context,
    *,
    title: Annotated[str, Title],
    url: Annotated[str, Doc("Where it is: an https address.")],
    media_type: Annotated[str | None, Doc("What it is, such as image/png.")] = None,
    size: Annotated[int | None, Doc("How large it is, in bytes.")] = None,
    alt: Annotated[str | None, Doc("What it shows, for those who do not see it, up to 1,000 characters.")] = None,
) -> Asset:
    """Make a picture or another file known: for editors."""
    tenant_id = await tenant_for(context, "editor")
    fields = checked(Asset, title=title, url=url, media_type=media_type, size=size, alt=alt)
    return await created(context, Asset(tenant_id=tenant_id, asset_id=new_id(), **fields))


async def update_asset(
    context: Context,
    *,
    asset_id: Annotated[Key[Asset], Doc("The `id` of the asset.")],
    title: Annotated[str | None, Title] = UNSET,
    url: Annotated[str | None, Doc("Where it is: an https address.")] = UNSET,
    media_type: Annotated[str | None, Doc("What it is, such as image/png.")] = UNSET,
    size: Annotated[int | None, Doc("How large it is, in bytes.")] = UNSET,
    alt: Annotated[str | None, Doc("What it shows, for those who do not see it, up to 1,000 characters.")] = UNSET,
) -> Asset:
    """Change what is known of a file: for editors. What is left out stays as it is."""
    given = {"title": title, "url": url, "media_type": media_type, "size": size, "alt": alt}
    return await _update(context, asset_id, **given)


async def delete_asset(context: Context, *, asset_id: Annotated[Key[Asset], Doc("The `id` of the asset.")]) -> Asset:
    """Delete an asset, not the file it tells of: for editors."""
    return await _delete(context, asset_id)


async def create_resource(
    context: Context,
    *,
    title: Annotated[str, Title],
    kind: Annotated[str, Kind],
    url: Annotated[str | None, Doc("Where it is, if it is on the web: an https address.")] = None,
    data: Data = None,
) -> Resource:
    """Make a resource: for editors."""
    tenant_id = await tenant_for(context, "editor")
    fields = checked(Resource, title=title, kind=kind, url=url, data=data)
    return await created(context, Resource(tenant_id=tenant_id, resource_id=new_id(), **fields))


async def update_resource(
    context: Context,
    *,
    resource_id: Annotated[Key[Resource], Doc("The `id` of the resource.")],
    title: Annotated[str | None, Title] = UNSET,
    kind: Annotated[str | None, Kind] = UNSET,
    url: Annotated[str | None, Doc("Where it is, if it is on the web: an https address.")] = UNSET,
    data: Data = UNSET,
) -> Resource:
    """Change a resource: for editors. What is left out stays as it is."""
    given = {"title": title, "kind": kind, "url": url, "data": data}
    return await _update(context, resource_id, **given)


async def delete_resource(
    context: Context, *, resource_id: Annotated[Key[Resource], Doc("The `id` of the resource.")]
) -> Resource:
    """Delete a resource: for editors."""
    return await _delete(context, resource_id)


async def create_context(context: Context, *, title: Annotated[str, Title], data: Data = None) -> stored.Context:
    """Make a context: for editors."""
    tenant_id = await tenant_for(context, "editor")
    fields = checked(stored.Context, title=title, data=data)
    return await created(context, stored.Context(tenant_id=tenant_id, context_id=new_id(), **fields))


async def update_context(
    context: Context,
    *,
    context_id: Annotated[Key[stored.Context], Doc("The `id` of the context.")],
    title: Annotated[str | None, Title] = UNSET,
    data: Data = UNSET,
) -> stored.Context:
    """Change a context: for editors. What is left out stays as it is."""
    return await _update(context, context_id, title=title, data=data)


async def delete_context(
    context: Context, *, context_id: Annotated[Key[stored.Context], Doc("The `id` of the context.")]
) -> stored.Context:
    """Delete a context: for editors."""
    return await _delete(context, context_id)


async def create_signal(
    context: Context,
    *,
    title: Annotated[str, Doc("What happened, up to 300 characters.")],
    kind: Annotated[str, Kind],
    status: Annotated[SignalStatus, Doc("What was done about it.")] = SignalStatus.OPEN,
    data: Data = None,
) -> Signal:
    """Let the staff know that something happened: for editors."""
    tenant_id = await tenant_for(context, "editor")
    fields = checked(Signal, title=title, kind=kind, status=status, data=data)
    return await created(context, Signal(tenant_id=tenant_id, signal_id=new_id(), **fields))


async def update_signal(
    context: Context,
    *,
    signal_id: Annotated[Key[Signal], Doc("The `id` of the signal.")],
    title: Annotated[str | None, Doc("What happened, up to 300 characters.")] = UNSET,
    kind: Annotated[str | None, Kind] = UNSET,
    status: Annotated[SignalStatus | None, Doc("What was done about it.")] = UNSET,
    data: Data = UNSET,
) -> Signal:
    """Change a signal: for editors. What is left out stays as it is."""
    given = {"title": title, "kind": kind, "status": status, "data": data}
    return await _update(context, signal_id, **given)


async def delete_signal(
    context: Context, *, signal_id: Annotated[Key[Signal], Doc("The `id` of the signal.")]
) -> Signal:
    """Delete a signal: for editors."""
    return await _delete(context, signal_id)


async def _update(context: Context, key: Key[E], **given: Any) -> E:
    staff_of(context.viewer, "editor")
    fields = checked(key.entity, **given)
    return await changed(context, await own(context, key), **fields)


async def _delete(context: Context, key: Key[E]) -> E:
    staff_of(context.viewer, "editor")
    return await deleted(context, await own(context, key))
