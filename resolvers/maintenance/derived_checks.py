"""Derived items against their sources: the processor that keeps them is asked what it would write."""

from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any

from datastore.changes.change import Change, What
from datastore.client.writes import Write
from datastore.model.entity import Entity
from datastore.model.keys import Key
from datastore.model.times import now
from resolvers.background.tools import asked_for
from resolvers.maintenance.checks import Notes, Rows, Scanned, joined, split
from resolvers.maintenance.findings import Found, Kind, Suspect
from resolvers.maintenance.looking import Look, ids_of
from resolvers.maintenance.rules import DERIVED

AT_ONCE = 90


class DerivedChecks:
    """The notes are the keys of all sources."""

    kinds: Sequence[Kind] = (Kind.DERIVED,)
    tables: Sequence[str] = ("sources (entity TEXT, key TEXT)",)
    indexes: Sequence[str] = ()

    def notes(self) -> Notes:
        return {entity: [_note] for entity in DERIVED}

    async def suspects(self, scanned: Scanned) -> AsyncIterator[Suspect]:
        for entity in DERIVED:
            done = f"derived of {entity.__name__}"
            query = "SELECT rowid, key FROM sources WHERE entity = ? AND rowid > ? ORDER BY rowid LIMIT ?"
            while rows := [*scanned.work.rows(query, entity.__name__, scanned.work.get(done) or 0, AT_ONCE)]:
                some: list[Key[Any]] = [Key(entity, *split(key)) for _, key in rows]
                if await _writes(scanned.look(), entity, some):
                    for key in some:
                        if await _writes(scanned.look(), entity, [key]):
                            yield Suspect(Kind.DERIVED, entity.__name__, key.pk, key.sk)
                scanned.work.set(done, rows[-1][0])
                scanned.work.commit()

    async def look(self, look: Look, suspect: Suspect) -> Found | None:
        entity = next(each for each in DERIVED if each.__name__ == suspect.rule)
        key: Key[Any] = Key(entity, suspect.pk, suspect.sk)
        (source,) = await look.fresh(key)
        writes = await _writes(look, entity, [key]) if source is not None else []
        if not writes:
            return None
        names = ", ".join(sorted({write.key.entity.__name__ for write in writes}))
        return Found(f"{names} differs from its {suspect.rule}", writes, ids=ids_of(source))


async def _writes(look: Look, entity: type[Entity], keys: Iterable[Key[Any]]) -> list[Write]:
    """Returns what the processor would write now."""
    processor = DERIVED[entity]
    changes = [Change(key, What.CHANGED, now()) for key in keys]
    return [*(await processor(look.load, changes, **asked_for(processor, look.tools)) or ())]


def _note(record: Any, rows: Rows) -> None:
    rows["sources"].append((type(record).__name__, joined(record.own_key)))
