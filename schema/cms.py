"""The content system in the graph: tenants, content with its versions, routes and the audit log."""

import strawberry

from datastore import cms as stored
from datastore.model.codec import JSON
from resolvers.cms import content_commands, edges, json_diff, route_commands
from schema.accounts import User
from schema.declare.commands import command
from schema.declare.connections import Connection
from schema.declare.edges import computed, derived, many, one
from schema.declare.problems import Payload, result
from schema.declare.types import Node, expose, value_type

Change = value_type(json_diff.Change)


@expose(stored.Tenant)
class Tenant(Node):
    config: JSON | None = derived(edges.tenant_config)


@expose(stored.Content)
class Content(Node):
    message: str | None = derived(edges.message)
    author: User | None = one(edges.author)
    route: "Route | None" = one(edges.content_route)
    versions: Connection["ContentVersion"] = many(edges.versions)
    at_version: "ContentVersion | None" = computed(edges.version)
    diff: list[Change] | None = computed(edges.diff, weight=500)  # type: ignore[valid-type]


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


class Query:
    tenant: Tenant | None = one(edges.tenant)
    tenant_by_domain: Tenant | None = computed(edges.tenant_by_domain)
    content: Content | None = one(edges.content)
    contents: Connection[Content] = many(edges.contents)
    content_as_of: ContentVersion | None = computed(edges.content_as_of)
    route: Route | None = one(edges.route)
    routes: Connection[Route] = many(edges.routes)
    audit_log: Connection[AuditEntry] = many(edges.audit_log)


class TenantPayload(Payload):
    tenant: Tenant | None = result("The tenant as it is now.")


class ContentPayload(Payload):
    content: Content | None = result("The content as it is now.")


class RoutePayload(Payload):
    route: Route | None = result("The route as it is now.")


class DeleteRoutePayload(Payload):
    deleted_route_id: strawberry.ID | None = result("The `id` of what is gone.")


class Mutation:
    create_tenant: TenantPayload = command(content_commands.create_tenant)
    update_tenant: TenantPayload = command(content_commands.update_tenant)
    create_content: ContentPayload = command(content_commands.create_content)
    update_content: ContentPayload = command(content_commands.update_content)
    restore_version: ContentPayload = command(content_commands.restore_version)
    change_slug: ContentPayload = command(route_commands.change_slug)
    create_redirect: RoutePayload = command(route_commands.create_redirect)
    delete_route: DeleteRoutePayload = command(route_commands.delete_route)
