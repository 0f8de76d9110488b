"""Neighborhoods of the demo, and Maya's site for the repair café."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

from datastore.accounts import Unique
from datastore.model.codec import JSON
from datastore.model.entity import Entity
from datastore.model.times import seconds_from_now
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
from resolvers.demo.people import IDS, at, day, identifier

OWNER, ADMIN, MODERATOR, MEMBER = MembershipRole
ACTIVE, INVITED, PENDING, _ = MembershipStatus

CHANGES = {
    ACTIVE: MembershipChange.JOINED,
    INVITED: MembershipChange.INVITED,
    PENDING: MembershipChange.REQUESTED,
}

ALDER_STREET = identifier("NEIGHB0R", 1)
BEE_CIRCLE = identifier("NEIGHB0R", 2)

# Member, join date and role; the first one is the founder.
ALDER_STREET_PEOPLE = (
    ("maya", 27, OWNER, ACTIVE),
    ("teo", 28, ADMIN, ACTIVE),
    ("winnie", 28.5, MODERATOR, ACTIVE),
    ("jonas", 29, MEMBER, ACTIVE),
    ("amira", 31, MEMBER, ACTIVE),
    ("priya", 35, MEMBER, ACTIVE),
)
BEE_CIRCLE_PEOPLE = (
    ("jonas", 30, OWNER, ACTIVE),
    ("priya", 32, MODERATOR, ACTIVE),
    ("maya", 33, MEMBER, ACTIVE),
    ("hana", 47, MEMBER, INVITED),
    ("oskar", 48, MEMBER, PENDING),
)

# Start day and result of each build.
BUILDS = (
    (36, BuildStatus.FAILED, "posts/0: the picture of the clock is 40 MB"),
    (36.1, BuildStatus.COMPLETED, None),
    (46, BuildStatus.COMPLETED, None),
)


def neighborhood() -> list[Entity]:
    return [*_alder_street(), *_bee_circle(), *_site()]


def _alder_street() -> Iterator[Entity]:
    place = Neighborhood(
        neighborhood_id=ALDER_STREET,
        name="Alder Street",
        slug="alder-street",
        description="Between the library and the river. We repair things.",
        creator_id=IDS["maya"],
    )
    yield from _settled(place, ALDER_STREET_PEOPLE)


def _bee_circle() -> Iterator[Entity]:
    place = Neighborhood(
        neighborhood_id=BEE_CIRCLE,
        name="The Bee Circle",
        slug="the-bee-circle",
        description="Nine hives, three of them on a roof we do not talk about.",
        creator_id=IDS["jonas"],
        privacy=NeighborhoodPrivacy.PRIVATE,
        settings=NeighborhoodSettings(allow_site_creation=False),
    )
    yield from _settled(place, BEE_CIRCLE_PEOPLE)


def _settled(
    place: Neighborhood, people: tuple[tuple[str, float, MembershipRole, MembershipStatus], ...]
) -> Iterator[Entity]:
    """Returns a neighborhood with its members, as the commands would store them."""
    members = [role for _, _, role, status in people if status is ACTIVE]
    founded = people[0][1]
    yield at(founded, replace(place, member_count=len(members), owner_count=members.count(OWNER)))
    yield at(founded, Unique(kind="slug", value=place.slug, owner_id=place.neighborhood_id))
    for username, when, role, status in people:
        link: dict[str, Any] = {"neighborhood_id": place.neighborhood_id, "user_id": IDS[username]}
        yield at(when, Membership(**link, role=role, status=status, joined_at=day(when)))
        change = MembershipChange.FOUNDED if when == founded else CHANGES[status]
        actor = place.creator_id if status is INVITED else IDS[username]
        yield at(when, MembershipEvent(**link, actor_id=actor, change=change, role=role))


def _site() -> Iterator[Entity]:
    site = Site(
        user_id=IDS["maya"],
        site_id=identifier("S1TE", 1),
        title="The repair café on Alder Street",
        template="blog",
        status=SiteStatus.PUBLISHED,
        subdomain="repair-cafe",
        config=JSON(
            {
                "author": "Maya Lindqvist",
                "accent_color": "#2f6b3c",
                "posts": [{"title": "Forty-one things repaired", "body": "And one clock that is happier broken."}],
                "custom_fields": {"opens": "10:00", "bring": "what is broken"},
            }
        ),
        version=3,
        built_at=day(46.01),
        public_url="https://repair-cafe.example.org",
        neighborhood_id=ALDER_STREET,
    )
    yield at(35, site)
    yield at(35, Unique(kind="subdomain", value=site.subdomain, owner_id=site.site_id))
    for number, (started, status, error) in enumerate(BUILDS):
        build = Build(
            site_id=site.site_id,
            user_id=site.user_id,
            job_id=identifier("J0B", number),
            status=status,
            started_at=day(started + 0.001),
            completed_at=day(started + 0.01),
            error=error,
            log_url=f"https://example.org/builds/{number + 1}.log",
            builder_id="builder-1",
            expires_at=seconds_from_now(timedelta(days=90)),
        )
        yield at(started, build)
