"""What neighbourhoods and sites clear away in the background. The history of memberships is kept for ever."""

from typing import Any

from datastore.keys import Key
from datastore.neighbourhood import (
    Build,
    Membership,
    MembershipChange,
    MembershipRole,
    MembershipStatus,
    Neighborhood,
    Site,
)
from datastore.times import now
from datastore.writes import Delete, Update, Write, equals, exists
from loaders.loaders import Loaders
from resolvers.jobs import BATCH, attempt, delete_all, for_each, job, queued
from resolvers.neighbourhood import members_with, neighborhood_of, person, slug_guard, subdomain_guard
from resolvers.neighbourhood_members import is_last_owner, move
from resolvers.uniques import release
from resolvers.users_commands import is_open, when_account_is


def closing(neighborhood: Neighborhood) -> list[Write]:
    """What closes a neighbourhood for good: nobody sees it from then on, and its slug is free."""
    gone = neighborhood.changed(deleted_at=now())
    return [
        Update.of(neighborhood, gone, when=is_open() & equals("slug", neighborhood.slug)),
        release(slug_guard(neighborhood.slug), neighborhood.neighborhood_id),
        queued(purge_neighborhood, neighborhood_id=neighborhood.neighborhood_id),
    ]


@job
async def purge_neighborhood(load: Loaders, *, neighborhood_id: str) -> None:
    """What is left of a closed neighbourhood, but for its history."""
    await delete_all(load, Membership.within(neighborhood_id=neighborhood_id))
    await load.table.batch_write(deletes=[Neighborhood.key(neighborhood_id=neighborhood_id)])


@when_account_is("purged")
@job
async def purge_memberships(load: Loaders, *, user_id: str) -> None:
    """Somebody whose account is past its grace leaves all neighbourhoods, so that their counts are right."""
    async for memberships in load.pages(Membership.within("gsi3", user_id=user_id), BATCH):
        await for_each(memberships, _leave, load)


async def _leave(found: Membership, load: Loaders) -> None:
    """By the membership as it is now, not as an index has it. The last owner is succeeded by somebody first."""
    keys: list[Key[Any]] = [found.own_key, neighborhood_of(found)]
    membership, neighborhood = await load.fresh(*keys)
    if membership is None:
        return
    if neighborhood is None:
        await attempt(load.write(Delete(membership.own_key, when=exists())))
        return
    if is_last_owner(neighborhood, membership):
        successor = await _successor(load, neighborhood, membership)
        if successor is None:
            await load.write(*closing(neighborhood))
            return
        owner = successor.changed(role=MembershipRole.OWNER)
        await move(load, membership.user_id, successor, owner, MembershipChange.ROLE_CHANGED)
    await move(load, membership.user_id, membership, None, MembershipChange.LEFT)


async def _successor(load: Loaders, neighborhood: Neighborhood, owner: Membership) -> Membership | None:
    """The member with the highest role who has been there longest; None where nobody is left."""
    async for members in load.pages(members_with(neighborhood, MembershipStatus.ACTIVE), BATCH):
        others = [member for member in members if member.user_id != owner.user_id]
        accounts = await load.fresh(*map(person, others))
        for member, account in zip(others, accounts, strict=True):
            if account is not None and account.deleted_at is None:
                return member
    return None


@when_account_is("purged")
@job
async def purge_sites(load: Loaders, *, user_id: str) -> None:
    """The sites of somebody whose account is past its grace, with their builds; their subdomains are free then."""
    async for sites in load.pages(Site.within(user_id=user_id), BATCH):
        await for_each(sites, _purge_site, load)


async def _purge_site(site: Site, load: Loaders) -> None:
    await delete_all(load, Build.within(site_id=site.site_id))
    await attempt(load.write(release(subdomain_guard(site.subdomain), site.site_id)))
    await attempt(load.write(Delete(site.own_key, when=exists())))
