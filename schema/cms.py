"""GraphQL types of the CMS: tenants, content and its versions, routes, the audit log, catalog and visitors."""

import strawberry

from datastore import cms as stored
from datastore.model.codec import JSON
from resolvers.cms import (
    audit_edges,
    catalog_commands,
    catalog_edges,
    consent_commands,
    consent_edges,
    content_commands,
    edges,
    json_diff,
    lead_commands,
    lead_edges,
    page_comment_commands,
    page_comment_edges,
    route_commands,
    tenant_commands,
)
from schema.accounts import User
from schema.declare.appended import Addition, appended
from schema.declare.commands import command
from schema.declare.connections import Connection
from schema.declare.edges import computed, derived, many, one
from schema.declare.lookups import lookup
from schema.declare.money import Money
from schema.declare.problems import Payload, result
from schema.declare.types import Node, expose, value_type

ContentChange = value_type(json_diff.ContentChange)


@expose(stored.Tenant)
class Tenant(Node):
    config: JSON | None = derived(edges.tenant_config)


@expose(stored.Content)
class Content(Node):
    message: str | None = derived(edges.message)
    author: User | None = one(edges.author)
    route: "Route | None" = one(edges.content_route)
    versions: Connection["ContentVersion"] = many(edges.versions, count="version")
    comments: Connection["PageComment"] = many(page_comment_edges.comments)
    at_version: "ContentVersion | None" = computed(edges.version)
    as_of: "ContentVersion | None" = computed(edges.as_of)
    diff: list[ContentChange] | None = computed(edges.diff, weight=500)  # type: ignore[valid-type]


@expose(stored.ContentVersion)
class ContentVersion:
    blocks: JSON | None = computed(edges.version_blocks)
    author: User | None = one(edges.author)


@expose(stored.Route)
class Route(Node):
    content: Content | None = one(edges.routed_content)


@expose(stored.AuditEntry)
class AuditEntry(Node):
    pass


@expose(stored.Product)
class Product(Node):
    price: Money | None = derived(catalog_edges.price)


@expose(stored.Asset)
class Asset(Node):
    pass


@expose(stored.Resource)
class Resource(Node):
    pass


@expose(stored.EditorialContext)
class EditorialContext(Node):
    pass


@expose(stored.Signal)
class Signal(Node):
    pass


@expose(stored.PageComment)
class PageComment(Node):
    author_email: str | None = derived(page_comment_edges.author_email)
    content: Content | None = one(page_comment_edges.commented_content)


@expose(stored.Lead)
class Lead(Node):
    pass


@expose(stored.Consent)
class Consent(Node):
    pass


class Query:
    tenant: Tenant | None = lookup(edges.tenant_by_domain, edges.tenant_by_database_id, otherwise=edges.tenant)
    content: Content | None = lookup(edges.content_by_id, edges.content_by_database_id)
    contents: Connection[Content] = many(edges.contents)
    route: Route | None = lookup(edges.route_by_id, edges.route_by_slug)
    routes: Connection[Route] = many(edges.routes)
    audit_log: Connection[AuditEntry] = many(audit_edges.audit_log)
    product: Product | None = lookup(catalog_edges.product_by_id, catalog_edges.product_by_database_id)
    products: Connection[Product] = many(catalog_edges.products)
    asset: Asset | None = lookup(catalog_edges.asset_by_id, catalog_edges.asset_by_database_id)
    assets: Connection[Asset] = many(catalog_edges.assets)
    resource: Resource | None = lookup(catalog_edges.resource_by_database_id)
    resources: Connection[Resource] = many(catalog_edges.resources)
    editorial_context: EditorialContext | None = lookup(catalog_edges.editorial_context_by_database_id)
    editorial_contexts: Connection[EditorialContext] = many(catalog_edges.editorial_contexts)
    signal: Signal | None = lookup(catalog_edges.signal_by_database_id)
    signals: Connection[Signal] = many(catalog_edges.signals)
    page_comments: Connection[PageComment] = many(page_comment_edges.page_comments)
    lead: Lead | None = lookup(lead_edges.lead_by_email)
    leads: Connection[Lead] = many(lead_edges.leads)
    consent: Consent | None = one(consent_edges.consent)
    consent_history: Connection[Consent] = many(consent_edges.consent_history)


class TenantPayload(Payload):
    tenant: Tenant | None = result("The tenant.")


