"""Background jobs of neighborhoods and sites, and their rules for a deleted account. Membership events are kept."""

from typing import Any

from datastore.client.writes import Condition, Delete, Update, Write, equals, exists
from datastore.model.keys import Key
from datastore.model.times import now
from datastore.neighborhoods import (
    Build,
    Membership,
    MembershipChange,
    MembershipRole,
    MembershipStatus,
    Neighborhood,
    NeighborhoodRank,
    Site,
)
from loaders.pages import WHOLE_PAGE
from loaders.request import Loaders
from resolvers.accounts.visibility_sync import Works, works
from resolvers.background.jobs import attempt, delete_all, job, queued
from resolvers.core.unique_values import release
from resolvers.neighborhoods.edges import neighborhood_of, person, slug_guard, subdomain_guard
from resolvers.neighborhoods.membership_writes import event_of, is_last_owner, move, rules_as_they_were
from resolvers.neighborhoods.roles import RANKS


def closing(neighborhood: Neighborhood, by: Membership, when: Condition) -> list[Write]:
    """Returns the writes that close a neighborhood permanently: it is invisible, and its slug is free."""
    gone = neighborhood.changed(deleted_at=now())
    return [
        Update.of(neighborhood, gone, when=when),
        release(slug_guard(neighborhood.slug), neighborhood.neighborhood_id),
        event_of(by, MembershipChange.CLOSED, by.user_id),
        queued(purge_neighborhood, neighborhood_id=neighborhood.neighborhood_id),
    ]


@job
async def purge_neighborhood(load: Loaders, *, neighborhood_id: str) -> None:
    """Purges a closed neighborhood, except for its history."""
    await delete_all(load, Membership.within(neighborhood_id=neighborhood_id))
    await load.table.batch_write(deletes=[NeighborhoodRank.key(neighborhood_id=neighborhood_id)])
    await load.table.batch_write(deletes=[Neighborhood.key(neighborhood_id=neighborhood_id)])


async def _match_membership(load: Loaders, found: Membership) -> None:
    """Sets a member whose account is deleted to away, not counted and not listed, and back when it is restored."""
    keys: list[Key[Any]] = [found.own_key, neighborhood_of(found), person(found)]
    membership, neighborhood, account = await load.fresh(*keys)
    if membership is None or account is None or neighborhood is None or neighborhood.deleted_at is not None:
        return
    is_gone = account.deleted_at is not None
    if is_gone and membership.status is MembershipStatus.ACTIVE:
        # A last owner without a successor stays the owner until the account is purged.
        if not is_last_owner(neighborhood, membership) or await _succeeded(load, neighborhood, membership):
            away = membership.changed(status=MembershipStatus.AWAY)
            await move(load, account.user_id, neighborhood, membership, away, MembershipChange.AWAY)
    elif not is_gone and membership.status is MembershipStatus.AWAY:
        back = membership.changed(status=MembershipStatus.ACTIVE)
        await move(load, account.user_id, neighborhood, membership, back, MembershipChange.RETURNED)


async def _leave(load: Loaders, found: Membership) -> None:
    """Removes the member of a purged account. A neighborhood without members is closed."""
    keys: list[Key[Any]] = [found.own_key, neighborhood_of(found)]
    membership, neighborhood = await load.fresh(*keys)
    if membership is None:
        return
    if neighborhood is None or neighborhood.deleted_at is not None:
        await attempt(load.write(Delete(membership.own_key, when=exists())))
        return
    if is_last_owner(neighborhood, membership) and not await _succeeded(load, neighborhood, membership, even_away=True):
        nobody_came = rules_as_they_were(neighborhood) & equals("member_count", neighborhood.member_count)
        await load.write(*closing(neighborhood, membership, nobody_came))
        return
    await move(load, membership.user_id, neighborhood, membership, None, MembershipChange.LEFT)


async def _succeeded(load: Loaders, neighborhood: Neighborhood, owner: Membership, *, even_away: bool = False) -> bool:
    """Promotes the senior member with the highest role to owner. Returns False if there is none."""
    heir = await _heir(load, neighborhood, owner, even_away=even_away)
    if heir is None:
        return False
    raised = heir.changed(role=MembershipRole.OWNER, status=MembershipStatus.ACTIVE)
    await move(load, owner.user_id, neighborhood, heir, raised, MembershipChange.ROLE_CHANGED)
    return True


async def _heir(load: Loaders, neighborhood: Neighborhood, owner: Membership, *, even_away: bool) -> Membership | None:
    """Reads the table itself, since an index may not show recent members yet."""
    found: list[Membership] = []
    async for page in load.pages(Membership.within(neighborhood_id=neighborhood.neighborhood_id), WHOLE_PAGE):
        found += [membership for membership in page if membership.user_id != owner.user_id]
    present = [membership for membership in found if membership.status is MembershipStatus.ACTIVE]
    for member in sorted(present, key=_seniority):
        (account,) = await load.fresh(person(member))
        if account is not None and account.deleted_at is None:
            return member
    away = [membership for membership in found if membership.status is MembershipStatus.AWAY]
    return min(away, key=_seniority, default=None) if even_away else None


def _seniority(membership: Membership) -> tuple[int, str]:
    return -RANKS[membership.role], membership.joined_at


async def _empty_site(load: Loaders, site: Site) -> None:
    """Purges the builds of a site, and frees its subdomain."""
    await delete_all(load, Build.within(site_id=site.site_id))
    await attempt(load.write(release(subdomain_guard(site.subdomain), site.site_id)))


works(Membership, Works(match=_match_membership, leave=_leave))
works(Site, Works(empty=_empty_site))
