"""Test data for neighborhoods: memberships, sites and builds, with exact counts."""

from typing import Any

from datastore.accounts import Unique, User
from datastore.model.entity import Entity
from datastore.neighborhoods import (
    Build,
    Membership,
    MembershipChange,
    MembershipEvent,
    MembershipRole,
    MembershipStatus,
    Neighborhood,
    NeighborhoodPrivacy,
    NeighborhoodSettings,
    Site,
)
from tests.support.graph import Graph
from tests.support.social import minute

BUILD_EXPIRES = 4_000_000_000


class Town:
    """Writes records directly to the table, as the commands would store them."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.made = 0

    def _times(self) -> dict[str, Any]:
        self.made += 1
        moment = minute(self.made)
        return {"created_at": moment, "updated_at": moment}

    async def person(self, name: str, **fields: Any) -> User:
        return await self.graph.add_user(name, **{**self._times(), **fields})

    async def neighborhood(self, founder: User, *, private: bool = False, **fields: Any) -> Neighborhood:
        times = self._times()
        slug = fields.get("slug", f"place-{self.made}")
        given = {
            "neighborhood_id": f"nbhd{self.made:05d}",
            "name": f"Place {self.made}",
            "slug": slug,
            "creator_id": founder.user_id,
            "privacy": NeighborhoodPrivacy.PRIVATE if private else NeighborhoodPrivacy.PUBLIC,
            "settings": NeighborhoodSettings(),
        }
        neighborhood = Neighborhood(**{**given, **times, **fields})
        guard = Unique(kind="slug", value=slug, owner_id=neighborhood.neighborhood_id)
        await self._put(neighborhood, guard)
        await self.member(founder, neighborhood, MembershipRole.OWNER, change=MembershipChange.FOUNDED)
        return neighborhood

    async def member(
        self,
        person: User,
        neighborhood: Neighborhood,
        role: MembershipRole = MembershipRole.MEMBER,
        status: MembershipStatus = MembershipStatus.ACTIVE,
        change: MembershipChange = MembershipChange.JOINED,
    ) -> Membership:
        """Adds a membership with its event, and updates the neighborhood's counts in the record and in the table."""
        times = self._times()
        link = {"neighborhood_id": neighborhood.neighborhood_id, "user_id": person.user_id}
        membership = Membership(**link, role=role, status=status, joined_at=times["created_at"], **times)
        event = MembershipEvent(**link, actor_id=person.user_id, change=change, role=role, **times)
        neighborhood.member_count += status is MembershipStatus.ACTIVE
        neighborhood.owner_count += status is MembershipStatus.ACTIVE and role is MembershipRole.OWNER
        await self._put(membership, event, neighborhood)
        return membership

    async def site(self, owner: User, **fields: Any) -> Site:
        times = self._times()
        given = {
            "user_id": owner.user_id,
            "site_id": f"site{self.made:05d}",
            "title": f"Site {self.made}",
            "template": "blog",
            "subdomain": f"site-{self.made}",
            "config": {"author": owner.username},
        }
        site = Site(**{**given, **times, **fields})
        await self._put(site, Unique(kind="subdomain", value=site.subdomain, owner_id=site.site_id))
        return site

    async def build(self, site: Site, **fields: Any) -> Build:
        times = self._times()
        given = {
            "site_id": site.site_id,
            "user_id": site.user_id,
            "job_id": f"job{self.made:05d}",
            "expires_at": BUILD_EXPIRES,
        }
        build = Build(**{**given, **times, **fields})
        await self._put(build)
        return build

    async def people_in(self, neighborhood: Neighborhood) -> dict[str, User]:
        """Adds a user for each role and status, and returns them by name."""
        people = {name: await self.person(name) for name in ("stranger", "invited", "pending", "former")}
        await self.member(people["invited"], neighborhood, status=MembershipStatus.INVITED)
        await self.member(people["pending"], neighborhood, status=MembershipStatus.PENDING)
        for role in (MembershipRole.MEMBER, MembershipRole.MODERATOR, MembershipRole.ADMIN):
            people[role.value] = await self.person(role.value)
            await self.member(people[role.value], neighborhood, role)
        return people

    async def _put(self, *records: Entity) -> None:
        await self.graph.table.batch_write(puts=records)


async def counts(graph: Graph, neighborhood: Neighborhood) -> dict[str, Any]:
    """Returns the stored member and owner counts, and the actual ones."""
    stored = await graph.table.get(neighborhood.own_key, consistent=True)
    page = await graph.table.query(
        Membership.within(neighborhood_id=neighborhood.neighborhood_id), limit=1_000, consistent=True
    )
    members = [record for record in page.records if record.status is MembershipStatus.ACTIVE]
    owners = [record for record in members if record.role is MembershipRole.OWNER]
    return {"says": (stored.member_count, stored.owner_count), "found": (len(members), len(owners))}
