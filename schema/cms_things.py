"""The things and the visitors of websites in the graph."""

import strawberry

from datastore import cms as stored
from resolvers import cms_things, cms_things_commands, cms_visitors
from schema.cms import Content
from schema.connections import Connection
from schema.edges import command, derived, many, one
from schema.problems import Payload, result
from schema.types import Node, expose, extend


@expose(stored.Product)
class Product(Node):
    pass


@expose(stored.Asset)
class Asset(Node):
    pass


@expose(stored.Resource)
class Resource(Node):
    pass


@expose(stored.Context)
class Context(Node):
    pass


@expose(stored.Signal)
class Signal(Node):
    pass


@expose(stored.PageComment)
class PageComment(Node):
    author_email: str | None = derived(cms_visitors.author_email)
    content: Content | None = one(cms_visitors.commented_content)


@expose(stored.Lead)
class Lead(Node):
    pass


@expose(stored.Consent)
class Consent(Node):
    pass


@extend(Content)
class ContentComments:
    comments: Connection[PageComment] = many(cms_visitors.comments)


class Query:
    product: Product | None = one(cms_things.product)
    products: Connection[Product] = many(cms_things.products)
    asset: Asset | None = one(cms_things.asset)
    assets: Connection[Asset] = many(cms_things.assets)
    resource: Resource | None = one(cms_things.resource)
    resources: Connection[Resource] = many(cms_things.resources)
    context: Context | None = one(cms_things.context)
    contexts: Connection[Context] = many(cms_things.contexts)
    signal: Signal | None = one(cms_things.signal)
    signals: Connection[Signal] = many(cms_things.signals)
    page_comments: Connection[PageComment] = many(cms_visitors.page_comments)
    lead: Lead | None = one(cms_visitors.lead)
    leads: Connection[Lead] = many(cms_visitors.leads)
    consent: Consent | None = one(cms_visitors.consent)
    consent_history: Connection[Consent] = many(cms_visitors.consent_history)


class ProductPayload(Payload):
    product: Product | None = result("The product as it is now.")


class DeleteProductPayload(Payload):
    deleted_product_id: strawberry.ID | None = result("The `id` of what is gone.")


class AssetPayload(Payload):
    asset: Asset | None = result("The asset as it is now.")


class DeleteAssetPayload(Payload):
    deleted_asset_id: strawberry.ID | None = result("The `id` of what is gone.")


class ResourcePayload(Payload):
    resource: Resource | None = result("The resource as it is now.")


class DeleteResourcePayload(Payload):
    deleted_resource_id: strawberry.ID | None = result("The `id` of what is gone.")


class ContextPayload(Payload):
    context: Context | None = result("The context as it is now.")


class DeleteContextPayload(Payload):
    deleted_context_id: strawberry.ID | None = result("The `id` of what is gone.")


class SignalPayload(Payload):
    signal: Signal | None = result("The signal as it is now.")


class DeleteSignalPayload(Payload):
    deleted_signal_id: strawberry.ID | None = result("The `id` of what is gone.")


class PageCommentPayload(Payload):
    page_comment: PageComment | None = result("The comment as it is now.")


class DeletePageCommentPayload(Payload):
    deleted_comment_id: strawberry.ID | None = result("The `id` of what is gone.")


class LeadPayload(Payload):
    lead: Lead | None = result("The lead as it is now.")


class DeleteLeadPayload(Payload):
    deleted_lead_id: strawberry.ID | None = result("The `id` of what is gone.")


class ConsentPayload(Payload):
    consent: Consent | None = result("What they agree to now.")


class Mutation:
    create_product: ProductPayload = command(cms_things_commands.create_product)
    update_product: ProductPayload = command(cms_things_commands.update_product)
    delete_product: DeleteProductPayload = command(cms_things_commands.delete_product)
    create_asset: AssetPayload = command(cms_things_commands.create_asset)
    update_asset: AssetPayload = command(cms_things_commands.update_asset)
    delete_asset: DeleteAssetPayload = command(cms_things_commands.delete_asset)
    create_resource: ResourcePayload = command(cms_things_commands.create_resource)
    update_resource: ResourcePayload = command(cms_things_commands.update_resource)
    delete_resource: DeleteResourcePayload = command(cms_things_commands.delete_resource)
    create_context: ContextPayload = command(cms_things_commands.create_context)
    update_context: ContextPayload = command(cms_things_commands.update_context)
    delete_context: DeleteContextPayload = command(cms_things_commands.delete_context)
    create_signal: SignalPayload = command(cms_things_commands.create_signal)
    update_signal: SignalPayload = command(cms_things_commands.update_signal)
    delete_signal: DeleteSignalPayload = command(cms_things_commands.delete_signal)
    add_page_comment: PageCommentPayload = command(cms_visitors.add_page_comment)
    moderate_page_comment: PageCommentPayload = command(cms_visitors.moderate_page_comment)
    delete_page_comment: DeletePageCommentPayload = command(cms_visitors.delete_page_comment)
    save_lead: LeadPayload = command(cms_visitors.save_lead)
    delete_lead: DeleteLeadPayload = command(cms_visitors.delete_lead)
    record_consent: ConsentPayload = command(cms_visitors.record_consent)
