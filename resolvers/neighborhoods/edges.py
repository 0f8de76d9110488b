"""Neighborhoods, sites and builds: where each field leads, and who may see what."""

from typing import Annotated, TypeVar

from slugify import slugify
from typing_extensions import Doc

from datastore.accounts import Unique, User
from datastore.model.entity import Entity
from datastore.model.keys import Key, Range
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
    Site,
    SiteStatus,
)
from loaders.needs import Items, Step
from loaders.viewer import Viewer
from loaders.visibility import seen_at, visibility
from resolvers.core.validation import Checks

E = TypeVar("E", bound=Entity)

MAX_SLUG = 60

RANKS = {role: rank for rank, role in enumerate(reversed(MembershipRole))}
"""Whoever has the higher one may do more."""


def is_at_least(membership: Membership | None, role: MembershipRole) -> bool:
    """Whether somebody is a member with this role or a higher one."""
    return (
        membership is not None
        and membership.status is MembershipStatus.ACTIVE
        and RANKS[membership.role] >= RANKS[role]
    )


@visibility(Neighborhood)
def neighborhood_visible(neighborhood: Neighborhood, viewer: Viewer) -> Step[bool]:
    """A private one to its members, and to those who are invited: they have to decide."""
    if neighborhood.deleted_at is not None:
        return False
    if neighborhood.privacy is NeighborhoodPrivacy.PUBLIC:
        return True
    (own,) = yield Items([viewer_membership(neighborhood, viewer)])
    return own is not None and own.status in (MembershipStatus.ACTIVE, MembershipStatus.INVITED)


@visibility(Membership)
def membership_visible(membership: Membership, viewer: Viewer) -> Step[bool]:
    """One's own always. Members of a private one are for members; who is invited, waits or is away, for moderators."""
    if viewer.is_user(membership.user_id):
        return True
    (neighborhood,) = yield Items([neighborhood_of(membership)])
    if neighborhood is None or neighborhood.deleted_at is not None:
        return False
    is_member = membership.status is MembershipStatus.ACTIVE
    if is_member and neighborhood.privacy is NeighborhoodPrivacy.PUBLIC:
        return True
    (own,) = yield Items([viewer_membership(neighborhood, viewer)])
    return is_at_least(own, MembershipRole.MEMBER if is_member else MembershipRole.MODERATOR)


@visibility(MembershipEvent)
def membership_event_visible(event: MembershipEvent, viewer: Viewer) -> Step[bool]:
    """To the one it happened to, always, and to moderators."""
    if viewer.is_user(event.user_id):
        return True
    neighborhood, own = yield Items([neighborhood_of(event), _own(event.neighborhood_id, viewer)])
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
    (site,) = yield from seen_at([built_site(build)], viewer)
    return site is not None


def neighborhood(*, id: Annotated[Key[Neighborhood], Doc("The `id` of a neighborhood.")]) -> Key[Neighborhood]:
    """The neighborhood with this id."""
    return id


def neighborhood_by_slug(*, slug: Annotated[str, Doc("Its name in addresses, in any case.")]) -> Range[Neighborhood]:
    """The neighborhood with this slug."""
    # One that was closed may have had it before, and not be cleared away yet.
    return Neighborhood.by_slug(slug=slug.strip().lower()).newest_first()


def neighborhoods(
    *,
    created_after: Annotated[Time | None, Doc("Only those founded at this time or later.")] = None,
    created_before: Annotated[Time | None, Doc("Only those founded before this time.")] = None,
) -> Range[Neighborhood]:
    """The neighborhoods one may see, newest first."""
    return Neighborhood.by_time().between(created_after, created_before).newest_first()


def slug_of(text: str) -> str:
    """Letters a-z, digits and single dashes; of any script, as far as it can be written so. A slug stays as it is."""
    return slugify(text, max_length=MAX_SLUG, word_boundary=True)


def slug_guard(slug: str) -> Key[Unique]:
    return Unique.key(kind="slug", value=slug)


