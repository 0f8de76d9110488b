"""Works against the accounts of their owners: works of a deleted account are marked as hidden, others are not."""

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from datastore.accounts import User
from datastore.model.entity import REGISTRY, Entity
from datastore.model.keys import Key
from datastore.model.ownership import OfUser
from resolvers.accounts.lifecycle import match_works_to_account
from resolvers.background.jobs import queued
from resolvers.maintenance.checks import Notes, Rows, Scanned, joined, split
from resolvers.maintenance.findings import Found, Kind, Suspect
from resolvers.maintenance.looking import Look, ids_of
from resolvers.maintenance.rules import is_undeleted


def marked() -> list[tuple[type[Entity], OfUser]]:
    """Returns the entities whose records are marked when an account is deleted, with that account."""
    return [(entity, account) for entity in REGISTRY.values() for account in entity.accounts if account.mark]


class MarkChecks:
    """The notes are the deleted accounts, and whether each work is marked."""

    kinds: Sequence[Kind] = (Kind.MARK,)
    tables: Sequence[str] = (
        "deleted (account TEXT)",
        "marks (field TEXT, account TEXT, work TEXT, entity TEXT, is_marked INTEGER)",
    )
    indexes: Sequence[str] = ("deleted_by_account ON deleted (account)",)

    def notes(self) -> Notes:
        notes: dict[type[Entity], list[Callable[[Any, Rows], None]]] = defaultdict(list)
        notes[User].append(_account_note)
        for entity, account in marked():
            notes[entity].append(_work_note(account))
        return notes

    async def suspects(self, scanned: Scanned) -> AsyncIterator[Suspect]:
        query = """
            SELECT entity, field, work FROM marks
            WHERE is_marked != (SELECT COUNT(*) FROM deleted WHERE deleted.account = marks.account)"""
        for entity, field, key in scanned.work.rows(query):
            yield Suspect(Kind.MARK, f"{entity}.{field}", *split(key))

    async def look(self, look: Look, suspect: Suspect) -> Found | None:
        name, _, field = suspect.rule.partition(".")
        entity = REGISTRY[name]
        account = next(each for each in entity.accounts if each.field == field)
        (record,) = await look.fresh(Key(entity, suspect.pk, suspect.sk))
        if record is None or not is_undeleted(record):
            return None
        user_id = getattr(record, field)
        (user,) = await look.fresh(User.key(user_id=user_id))
        is_marked = getattr(record, account.mark or "") is not None
        if user is None or is_marked is (user.deleted_at is not None):
            return None
        state = "hidden, but the account is open" if is_marked else "shown, but the account is deleted"
        matched = queued(match_works_to_account, user_id=user_id)
        return Found(f"{name} of {user_id} is {state}", [matched], ids=ids_of(record))


def _account_note(user: User, rows: Rows) -> None:
    if user.deleted_at is not None:
        rows["deleted"].append((joined(user.own_key),))


def _work_note(account: OfUser) -> Callable[[Any, Rows], None]:
    def note(record: Any, rows: Rows) -> None:
        user_id = getattr(record, account.field)
        if user_id is not None and is_undeleted(record):
            is_marked = getattr(record, account.mark or "") is not None
            owner = joined(User.key(user_id=user_id))
            rows["marks"].append((account.field, owner, joined(record.own_key), type(record).__name__, int(is_marked)))

    return note
