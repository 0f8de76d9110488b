"""GraphQL types of neighborhoods, sites and builds."""

import strawberry

from datastore import neighborhoods as stored
from datastore.model.codec import JSON
from datastore.model.times import Time
from resolvers.neighborhoods import build_commands, edges, member_commands, neighborhood_commands, site_commands
from schema.accounts import User
from schema.declare.appended import Addition, appended
from schema.declare.commands import command
from schema.declare.connections import Carried, Connection
from schema.declare.edges import absent, heavy, linked, many, one
from schema.declare.lookups import lookup
from schema.declare.problems import Payload, result
from schema.declare.types import Node, expose, extend


@expose(stored.Neighborhood)
class Neighborhood(Node):
    creator: User | None = one(edges.creator)
    members: Connection["Membership"] | None = many(edges.members, count="member_count")
    member: "Membership | None" = one(edges.member)
    viewer_membership: "Membership | None" = one(edges.viewer_membership)
    invitations: Connection["Membership"] | None = many(edges.invitations)
    join_requests: Connection["Membership"] | None = many(edges.join_requests)
    history: Connection["MembershipEvent"] | None = many(edges.history)


@expose(stored.Membership)
class Membership(Node):
    user: User | None = one(edges.person)
    neighborhood: Neighborhood | None = one(edges.neighborhood_of)
    history: Connection["MembershipEvent"] | None = many(edges.membership_history)


@expose(stored.MembershipEvent)
class MembershipEvent(Node):
    user: User | None = one(edges.person)
    actor: User | None = one(edges.event_actor)
    neighborhood: Neighborhood | None = one(edges.neighborhood_of)


@expose(stored.Site)
class Site(Node):
    config: JSON | None = heavy(stored.Site.fields["config"], only=edges.may_see_inside)
    owner: User | None = one(edges.owner)
    neighborhood: Neighborhood | None = one(edges.site_neighborhood)
    builds: Connection["Build"] | None = many(edges.builds)


@expose(stored.Build)
class Build(Node):
    site: Site | None = one(edges.built_site)


@extend(User)
class NeighborhoodUser:
    memberships: Connection[Membership] = many(edges.memberships)
    neighborhoods: Connection[Neighborhood] = linked(
        edges.memberships,
        to=edges.joined_neighborhood,
        role=Carried(stored.MembershipRole, "role", "Role in the neighborhood."),
        joined_at=Carried(Time, "joined_at", "Time they joined."),
    )
    sites: Connection[Site] = many(edges.sites)


class Query:
    neighborhood: Neighborhood | None = lookup(edges.neighborhood_by_slug, edges.neighborhood_by_database_id)
    neighborhoods: Connection[Neighborhood] = linked(edges.neighborhoods, to=None)
    slug_available: bool = absent(edges.slug_available)
    site: Site | None = lookup(edges.site_by_subdomain, edges.site_by_database_id)
    subdomain_available: bool = absent(edges.subdomain_available)
    build: Build | None = lookup(edges.build_by_database_id)
    builds: Connection[Build] = many(edges.builds_by_status)


class NeighborhoodPayload(Payload):
    neighborhood: Neighborhood | None = result("The neighborhood.")


class DeleteNeighborhoodPayload(Payload):
    deleted_neighborhood_id: strawberry.ID | None = result("ID of the deleted neighborhood.")


class MembershipPayload(Payload):
    membership: Membership | None = result("The membership.")


class LeaveNeighborhoodPayload(Payload):
    deleted_membership_id: strawberry.ID | None = result("ID of the deleted membership.")
    neighborhood: Neighborhood | None = result("The neighborhood. Null if the viewer can no longer see it.")


class RemoveMemberPayload(Payload):
    deleted_membership_id: strawberry.ID | None = result("ID of the deleted membership.")
    neighborhood: Neighborhood | None = result("The neighborhood.")


class SitePayload(Payload):
    site: Site | None = result("The site.")


class BuildPayload(Payload):
    build: Build | None = result("The build.")


class Mutation:
    create_neighborhood: NeighborhoodPayload = command(neighborhood_commands.create_neighborhood)
    update_neighborhood: NeighborhoodPayload = command(neighborhood_commands.update_neighborhood)
    delete_neighborhood: DeleteNeighborhoodPayload = command(neighborhood_commands.delete_neighborhood)
    join_neighborhood: MembershipPayload = command(member_commands.join_neighborhood)
    leave_neighborhood: LeaveNeighborhoodPayload = command(member_commands.leave_neighborhood)
    invite_member: MembershipPayload = command(member_commands.invite_member)
    approve_member: MembershipPayload = command(member_commands.approve_member)
    change_member_role: MembershipPayload = command(member_commands.change_member_role)
    remove_member: RemoveMemberPayload = command(member_commands.remove_member)
    create_site: SitePayload = command(site_commands.create_site)
    update_site: SitePayload = command(site_commands.update_site)
    publish_site: SitePayload = command(site_commands.publish_site)
    unpublish_site: SitePayload = command(site_commands.unpublish_site)
    delete_site: SitePayload = command(site_commands.delete_site)
    restore_site: SitePayload = command(site_commands.restore_site)
    start_build: BuildPayload = command(build_commands.start_build)
    report_build: BuildPayload = command(build_commands.report_build)


class Subscription:
    build_added: Addition[Build] = appended(Query.builds)
    site_build_added: Addition[Build] = appended(Site.builds)
    member_added: Addition[Membership] = appended(Neighborhood.members, at="joined_at")