def slug_available(*, slug: Annotated[str, Doc("A slug, or a name to make one from.")]) -> Key[Unique] | None:
    """Whether no neighborhood has this slug, or the one made from this name; false where none can be made."""
    made = slug_of(slug)
    return slug_guard(made) if made else None


def creator(neighborhood: Neighborhood) -> Key[User]:
    """Who founded it; null once that account is deleted."""
    return User.key(user_id=neighborhood.creator_id)


def members(
    neighborhood: Neighborhood,
    viewer: Viewer,
    *,
    role: Annotated[MembershipRole | None, Doc("Only those with exactly this role.")] = None,
) -> Step[Range[Membership] | None]:
    """Its members: owners first, then admins, moderators and the others, each by when they joined.

    Null where one does not see them: whoever is invited to a private neighborhood sees it, and not yet who is there.
    """
    shown = members_with(neighborhood, MembershipStatus.ACTIVE, role)
    if neighborhood.privacy is NeighborhoodPrivacy.PUBLIC:
        return shown
    return (yield from _for(MembershipRole.MEMBER, neighborhood, viewer, shown))


def invitations(neighborhood: Neighborhood, viewer: Viewer) -> Step[Range[Membership] | None]:
    """Who is invited and has not answered, the longest first; null unless one is a moderator."""
    invited = members_with(neighborhood, MembershipStatus.INVITED)
    return (yield from _for(MembershipRole.MODERATOR, neighborhood, viewer, invited))


def join_requests(neighborhood: Neighborhood, viewer: Viewer) -> Step[Range[Membership] | None]:
    """Who asks to join, the longest first; null unless one is a moderator."""
    waiting = members_with(neighborhood, MembershipStatus.PENDING)
    return (yield from _for(MembershipRole.MODERATOR, neighborhood, viewer, waiting))


def history(neighborhood: Neighborhood, viewer: Viewer) -> Step[Range[MembershipEvent] | None]:
    """Everything that happened to its memberships, newest first; null unless one is a moderator."""
    events = MembershipEvent.within(neighborhood_id=neighborhood.neighborhood_id).newest_first()
    return (yield from _for(MembershipRole.MODERATOR, neighborhood, viewer, events))


def members_with(
    neighborhood: Neighborhood, status: MembershipStatus, role: MembershipRole | None = None
) -> Range[Membership]:
    return Membership.by_status(neighborhood_id=neighborhood.neighborhood_id, status=status, role=role)


def _for(role: MembershipRole, neighborhood: Neighborhood, viewer: Viewer, within: Range[E]) -> Step[Range[E] | None]:
    """A list for those of a role and those above it."""
    (own,) = yield Items([viewer_membership(neighborhood, viewer)])
    return within if is_at_least(own, role) else None


def member(
    neighborhood: Neighborhood, *, user_id: Annotated[Key[User], Doc("The `id` of a person.")]
) -> Key[Membership]:
    """The membership of one person; null if there is none, or none you may see."""
    return Membership.key(neighborhood_id=neighborhood.neighborhood_id, **user_id.values)


def viewer_membership(neighborhood: Neighborhood, viewer: Viewer) -> Key[Membership] | None:
    """What the one who asks is here; null if they are nothing."""
    return _own(neighborhood.neighborhood_id, viewer)


def _own(neighborhood_id: str, viewer: Viewer) -> Key[Membership] | None:
    return Membership.key(neighborhood_id=neighborhood_id, user_id=viewer.user_id) if viewer.user_id else None


def neighborhood_of(about: Membership | MembershipEvent) -> Key[Neighborhood]:
    """The neighborhood; null while one asks to join a private one."""
    return Neighborhood.key(neighborhood_id=about.neighborhood_id)


def person(about: Membership | MembershipEvent) -> Key[User]:
    """Who it is about; null once that account is deleted."""
    return User.key(user_id=about.user_id)


