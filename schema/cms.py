"""The content system in the graph: tenants, content with its versions, routes and the audit log."""

import strawberry

from datastore import cms as stored
from datastore.codec import JSON
from resolvers import changes, cms, cms_commands, cms_routes
from schema.connections import Connection
from schema.edges import command, computed, derived, many, one
from schema.problems import Payload, result
from schema.types import Node, expose, value_type
from schema.users import User

Change = value_type(changes.Change)


@expose(stored.Tenant)
class Tenant(Node):
    config: JSON | None = derived(cms.tenant_config)


@expose(stored.Content)
class Content(Node):
    message: str | None = derived(cms.message)
    author: User | None = one(cms.author)
    route: "Route | None" = one(cms.content_route)
    versions: Connection["ContentVersion"] = many(cms.versions)
    at_version: "ContentVersion | None" = computed(cms.version)
    diff: list[Change] | None = computed(cms.diff, weight=500)  # type: ignore[valid-type]


@expose(stored.ContentVersion)
class ContentVersion:
    blocks: JSON | None = computed(cms.version_blocks)
    author: User | None = one(cms.author)


@expose(stored.Route)
class Route(Node):
    content: Content | None = one(cms.routed_content)


@expose(stored.AuditEntry)
class AuditEntry(Node):
    pass


class Query:
    tenant: Tenant | None = one(cms.tenant)
    tenant_by_domain: Tenant | None = computed(cms.tenant_by_domain)
    content: Content | None = one(cms.content)
    contents: Connection[Content] = many(cms.contents)
    content_as_of: ContentVersion | None = computed(cms.content_as_of)
    route: Route | None = one(cms.route)
    routes: Connection[Route] = many(cms.routes)
    audit_log: Connection[AuditEntry] = many(cms.audit_log)


class TenantPayload(Payload):
    tenant: Tenant | None = result("The tenant as it is now.")


class ContentPayload(Payload):
    content: Content | None = result("The content as it is now.")


class RoutePayload(Payload):
    route: Route | None = result("The route as it is now.")


class DeleteRoutePayload(Payload):
    deleted_route_id: strawberry.ID | None = result("The `id` of what is gone.")


class Mutation:
    create_tenant: TenantPayload = command(cms_commands.create_tenant)
    update_tenant: TenantPayload = command(cms_commands.update_tenant)
    create_content: ContentPayload = command(cms_commands.create_content)
    update_content: ContentPayload = command(cms_commands.update_content)
    restore_version: ContentPayload = command(cms_commands.restore_version)
    change_slug: ContentPayload = command(cms_routes.change_slug)
    create_redirect: RoutePayload = command(cms_routes.create_redirect)
    delete_route: DeleteRoutePayload = command(cms_routes.delete_route)
