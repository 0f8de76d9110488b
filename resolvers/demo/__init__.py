"""Demo data for local development: a community around Maya's repair café."""

from datastore.accounts import User
from datastore.client.table import Table
from datastore.model.entity import Entity
from resolvers.accounts.passwords import Passwords
from resolvers.demo.analytics import analytics
from resolvers.demo.cards import cards
from resolvers.demo.cms import STAFF, cms
from resolvers.demo.genealogy import genealogy
from resolvers.demo.neighborhoods import neighborhood
from resolvers.demo.people import IDS, people
from resolvers.demo.social import counts, social

__all__ = ["MAYA", "PASSWORD", "STAFF", "accounts_with_known_password", "everything", "load"]

PASSWORD = "heartwood demo"  # noqa: S105  of fictional people, on this machine only
MAYA = IDS["maya"]


async def load(table: Table, passwords: Passwords) -> bool:
    """Loads the demo into an empty table. Returns False if there are users already."""
    if (await table.query(User.by_time(), limit=1)).records:
        return False
    demo = everything(await passwords.hash(PASSWORD))
    # The accounts come last: if this fails halfway, the next start finds none of them, and loads everything again.
    await table.batch_write(puts=[record for record in demo if not isinstance(record, User)])
    await table.batch_write(puts=[record for record in demo if isinstance(record, User)])
    return True


async def accounts_with_known_password(table: Table, passwords: Passwords) -> list[str]:
    """Returns the usernames of demo accounts that still have the password from the documentation."""
    found = await table.get_many([User.key(user_id=user_id) for user_id in IDS.values()], consistent=True)
    users = [user for user in found.values() if isinstance(user, User)]
    # All accounts have the same hash until one of them changes its password.
    hashes = {user.password_hash: await passwords.matches(PASSWORD, user.password_hash) for user in users}
    return [user.username for user in users if hashes[user.password_hash]]


def everything(password_hash: str) -> list[Entity]:
    posted = social()
    shown = [*people(password_hash, counts(posted)), *posted, *neighborhood(), *cms(), *cards(), *genealogy()]
    return [*shown, *analytics(shown)]