def membership_history(membership: Membership, viewer: Viewer) -> Step[Range[MembershipEvent] | None]:
    """What happened to it, newest first, earlier memberships of the same person included.

    Null unless it is one's own or one is a moderator.
    """
    if not viewer.is_user(membership.user_id):
        (own,) = yield Items([_own(membership.neighborhood_id, viewer)])
        if not is_at_least(own, MembershipRole.MODERATOR):
            return None
    events = MembershipEvent.of_member(neighborhood_id=membership.neighborhood_id, user_id=membership.user_id)
    return events.newest_first()


def event_actor(event: MembershipEvent) -> Key[User]:
    """Who did it; null once that account is deleted."""
    return User.key(user_id=event.actor_id)


def memberships(user: User) -> Range[Membership]:
    """Where this person is a member, newest first; to oneself also invitations and requests to join."""
    return Membership.of_user(user_id=user.user_id).newest_first()


def joined_neighborhood(membership: Membership) -> Key[Neighborhood] | None:
    return neighborhood_of(membership) if membership.status is MembershipStatus.ACTIVE else None


def sites(user: User) -> Range[Site]:
    """What this person has on the web, newest first; to oneself also drafts and, for 7 days, what was deleted."""
    return Site.within(user_id=user.user_id).newest_first()


def site(*, id: Annotated[Key[Site], Doc("The `id` of a site.")]) -> Key[Site]:
    """The site with this id."""
    return id


def site_by_site_id(*, site_id: Annotated[str, Doc("The `siteId` of a site.")]) -> Range[Site]:
    """The site with this permanent identifier."""
    return Site.by_id(site_id=site_id)


def site_by_subdomain(*, subdomain: Annotated[str, Doc("Its place on the web, in any case.")]) -> Range[Site]:
    """The site with this subdomain."""
    return Site.by_subdomain(subdomain=subdomain.strip().lower())


def subdomain_available(*, subdomain: Annotated[str, Doc("In any case.")]) -> Key[Unique] | None:
    """Whether no site has this subdomain; false where none may."""
    checks = Checks()
    name = checks.subdomain("subdomain", subdomain)
    return None if checks.found else subdomain_guard(name)


def subdomain_guard(subdomain: str) -> Key[Unique]:
    return Unique.key(kind="subdomain", value=subdomain)


def owner(site: Site) -> Key[User]:
    """Whose it is."""
    return User.key(user_id=site.user_id)


def site_neighborhood(site: Site) -> Key[Neighborhood] | None:
    """The neighborhood it was made in, if it was made in one."""
    return Neighborhood.key(neighborhood_id=site.neighborhood_id) if site.neighborhood_id else None


def may_see_inside(site: Site, viewer: Viewer) -> bool:
    """What a site is made of is for its owner, and for those who build it."""
    return viewer.is_user(site.user_id) or viewer.is_builder


def builds(site: Site, viewer: Viewer) -> Range[Build] | None:
    """Its builds of the last 90 days, newest first; null unless the site is yours or you build sites."""
    return Build.within(site_id=site.site_id).newest_first() if may_see_inside(site, viewer) else None


def build(*, id: Annotated[Key[Build], Doc("The `id` of a build.")]) -> Key[Build]:
    """The build with this id: for the site's owner and for builders."""
    return id


def build_by_job_id(*, job_id: Annotated[str, Doc("The `jobId` of a build.")]) -> Range[Build]:
    """The build with this permanent identifier: for the site's owner and for builders."""
    return Build.by_id(job_id=job_id)


def builds_by_status(
    viewer: Viewer, *, status: Annotated[BuildStatus, Doc("How far they have come.")]
) -> Range[Build] | None:
    """All builds that have come so far, the oldest first: where a builder finds its work; null to others."""
    return Build.by_status(status=status) if viewer.is_builder else None


def built_site(build: Build) -> Key[Site]:
    """What is built."""
    return Site.key(user_id=build.user_id, site_id=build.site_id)