class ContentPayload(Payload):
    content: Content | None = result("The content.")


class RoutePayload(Payload):
    route: Route | None = result("The route.")


class DeleteRoutePayload(Payload):
    deleted_route_id: strawberry.ID | None = result("ID of the deleted route.")


class ProductPayload(Payload):
    product: Product | None = result("The product.")


class DeleteProductPayload(Payload):
    deleted_product_id: strawberry.ID | None = result("ID of the deleted product.")


class AssetPayload(Payload):
    asset: Asset | None = result("The asset.")


class DeleteAssetPayload(Payload):
    deleted_asset_id: strawberry.ID | None = result("ID of the deleted asset.")


class ResourcePayload(Payload):
    resource: Resource | None = result("The resource.")


class DeleteResourcePayload(Payload):
    deleted_resource_id: strawberry.ID | None = result("ID of the deleted resource.")


class EditorialContextPayload(Payload):
    editorial_context: EditorialContext | None = result("The editorial context.")


class DeleteEditorialContextPayload(Payload):
    deleted_editorial_context_id: strawberry.ID | None = result("ID of the deleted editorial context.")


class SignalPayload(Payload):
    signal: Signal | None = result("The signal.")


class DeleteSignalPayload(Payload):
    deleted_signal_id: strawberry.ID | None = result("ID of the deleted signal.")


class PageCommentPayload(Payload):
    page_comment: PageComment | None = result("The comment.")


class DeletePageCommentPayload(Payload):
    deleted_comment_id: strawberry.ID | None = result("ID of the deleted comment.")


class LeadPayload(Payload):
    lead: Lead | None = result("The lead.")


class DeleteLeadPayload(Payload):
    deleted_lead_id: strawberry.ID | None = result("ID of the deleted lead.")


class ConsentPayload(Payload):
    consent: Consent | None = result("The recorded consent.")


class Mutation:
    create_tenant: TenantPayload = command(tenant_commands.create_tenant)
    update_tenant: TenantPayload = command(tenant_commands.update_tenant)
    create_content: ContentPayload = command(content_commands.create_content)
    update_content: ContentPayload = command(content_commands.update_content)
    restore_version: ContentPayload = command(content_commands.restore_version)
    change_slug: ContentPayload = command(route_commands.change_slug)
    create_redirect: RoutePayload = command(route_commands.create_redirect)
    delete_route: DeleteRoutePayload = command(route_commands.delete_route)
    create_product: ProductPayload = command(catalog_commands.create_product)
    update_product: ProductPayload = command(catalog_commands.update_product)
    delete_product: DeleteProductPayload = command(catalog_commands.delete_product)
    create_asset: AssetPayload = command(catalog_commands.create_asset)
    update_asset: AssetPayload = command(catalog_commands.update_asset)
    delete_asset: DeleteAssetPayload = command(catalog_commands.delete_asset)
    create_resource: ResourcePayload = command(catalog_commands.create_resource)
    update_resource: ResourcePayload = command(catalog_commands.update_resource)
    delete_resource: DeleteResourcePayload = command(catalog_commands.delete_resource)
    create_editorial_context: EditorialContextPayload = command(catalog_commands.create_editorial_context)
    update_editorial_context: EditorialContextPayload = command(catalog_commands.update_editorial_context)
    delete_editorial_context: DeleteEditorialContextPayload = command(catalog_commands.delete_editorial_context)
    create_signal: SignalPayload = command(catalog_commands.create_signal)
    update_signal: SignalPayload = command(catalog_commands.update_signal)
    delete_signal: DeleteSignalPayload = command(catalog_commands.delete_signal)
    add_page_comment: PageCommentPayload = command(
        page_comment_commands.add_page_comment, replay=page_comment_commands.added_page_comment
    )
    moderate_page_comment: PageCommentPayload = command(page_comment_commands.moderate_page_comment)
    delete_page_comment: DeletePageCommentPayload = command(page_comment_commands.delete_page_comment)
    save_lead: LeadPayload = command(lead_commands.save_lead, replay=lead_commands.saved_lead)
    delete_lead: DeleteLeadPayload = command(lead_commands.delete_lead)
    record_consent: ConsentPayload = command(consent_commands.record_consent)


class Subscription:
    content_added: Addition[Content] = appended(Query.contents)
    audit_entry_added: Addition[AuditEntry] = appended(Query.audit_log)
