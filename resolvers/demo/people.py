"""Users and timeline of the demo."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from datastore.accounts import Image, ProfileImages, Unique, User
from datastore.model.entity import Entity
from datastore.model.times import Time, as_time

PEOPLE = {
    "maya": ("Maya Lindqvist", "Runs the repair café on Alder Street. Ask me about hinges."),
    "jonas": ("Jonas Okafor", "Beekeeper, baker, early riser."),
    "amira": ("Amira Haddad", "Maps the old trees of this town."),
    "teo": ("Teo Marchetti", "Carpenter. Measures twice."),
    "winnie": ("Winnie Clarke", "Eighty-one and learning to code."),
    "hana": ("Hana Kim", None),
    "oskar": ("Oskar Wójcik", "Photographs doors."),
    "priya": ("Priya Raman", "Grows tomatoes where no tomato grew before."),
}

BEGINNING = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


def day(number: float) -> Time:
    """Returns a time relative to the start of the timeline."""
    return as_time(BEGINNING + timedelta(days=number))


def identifier(kind: str, number: int) -> str:
    """Returns a deterministic ID, the same in every demo."""
    return f"01HEARTW00D{kind:0<12}{number:03d}"


IDS = {username: identifier("PERS0N", number) for number, username in enumerate(PEOPLE)}


def at(when: float, record: Entity) -> Entity:
    return replace(record, created_at=day(when), updated_at=day(when))


def people(password_hash: str, counts: Counter[tuple[str, str]]) -> Iterator[Entity]:
    for place, (username, (name, bio)) in enumerate(PEOPLE.items()):
        joined, user_id = day(place * 3.25), IDS[username]
        avatar = Image(url=f"https://example.org/people/{username}.jpg", size="large")
        user = User(
            user_id=user_id,
            username=username,
            email=f"{username}@example.org",
            password_hash=password_hash,
            display_name=name,
            email_verified_at=joined,
            bio=bio,
            profile_images=ProfileImages(avatar=avatar),
            follower_count=counts["followed", user_id],
            following_count=counts["follows", user_id],
            post_count=counts["posted", user_id],
            created_at=joined,
            updated_at=joined,
        )
        yield user
        for kind in ("username", "email"):
            yield Unique(kind=kind, value=getattr(user, kind), owner_id=user_id, created_at=joined, updated_at=joined)
