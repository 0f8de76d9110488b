"""Neighborhoods, sites and builds in the mixed data: private, closed and damaged ones."""

from random import Random
from typing import TYPE_CHECKING, Any

from datastore.accounts import Unique, User
from datastore.neighborhoods import (
    Build,
    BuildStatus,
    Membership,
    MembershipChange,
    MembershipEvent,
    MembershipRole,
    MembershipStatus,
    Neighborhood,
    NeighborhoodPrivacy,
    NeighborhoodSettings,
    Site,
    SiteStatus,
)
from tests.support.social import minute

if TYPE_CHECKING:
    from tests.support.mixed.society import MixedSociety

LATER = 4_000_000_000
SLUGS = ["place-0", " PLACE-1 ", "Place 2!", "new-place"]
NO_SLUGS = ["!!!", "", "a#b", "x" * 70]
SUBDOMAINS = ["site-0", " Site-1 ", "site-2", "brand-new"]
NO_SUBDOMAINS = ["www", "x", "", "a b", "-ab-", "x" * 70]
CONFIGS: list[Any] = [
    {},
    {"author": "Ada", "posts": [1, 2.5, None, True]},
    [],
    "text",
    {"deep": [[[[{}]]]]},
    {"n": 2**70},
]


def add_town(made: "MixedSociety", people: list[User], random: Random) -> None:
    for number in range(6):
        _neighborhood(made, people[number % 4], number, random.sample(people, 7), random)
    for number in range(6):
        _site(made, people[number % 5], number)
    places, sites = made.of(Neighborhood), made.of(Site)
    made.damaged(places[5], settings={"S": "many"})
    made.damaged(sites[5], subdomain=None)
    made.damaged(made.of(Membership)[3], role={"S": "king"})
    made.damaged(made.of(Build)[2], status={"S": "unheard"})


def _neighborhood(made: "MixedSociety", founder: User, number: int, people: list[User], random: Random) -> None:
    place: Neighborhood = made.add(
        Neighborhood,
        neighborhood_id=f"place{number}",
        name=f"Place {number}",
        slug=f"place-{number}",
        description="Quiet." if number % 2 else None,
        creator_id=founder.user_id,
        privacy=NeighborhoodPrivacy.PRIVATE if number % 2 else NeighborhoodPrivacy.PUBLIC,
        settings=NeighborhoodSettings(allow_site_creation=number != 2, require_email_verification=number == 4),
        deleted_at=minute(99) if number == 3 else None,
    )
    made.add(Unique, kind="slug", value=place.slug, owner_id=place.neighborhood_id)
    others = [person for person in people if person is not founder]
    for person in (founder, *others):
        is_founder = person is founder
        role = MembershipRole.OWNER if is_founder else random.choice([*MembershipRole, MembershipRole.MEMBER])
        status = MembershipStatus.ACTIVE if is_founder else random.choice([*MembershipStatus, MembershipStatus.ACTIVE])
        link = {"neighborhood_id": place.neighborhood_id, "user_id": person.user_id}
        membership: Membership = made.add(
            Membership, **link, role=role, status=status, joined_at=minute(len(made.records))
        )
        change = random.choice(list(MembershipChange))
        made.add(MembershipEvent, **link, actor_id=founder.user_id, change=change, role=role)
        is_active = membership.status is MembershipStatus.ACTIVE
        place.member_count += is_active  # type: ignore[misc]
        place.owner_count += is_active and role is MembershipRole.OWNER  # type: ignore[misc]


def _site(made: "MixedSociety", owner: User, number: int) -> None:
    fields: dict[str, Any] = {
        0: {"status": SiteStatus.PUBLISHED, "public_url": "https://site-0.example.org", "built_at": minute(50)},
        1: {"deleted_at": minute(99), "expires_at": LATER},
        2: {"config": {"text": "x" * 2_000}, "built_at": minute(51)},
        3: {"deleted_at": minute(99), "expires_at": 1},
    }.get(number, {})
    site: Site = made.add(
        Site,
        **{
            "user_id": owner.user_id,
            "site_id": f"site{number}",
            "title": f"Site {number}",
            "template": "blog",
            "subdomain": f"site-{number}",
            "config": {"number": number},
            "neighborhood_id": f"place{number}" if number % 2 == 0 else None,
            **fields,
        },
    )
    made.add(Unique, kind="subdomain", value=site.subdomain, owner_id=site.site_id)
    for status in list(BuildStatus)[: number + 1]:
        build = made.add(
            Build,
            site_id=site.site_id,
            user_id=site.user_id,
            job_id=f"job{len(made.of(Build))}",
            status=status,
            expires_at=1 if number == 4 else LATER,
        )
        if status is BuildStatus.QUEUED:
            site.queued_build = build.created_at  # type: ignore[misc]
        elif status is BuildStatus.RUNNING:
            site.running_build = build.created_at  # type: ignore[misc]
