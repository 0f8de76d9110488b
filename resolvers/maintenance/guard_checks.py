"""Unique values against their guards: each value has a guard with its owner, and each guard an owner with the value."""

import time
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from datastore.accounts import Unique
from datastore.client.writes import Check, Delete, Put, Update, absent, below, equals, exists, same
from datastore.maintenance.work_file import SEPARATOR
from datastore.model.entity import Entity
from datastore.model.keys import Key
from resolvers.maintenance.checks import Notes, Rows, Scanned, joined, split
from resolvers.maintenance.findings import Found, Kind, Suspect
from resolvers.maintenance.looking import Look
from resolvers.maintenance.rules import GUARDS, Guard

OF_GUARD, OF_OWNER = "guard", "owner"


class GuardChecks:
    """The notes are the same for both sides: the value, its owner, and the time at which they expire."""

    kinds: Sequence[Kind] = (Kind.GUARD,)
    tables: Sequence[str] = ("guards (side TEXT, value TEXT, key TEXT)",)
    indexes: Sequence[str] = ("guards_by_value ON guards (value, side)",)

    def notes(self) -> Notes:
        notes: dict[type[Entity], list[Callable[[Any, Rows], None]]] = {Unique: [_guard_note]}
        for rule in GUARDS.values():
            notes.setdefault(rule.entity, []).append(_owner_note(rule))
        return notes

    async def suspects(self, scanned: Scanned) -> AsyncIterator[Suspect]:
        query = """
            SELECT side, value, key FROM guards AS one WHERE NOT EXISTS
            (SELECT 1 FROM guards AS other WHERE other.value = one.value AND other.side != one.side)"""
        for side, value, key in scanned.work.rows(query):
            kind, text, *_ = value.split(SEPARATOR)
            yield Suspect(Kind.GUARD, SEPARATOR.join((side, kind, text)), *split(key))

    async def look(self, look: Look, suspect: Suspect) -> Found | None:
        side, kind, value = suspect.rule.split(SEPARATOR)
        rule = GUARDS.get(kind)
        if rule is None:
            return Found(f"the guard is of the unknown kind {kind}", None, "a newer server may know it")
        guard_key = Unique.key(kind=kind, value=value)
        (guard,) = await look.fresh(guard_key)
        guard = guard if guard is not None and not _is_over(guard) else None
        if side == OF_GUARD:
            return await _without_owner(look, rule, guard) if guard else None
        (owner,) = await look.fresh(Key(rule.entity, suspect.pk, suspect.sk))
        if owner is None or not rule.when(owner) or _is_over(owner) or value not in rule.values(owner):
            return None
        return _without_guard(rule, owner, value, guard)


async def _without_owner(look: Look, rule: Guard, guard: Unique) -> Found | None:
    found = rule.found_by(guard.owner_id)
    keys = [found] if isinstance(found, Key) else [each.own_key async for each in look.all(found)]
    owner = (await look.fresh(*keys))[0] if keys else None
    if owner is not None and rule.when(owner) and guard.value in rule.values(owner):
        # The other side, which knows the owner, tells if they expire at different times.
        return None
    released = Delete(guard.own_key, when=equals("owner_id", guard.owner_id) & same("updated_at", guard.updated_at))
    still = [Check(owner.own_key, when=same("updated_at", owner.updated_at))] if owner is not None else []
    what = f"the {guard.kind} {guard.value} is taken by {guard.owner_id}, which does not have it"
    return Found(what, [released, *still], ids=frozenset({guard.owner_id}))


def _without_guard(rule: Guard, owner: Any, value: str, guard: Unique | None) -> Found | None:
    own_id = getattr(owner, rule.id_field)
    still = Check(owner.own_key, when=exists() & same("updated_at", owner.updated_at))
    ids = frozenset({own_id})
    if guard is None:
        made = Unique(kind=rule.kind, value=value, owner_id=own_id, expires_at=owner.expires_at)
        free = absent() | below("expires_at", int(time.time()))
        return Found(f"the {rule.kind} {value} of {own_id} has no guard", [Put(made, when=free), still], ids=ids)
    if guard.owner_id != own_id:
        advice = "change the value of one of them"
        return Found(f"the {rule.kind} {value} of {own_id} is taken by {guard.owner_id}", None, advice, ids)
    if guard.expires_at == owner.expires_at:
        return None
    later = guard.changed(expires_at=owner.expires_at, updated_at=guard.updated_at)
    moved = Update.of(guard, later, when=equals("owner_id", own_id) & same("expires_at", guard.expires_at))
    what = f"the guard of the {rule.kind} {value} does not expire with {own_id}"
    return Found(what, [moved, still], ids=ids)


def _is_over(record: Entity) -> bool:
    return record.expires_at is not None and record.expires_at <= time.time()


def _text(kind: str, value: str, owner_id: str, expires_at: int | None) -> str:
    return SEPARATOR.join((kind, value, owner_id, str(expires_at or "")))


def _guard_note(guard: Unique, rows: Rows) -> None:
    value = _text(guard.kind, guard.value, guard.owner_id, guard.expires_at)
    rows["guards"].append((OF_GUARD, value, joined(guard.own_key)))


def _owner_note(rule: Guard) -> Callable[[Any, Rows], None]:
    def note(owner: Any, rows: Rows) -> None:
        if rule.when(owner):
            own_id, key = getattr(owner, rule.id_field), joined(owner.own_key)
            rows["guards"].extend(
                (OF_OWNER, _text(rule.kind, value, own_id, owner.expires_at), key) for value in rule.values(owner)
            )

    return note
