"""Records against those they need: owners, the other ends of links, routes, parts of counters."""

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from functools import cache, partial
from typing import Any

from datastore.accounts import User
from datastore.client.writes import Check, Condition, Write, absent, exists, same
from datastore.model.entity import REGISTRY, Entity
from datastore.model.keys import Key
from datastore.model.ownership import OfUser, PartOf
from resolvers.maintenance.checks import Notes, Rows, Scanned, joined, split
from resolvers.maintenance.counter_checks import uncounted
from resolvers.maintenance.findings import Found, Kind, Suspect
from resolvers.maintenance.looking import Look, ids_of
from resolvers.maintenance.rules import NEEDS, OUTLIVES, Need


@cache
def all_needs() -> list[Need]:
    """Returns the declared needs, and those of owners."""
    return [*NEEDS, *(need for name in sorted(REGISTRY) for need in _of_owners(REGISTRY[name]))]


def _of_owners(entity: type[Entity]) -> Iterable[Need]:
    if entity in OUTLIVES:
        return
    for account in entity.accounts:
        if entity is not User:
            yield Need(entity, partial(_account, account), None, True)
    if isinstance(entity.owner, PartOf):
        yield Need(entity, partial(_whole, entity.owner.whole), None, True)


def _account(account: OfUser, record: Any) -> Key[User] | None:
    user_id = getattr(record, account.field)
    return User.key(user_id=user_id) if user_id is not None else None


def _whole(whole: type[Entity], record: Any) -> Key[Any]:
    return whole.key(**{hole: getattr(record, hole) for hole in whole.key_holes})


def keys_of(need: Need, record: Any) -> list[Key[Any]]:
    keys = need.keys(record)
    if keys is None:
        return []
    return [keys] if isinstance(keys, Key) else [*keys]


class ReferenceChecks:
    """The notes are all keys, and all references to keys."""

    kinds: Sequence[Kind] = (Kind.ORPHAN, Kind.MISSING)
    # The scan itself notes the keys, of damaged items too.
    tables: Sequence[str] = ("keys (key TEXT)", "refs (rule INTEGER, target TEXT, source TEXT)")
    indexes: Sequence[str] = ("keys_by_key ON keys (key)",)

    def notes(self) -> Notes:
        notes: dict[type[Entity], list[Callable[[Any, Rows], None]]] = defaultdict(list)
        for number, need in enumerate(all_needs()):
            notes[need.entity].append(_note(number, need))
        return notes

    async def suspects(self, scanned: Scanned) -> AsyncIterator[Suspect]:
        query = """
            SELECT DISTINCT rule, source FROM refs
            WHERE NOT EXISTS (SELECT 1 FROM keys WHERE keys.key = refs.target)"""
        for number, source in scanned.work.rows(query):
            need = all_needs()[number]
            kind = Kind.MISSING if need.mend or not need.is_mendable else Kind.ORPHAN
            yield Suspect(kind, str(number), *split(source))

    async def look(self, look: Look, suspect: Suspect) -> Found | None:
        need = all_needs()[int(suspect.rule)]
        (record,) = await look.fresh(Key(need.entity, suspect.pk, suspect.sk))
        if record is None:
            return None
        keys = keys_of(need, record)
        missing = [key for key, found in zip(keys, await look.fresh(*keys), strict=True) if found is None]
        if not missing:
            return None
        ids = ids_of(record)
        named = ", ".join(f"{key.entity.__name__} {key.pk} / {key.sk}" for key in missing[:3])
        what = f"{need.entity.__name__} without {named}"
        if not need.is_mendable:
            return Found(what, None, "create it again, or restore it from a backup", ids)
        if need.mend:
            return Found(what, [write for key in missing for write in need.mend(record, key)], ids=ids)
        removal = await look.set_aside(record.own_key, what, _as_read(record))
        return Found(what, [*removal, Check(missing[0], when=absent()), *uncounted(record, {*missing})], ids=ids)


def _note(number: int, need: Need) -> Callable[[Any, Rows], None]:
    def note(record: Any, rows: Rows) -> None:
        source = joined(record.own_key)
        rows["refs"].extend((number, joined(key), source) for key in keys_of(need, record))

    return note


def _as_read(record: Entity) -> Condition:
    """Requires that nothing has changed that decides on the counts of a record."""
    when = exists() & same("updated_at", record.updated_at)
    for account in record.accounts:
        if account.mark:
            when = when & same(account.mark, getattr(record, account.mark))
    return when


def unique_writes(writes: Iterable[Write]) -> list[Write]:
    """Leaves out checks of items that another write of the transaction changes: DynamoDB takes one per item."""
    kept = [*writes]
    changed = {write.key for write in kept if not isinstance(write, Check)}
    checks: dict[Key[Any], Write] = {}
    for write in kept:
        if isinstance(write, Check) and write.key not in changed:
            checks.setdefault(write.key, write)
    return [*(write for write in kept if not isinstance(write, Check)), *checks.values()]
