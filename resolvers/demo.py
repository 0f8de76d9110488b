"""A small, lively place to look around in: who is in it and how it is loaded.

Follow Maya: she founded the neighbourhood's repair café, and everybody here met her there.
"""

from datetime import UTC, datetime, timedelta

from datastore.entity import Entity
from datastore.table import Table
from datastore.times import Time, as_time
from datastore.users import Image, ProfileImages, Unique, User
from resolvers.passwords import Passwords

MAYA = "01HEARTW00DMAYA0000000000A"
PASSWORD = "heartwood demo"  # noqa: S105  of people who do not exist, on this machine only

PEOPLE = (
    (MAYA, "maya", "Maya Lindqvist", "Runs the repair café on Alder Street. Ask me about hinges."),
    ("01HEARTW00DJ0NAS000000000B", "jonas", "Jonas Okafor", "Beekeeper, baker, early riser."),
    ("01HEARTW00DAM1RA000000000C", "amira", "Amira Haddad", "Maps the old trees of this town."),
    ("01HEARTW00DTE0000000000000", "teo", "Teo Marchetti", "Carpenter. Measures twice."),
    ("01HEARTW00DW1NN1E00000000E", "winnie", "Winnie Clarke", "Eighty-one and learning to code."),
    ("01HEARTW00DHANA0000000000F", "hana", "Hana Kim", None),
    ("01HEARTW00D0SKAR000000000G", "oskar", "Oskar Wójcik", "Photographs doors."),
    ("01HEARTW00DPR1YA000000000H", "priya", "Priya Raman", "Grows tomatoes where no tomato grew before."),
)

BEGINNING = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


def day(number: float) -> Time:
    """A moment of the story, counted from its beginning."""
    return as_time(BEGINNING + timedelta(days=number))


async def load(table: Table, passwords: Passwords) -> bool:
    """Fill an empty table; False if there is anybody in it already."""
    if (await table.query(User.within("gsi4"), limit=1)).records:
        return False
    await table.batch_write(puts=people(await passwords.hash(PASSWORD)))
    return True


def people(password_hash: str) -> list[Entity]:
    records: list[Entity] = []
    for place, (user_id, username, name, bio) in enumerate(PEOPLE):
        joined = day(place * 3.25)
        user = User(
            user_id=user_id,
            username=username,
            email=f"{username}@example.org",
            password_hash=password_hash,
            display_name=name,
            bio=bio,
            profile_images=ProfileImages(avatar=Image(url=f"https://example.org/people/{username}.jpg", size="large")),
            created_at=joined,
            updated_at=joined,
        )
        guards = [
            Unique(kind=kind, value=getattr(user, kind), owner_id=user_id, created_at=joined, updated_at=joined)
            for kind in ("username", "email")
        ]
        records += [user, *guards]
    return records
