"""Edges of neighborhoods, sites and builds: the key or range each field reads."""

from typing import Annotated, TypeVar

from slugify import slugify
from typing_extensions import Doc

from datastore.accounts import Unique, User
from datastore.model.entity import Entity
from datastore.model.enums import Choice
from datastore.model.keys import LAST_CHARACTER, Key, Range
from datastore.model.sorting import sortable
from datastore.model.times import Time
from datastore.neighborhoods import (
    Build,
    BuildStatus,
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
from loaders.filtered import UNINDEXED, Filtered, filtered
from loaders.linked import Linked
from loaders.needs import Items, Step
from loaders.searched import Searched
from loaders.viewer import Viewer
from resolvers.core.access import AccessRelation, AccessRole, access
from resolvers.core.problems import ProblemCode, refused
from resolvers.core.validation import Checks
from resolvers.neighborhoods.constraints import Subdomain
from resolvers.neighborhoods.roles import is_at_least
from resolvers.search.finding import SearchText, Wanted, found_by
from resolvers.search.index import SearchIndex

E = TypeVar("E", bound=Entity)


class NeighborhoodOrder(Choice):
    """Order of neighborhoods."""

    NAME = "NAME", "By name, without private neighborhoods."
    NEWEST_FIRST = "NEWEST_FIRST", "By time of creation, newest first."
    MOST_MEMBERS = (
        "MOST_MEMBERS",
        "By number of members, without private neighborhoods. The order may lag by about a second.",
    )


MAX_SLUG = 60


def neighborhood_by_database_id(
    *, database_id: Annotated[str, Doc("Permanent identifier (`databaseId`).")]
) -> Key[Neighborhood]:
    """The neighborhood with this permanent identifier."""
    return Neighborhood.key(neighborhood_id=database_id)


def neighborhood_by_slug(*, slug: Annotated[str, Doc("Slug, case-insensitive.")]) -> Range[Neighborhood]:
    """The neighborhood with this slug."""
    # A closed neighborhood that is not purged yet may have had the same slug.
    return Neighborhood.by_slug(slug=slug.strip().lower()).newest_first()


def neighborhoods(
    viewer: Viewer,
    search_index: SearchIndex,
    *,
    name_starts_with: Annotated[
        str | None, Doc("Returns only neighborhoods whose name begins with this text. Ignores case and accents.")
    ] = None,
    created_after: Annotated[Time | None, Doc("Returns only neighborhoods created at or after this time.")] = None,
    created_before: Annotated[Time | None, Doc("Returns only neighborhoods created before this time.")] = None,
    search: SearchText = None,
    order_by: Annotated[
        NeighborhoodOrder | None,
        Doc("Order of the neighborhoods. Defaults to NAME with `nameStartsWith`, otherwise to NEWEST_FIRST."),
    ] = None,
) -> Range[Neighborhood] | Linked[NeighborhoodRank] | Searched[Neighborhood]:
    """Neighborhoods visible to the viewer."""
    if search is not None:
        if name_starts_with is not None or order_by is not None:
            message = "`search` has an order of its own; leave `nameStartsWith` and `orderBy` out"
            raise refused(ProblemCode.INVALID, message, at="search")
        low, high = created_after or "", created_before or LAST_CHARACTER
        wanted = Wanted(search, frozenset({"Neighborhood"}), at="search")
        return found_by(search_index, viewer, wanted, lambda found: low <= found.created_at < high)
    by_name = order_by is NeighborhoodOrder.NAME or (order_by is None and name_starts_with is not None)
    if by_name:
        if created_after is not None or created_before is not None:
            raise refused(ProblemCode.INVALID, "neighborhoods by name cannot be limited to a time; leave it out")
        return Neighborhood.by_name().starting_with(sortable(name_starts_with))
    if name_starts_with is not None:
        raise refused(ProblemCode.INVALID, "`nameStartsWith` needs the order NAME; leave `orderBy` out", at="order_by")
    if order_by is NeighborhoodOrder.MOST_MEMBERS:
        if created_after is not None or created_before is not None:
            raise refused(ProblemCode.INVALID, "neighborhoods by size cannot be limited to a time; leave it out")
        return Linked(NeighborhoodRank.by_members().newest_first(), ranked_neighborhood)
    return Neighborhood.by_time().between(created_after, created_before).newest_first()


def ranked_neighborhood(rank: NeighborhoodRank) -> Key[Neighborhood]:
    return Neighborhood.key(neighborhood_id=rank.neighborhood_id)


def slug_of(text: str) -> str:
    """Returns a slug of letters a-z, digits and single dashes. Transliterates other scripts; keeps a slug."""
    return slugify(text, max_length=MAX_SLUG, word_boundary=True)


def slug_guard(slug: str) -> Key[Unique]:
    return Unique.key(kind="slug", value=slug)


def slug_available(*, slug: Annotated[str, Doc("A slug, or a name to make one from.")]) -> Key[Unique] | None:
    """True if the slug, or the slug made from the name, is available. False if none can be made."""
    made = slug_of(slug)
    return slug_guard(made) if made else None


def creator(neighborhood: Neighborhood) -> Key[User]:
    """The founder. Null once their account is deleted."""
    return User.key(user_id=neighborhood.creator_id)


def members(
    neighborhood: Neighborhood,
    viewer: Viewer,
    *,
    role: Annotated[MembershipRole | None, Doc("Returns only members with exactly this role.")] = None,
) -> Step[Range[Membership] | None]:
    """Members by role, highest first, then by the time they joined.

    Null for a user who is invited to a private neighborhood, until they join.
    """
    shown = members_with(neighborhood, MembershipStatus.ACTIVE, role)
    if neighborhood.privacy is NeighborhoodPrivacy.PUBLIC:
        return shown
    return (yield from _for(MembershipRole.MEMBER, neighborhood, viewer, shown))


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.MODERATOR,))
def invitations(neighborhood: Neighborhood, viewer: Viewer) -> Step[Range[Membership] | None]:
    """Open invitations, oldest first."""
    invited = members_with(neighborhood, MembershipStatus.INVITED)
    return (yield from _for(MembershipRole.MODERATOR, neighborhood, viewer, invited))


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.MODERATOR,))
def join_requests(neighborhood: Neighborhood, viewer: Viewer) -> Step[Range[Membership] | None]:
    """Open requests to join, oldest first."""
    waiting = members_with(neighborhood, MembershipStatus.PENDING)
    return (yield from _for(MembershipRole.MODERATOR, neighborhood, viewer, waiting))


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.MODERATOR,))
def history(neighborhood: Neighborhood, viewer: Viewer) -> Step[Range[MembershipEvent] | None]:
    """Membership history, newest first."""
    events = MembershipEvent.within(neighborhood_id=neighborhood.neighborhood_id).newest_first()
    return (yield from _for(MembershipRole.MODERATOR, neighborhood, viewer, events))


