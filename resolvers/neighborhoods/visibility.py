"""Visibility rules of neighborhoods, memberships, sites and builds."""

from datastore.accounts import User
from datastore.neighborhoods import (
    Build,
    Membership,
    MembershipEvent,
    MembershipRole,
    MembershipStatus,
    Neighborhood,
    NeighborhoodPrivacy,
    NeighborhoodRank,
    Site,
    SiteStatus,
)
from loaders.needs import Step
from loaders.viewer import Viewer
from loaders.visibility import readable_at, seen_at, shown_to_everyone, visibility
from resolvers.neighborhoods.edges import built_site, neighborhood_of, own_membership, viewer_membership
from resolvers.neighborhoods.roles import is_at_least

# Only public neighborhoods have a rank, and its target has rules of its own.
shown_to_everyone(NeighborhoodRank)


@visibility(Neighborhood)
def neighborhood_visible(neighborhood: Neighborhood, viewer: Viewer) -> Step[bool]:
    """A private neighborhood is visible to its members and to people invited, who have to decide."""
    if neighborhood.deleted_at is not None:
        return False
    if neighborhood.privacy is NeighborhoodPrivacy.PUBLIC:
        return True
    (own,) = yield from readable_at([viewer_membership(neighborhood, viewer)])
    return own is not None and own.status in (MembershipStatus.ACTIVE, MembershipStatus.INVITED)


@visibility(Membership)
def membership_visible(membership: Membership, viewer: Viewer) -> Step[bool]:
    """Viewers see their own membership. Members of a private neighborhood see members; moderators see everyone."""
    if viewer.is_user(membership.user_id):
        return True
    (neighborhood,) = yield from readable_at([neighborhood_of(membership)])
    if neighborhood is None or neighborhood.deleted_at is not None:
        return False
    is_member = membership.status is MembershipStatus.ACTIVE
    if is_member and neighborhood.privacy is NeighborhoodPrivacy.PUBLIC:
        return True
    (own,) = yield from readable_at([viewer_membership(neighborhood, viewer)])
    return is_at_least(own, MembershipRole.MEMBER if is_member else MembershipRole.MODERATOR)


@visibility(MembershipEvent)
def membership_event_visible(event: MembershipEvent, viewer: Viewer) -> Step[bool]:
    """Visible to the member concerned and to moderators."""
    if viewer.is_user(event.user_id):
        return True
    neighborhood, own = yield from readable_at([neighborhood_of(event), own_membership(event.neighborhood_id, viewer)])
    is_there = neighborhood is not None and neighborhood.deleted_at is None
    return is_there and is_at_least(own, MembershipRole.MODERATOR)


@visibility(Site, inside=User)
def site_visible(site: Site, viewer: Viewer) -> bool:
    if viewer.is_user(site.user_id):
        return True
    return site.deleted_at is None and (site.status is SiteStatus.PUBLISHED or viewer.is_builder)


@visibility(Build)
def build_visible(build: Build, viewer: Viewer) -> Step[bool]:
    if viewer.is_user(build.user_id) or not viewer.is_builder:
        return viewer.is_user(build.user_id)
    (site,) = yield from seen_at([built_site(build)], viewer, leave_out_damaged=True)
    return site is not None
