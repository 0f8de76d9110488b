"""The things and the visitors of websites in the graph."""

import strawberry

from datastore import cms as stored
from resolvers.cms import catalog_commands, catalog_edges, visitor_commands
from schema.cms import Content
from schema.declare.commands import command
from schema.declare.connections import Connection
from schema.declare.edges import derived, many, one
from schema.declare.problems import Payload, result
from schema.declare.types import Node, expose, extend


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
    author_email: str | None = derived(visitor_commands.author_email)
    content: Content | None = one(visitor_commands.commented_content)


@expose(stored.Lead)
class Lead(Node):
    pass


@expose(stored.Consent)
class Consent(Node):
    pass


@extend(Content)
class ContentComments:
    comments: Connection[PageComment] = many(visitor_commands.comments)


class Query:
    product: Product | None = one(catalog_edges.product)
    products: Connection[Product] = many(catalog_edges.products)
    asset: Asset | None = one(catalog_edges.asset)
    assets: Connection[Asset] = many(catalog_edges.assets)
    resource: Resource | None = one(catalog_edges.resource)
    resources: Connection[Resource] = many(catalog_edges.resources)
    context: Context | None = one(catalog_edges.context)
    contexts: Connection[Context] = many(catalog_edges.contexts)
    signal: Signal | None = one(catalog_edges.signal)
    signals: Connection[Signal] = many(catalog_edges.signals)
    page_comments: Connection[PageComment] = many(visitor_commands.page_comments)
    lead: Lead | None = one(visitor_commands.lead)
    leads: Connection[Lead] = many(visitor_commands.leads)
    consent: Consent | None = one(visitor_commands.consent)
    consent_history: Connection[Consent] = many(visitor_commands.consent_history)


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
    create_product: ProductPayload = command(catalog_commands.create_product)
    update_product: ProductPayload = command(catalog_commands.update_product)
    delete_product: DeleteProductPayload = command(catalog_commands.delete_product)
    create_asset: AssetPayload = command(catalog_commands.create_asset)
    update_asset: AssetPayload = command(catalog_commands.update_asset)
    delete_asset: DeleteAssetPayload = command(catalog_commands.delete_asset)
    create_resource: ResourcePayload = command(catalog_commands.create_resource)
    update_resource: ResourcePayload = command(catalog_commands.update_resource)
    delete_resource: DeleteResourcePayload = command(catalog_commands.delete_resource)
    create_context: ContextPayload = command(catalog_commands.create_context)
    update_context: ContextPayload = command(catalog_commands.update_context)
    delete_context: DeleteContextPayload = command(catalog_commands.delete_context)
    create_signal: SignalPayload = command(catalog_commands.create_signal)
    update_signal: SignalPayload = command(catalog_commands.update_signal)
    delete_signal: DeleteSignalPayload = command(catalog_commands.delete_signal)
    add_page_comment: PageCommentPayload = command(visitor_commands.add_page_comment)
    moderate_page_comment: PageCommentPayload = command(visitor_commands.moderate_page_comment)
    delete_page_comment: DeletePageCommentPayload = command(visitor_commands.delete_page_comment)
    save_lead: LeadPayload = command(visitor_commands.save_lead)
    delete_lead: DeleteLeadPayload = command(visitor_commands.delete_lead)
    record_consent: ConsentPayload = command(visitor_commands.record_consent)