def members_with(
    neighborhood: Neighborhood, status: MembershipStatus, role: MembershipRole | None = None
) -> Range[Membership]:
    return Membership.by_status(neighborhood_id=neighborhood.neighborhood_id, status=status, role=role)


def _for(role: MembershipRole, neighborhood: Neighborhood, viewer: Viewer, within: Range[E]) -> Step[Range[E] | None]:
    """Returns the list for members with this role or a higher one."""
    (own,) = yield Items([viewer_membership(neighborhood, viewer)])
    return within if is_at_least(own, role) else None


def member(neighborhood: Neighborhood, *, user_id: Annotated[Key[User], Doc("ID of the user.")]) -> Key[Membership]:
    """Membership of a user. Null if there is none or the viewer may not see it."""
    return Membership.key(neighborhood_id=neighborhood.neighborhood_id, **user_id.values)


def viewer_membership(neighborhood: Neighborhood, viewer: Viewer) -> Key[Membership] | None:
    """The viewer's membership, or null."""
    return own_membership(neighborhood.neighborhood_id, viewer)


def own_membership(neighborhood_id: str, viewer: Viewer) -> Key[Membership] | None:
    return Membership.key(neighborhood_id=neighborhood_id, user_id=viewer.user_id) if viewer.user_id else None


def neighborhood_of(about: Membership | MembershipEvent) -> Key[Neighborhood]:
    """The neighborhood. Null while a request to join a private one is pending."""
    return Neighborhood.key(neighborhood_id=about.neighborhood_id)


