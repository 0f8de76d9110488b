"""Neighbourhoods, sites and builds in the graph."""

import strawberry

from datastore import neighbourhood as stored
from datastore.codec import JSON
from datastore.times import Time
from resolvers import (
    neighbourhood,
    neighbourhood_builds,
    neighbourhood_commands,
    neighbourhood_members,
    neighbourhood_sites,
)
from schema.connections import Carried, Connection
from schema.edges import absent, command, heavy, linked, many, one
from schema.problems import Payload, result
from schema.types import Node, expose, extend
from schema.users import User


@expose(stored.Neighborhood)
class Neighborhood(Node):
    creator: User | None = one(neighbourhood.creator)
    members: Connection["Membership"] = many(neighbourhood.members)
    member: "Membership | None" = one(neighbourhood.member)
    viewer_membership: "Membership | None" = one(neighbourhood.viewer_membership)
    invitations: Connection["Membership"] = many(neighbourhood.invitations)
    join_requests: Connection["Membership"] = many(neighbourhood.join_requests)
    history: Connection["MembershipEvent"] = many(neighbourhood.history)


@expose(stored.Membership)
class Membership(Node):
    user: User | None = one(neighbourhood.person)
    neighborhood: Neighborhood | None = one(neighbourhood.neighborhood_of)
    history: Connection["MembershipEvent"] = many(neighbourhood.membership_history)


@expose(stored.MembershipEvent)
class MembershipEvent(Node):
    user: User | None = one(neighbourhood.person)
    actor: User | None = one(neighbourhood.event_actor)
    neighborhood: Neighborhood | None = one(neighbourhood.neighborhood_of)


@expose(stored.Site)
class Site(Node):
    config: JSON | None = heavy(stored.Site.fields["config"], only=neighbourhood.may_see_inside)
    owner: User | None = one(neighbourhood.owner)
    neighborhood: Neighborhood | None = one(neighbourhood.site_neighborhood)
    builds: Connection["Build"] = many(neighbourhood.builds)


@expose(stored.Build)
class Build(Node):
    site: Site | None = one(neighbourhood.built_site)


@extend(User)
class NeighbourhoodUser:
    memberships: Connection[Membership] = many(neighbourhood.memberships)
    neighborhoods: Connection[Neighborhood] = linked(
        neighbourhood.memberships,
        to=neighbourhood.joined_neighborhood,
        role=Carried(stored.MembershipRole, "role", "What they are there."),
        joined_at=Carried(Time, "joined_at", "When they joined."),
    )
    sites: Connection[Site] = many(neighbourhood.sites)


class Query:
    neighborhood: Neighborhood | None = one(neighbourhood.neighborhood)
    neighborhood_by_slug: Neighborhood | None = one(neighbourhood.neighborhood_by_slug)
    neighborhoods: Connection[Neighborhood] = many(neighbourhood.neighborhoods)
    slug_available: bool = absent(neighbourhood.slug_available)
    site: Site | None = one(neighbourhood.site)
    site_by_site_id: Site | None = one(neighbourhood.site_by_site_id)
    site_by_subdomain: Site | None = one(neighbourhood.site_by_subdomain)
    subdomain_available: bool = absent(neighbourhood.subdomain_available)
    build: Build | None = one(neighbourhood.build)
    build_by_job_id: Build | None = one(neighbourhood.build_by_job_id)
    builds: Connection[Build] = many(neighbourhood.builds_by_status)


class NeighborhoodPayload(Payload):
    neighborhood: Neighborhood | None = result("The neighbourhood as it is now.")


class DeleteNeighborhoodPayload(Payload):
    deleted_neighborhood_id: strawberry.ID | None = result("The `id` of what is gone.")


class MembershipPayload(Payload):
    membership: Membership | None = result("The membership as it is now.")


class LeaveNeighborhoodPayload(Payload):
    left_membership_id: strawberry.ID | None = result("The `id` of the membership that is gone.")
    neighborhood: Neighborhood | None = result("The neighbourhood, if one still sees it.")


class RemoveMemberPayload(Payload):
    removed_membership_id: strawberry.ID | None = result("The `id` of the membership that is gone.")
    neighborhood: Neighborhood | None = result("The neighbourhood.")


class SitePayload(Payload):
    site: Site | None = result("The site as it is now.")


class BuildPayload(Payload):
    build: Build | None = result("The build as it is now.")


class Mutation:
    create_neighborhood: NeighborhoodPayload = command(neighbourhood_commands.create_neighborhood)
    update_neighborhood: NeighborhoodPayload = command(neighbourhood_commands.update_neighborhood)
    delete_neighborhood: DeleteNeighborhoodPayload = command(neighbourhood_commands.delete_neighborhood)
    join_neighborhood: MembershipPayload = command(neighbourhood_members.join_neighborhood)
    leave_neighborhood: LeaveNeighborhoodPayload = command(neighbourhood_members.leave_neighborhood)
    invite_member: MembershipPayload = command(neighbourhood_members.invite_member)
    approve_member: MembershipPayload = command(neighbourhood_members.approve_member)
    change_member_role: MembershipPayload = command(neighbourhood_members.change_member_role)
    remove_member: RemoveMemberPayload = command(neighbourhood_members.remove_member)
    create_site: SitePayload = command(neighbourhood_sites.create_site)
    update_site: SitePayload = command(neighbourhood_sites.update_site)
    publish_site: SitePayload = command(neighbourhood_sites.publish_site)
    unpublish_site: SitePayload = command(neighbourhood_sites.unpublish_site)
    delete_site: SitePayload = command(neighbourhood_sites.delete_site)
    restore_site: SitePayload = command(neighbourhood_sites.restore_site)
    start_build: BuildPayload = command(neighbourhood_builds.start_build)
    report_build: BuildPayload = command(neighbourhood_builds.report_build)