def person(about: Membership | MembershipEvent) -> Key[User]:
    """The user. Null once their account is deleted."""
    return User.key(user_id=about.user_id)


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.SUBJECT, AccessRelation.MODERATOR))
def membership_history(membership: Membership, viewer: Viewer) -> Step[Range[MembershipEvent] | None]:
    """Changes to the membership, newest first, including earlier memberships of the same user."""
    if not viewer.is_user(membership.user_id):
        (own,) = yield Items([own_membership(membership.neighborhood_id, viewer)])
        if not is_at_least(own, MembershipRole.MODERATOR):
            return None
    events = MembershipEvent.of_member(neighborhood_id=membership.neighborhood_id, user_id=membership.user_id)
    return events.newest_first()


def event_actor(event: MembershipEvent) -> Key[User]:
    """The user who made the change. Null once their account is deleted."""
    return User.key(user_id=event.actor_id)


def memberships(user: User) -> Range[Membership]:
    """Memberships, newest first. The user also sees their own invitations and join requests."""
    return Membership.of_user(user_id=user.user_id).newest_first()


def joined_neighborhood(membership: Membership) -> Key[Neighborhood] | None:
    return neighborhood_of(membership) if membership.status is MembershipStatus.ACTIVE else None


def sites(
    user: User,
    *,
    status: Annotated[SiteStatus | None, Doc("Returns only sites with this status."), UNINDEXED] = None,
) -> Range[Site] | Filtered[Site]:
    """Published sites, newest first. The owner also sees drafts and, for 7 days, deleted sites."""
    newest = Site.within(user_id=user.user_id).newest_first()
    return newest if status is None else filtered(newest, lambda site: site.status is status)


def site_by_database_id(*, database_id: Annotated[str, Doc("Permanent identifier (`databaseId`).")]) -> Range[Site]:
    """The site with this permanent identifier."""
    return Site.by_id(site_id=database_id)


def site_by_subdomain(*, subdomain: Annotated[str, Doc("Subdomain, case-insensitive.")]) -> Range[Site]:
    """The site with this subdomain."""
    return Site.by_subdomain(subdomain=subdomain.strip().lower())


def subdomain_available(*, subdomain: Annotated[str, Doc("Subdomain, case-insensitive.")]) -> Key[Unique] | None:
    """True if the subdomain is valid and available."""
    checks = Checks()
    name = checks.satisfies("subdomain", subdomain, Subdomain())
    return None if checks.found else subdomain_guard(name)


def subdomain_guard(subdomain: str) -> Key[Unique]:
    return Unique.key(kind="subdomain", value=subdomain)


def owner(site: Site) -> Key[User]:
    """The owner."""
    return User.key(user_id=site.user_id)


def site_neighborhood(site: Site) -> Key[Neighborhood] | None:
    """The neighborhood it belongs to, if any."""
    return Neighborhood.key(neighborhood_id=site.neighborhood_id) if site.neighborhood_id else None


@access(only=(AccessRelation.OWNER, AccessRelation.BUILDER))
def may_see_inside(site: Site, viewer: Viewer) -> bool:
    """The configuration of a site is visible to its owner and to builders."""
    return viewer.is_user(site.user_id) or viewer.is_builder


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.OWNER, AccessRelation.BUILDER))
def builds(
    site: Site,
    viewer: Viewer,
    *,
    status: Annotated[BuildStatus | None, Doc("Returns only builds with this status."), UNINDEXED] = None,
) -> Range[Build] | Filtered[Build] | None:
    """Builds of the last 90 days, newest first."""
    if not may_see_inside(site, viewer):
        return None
    newest = Build.within(site_id=site.site_id).newest_first()
    return newest if status is None else filtered(newest, lambda build: build.status is status)


def build_by_database_id(*, database_id: Annotated[str, Doc("Permanent identifier (`databaseId`).")]) -> Range[Build]:
    """The build with this permanent identifier."""
    return Build.by_id(job_id=database_id)


@access(requires=AccessRole.BUILDER)
def builds_by_status(*, status: Annotated[BuildStatus, Doc("Status of the builds.")]) -> Range[Build]:
    """Builds with this status, oldest first: a builder's work queue."""
    return Build.by_status(status=status)


def built_site(build: Build) -> Key[Site]:
    """The site being built."""
    return Site.key(user_id=build.user_id, site_id=build.site_id)
