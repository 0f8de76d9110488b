"""Counts against the items they count.

Every command moves a count in the transaction of the item, so their difference never changes, however many requests
write meanwhile. A look that finds the same difference twice has found an error, and it can be subtracted at any time.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from datastore.client.writes import Update, Write, absent, equals, exists
from datastore.model.entity import Entity
from datastore.model.keys import Key
from resolvers.maintenance.checks import Notes, Rows, Scanned, joined, split
from resolvers.maintenance.findings import Busy, Found, Kind, Suspect
from resolvers.maintenance.looking import Look, ids_of
from resolvers.maintenance.rules import COUNTERS, Counter


class CounterChecks:
    """The notes are differences: plus for what is stored, minus for each item. Their sum should be none."""

    kinds: Sequence[Kind] = (Kind.COUNTER,)
    tables: Sequence[str] = ("counts (rule INTEGER, subject TEXT, difference INTEGER)",)
    indexes: Sequence[str] = ()

    def notes(self) -> Notes:
        notes: dict[type[Entity], list[Callable[[Any, Rows], None]]] = defaultdict(list)
        for number, rule in enumerate(COUNTERS):
            notes[rule.of].append(_item_note(number, rule))
            for holder in (rule.subject, rule.parts):
                if holder and rule.name in holder.fields:
                    notes[holder].append(_number_note(number, rule))
        return notes

    async def suspects(self, scanned: Scanned) -> AsyncIterator[Suspect]:
        query = "SELECT rule, subject FROM counts GROUP BY rule, subject HAVING SUM(difference) != 0"
        for number, subject in scanned.work.rows(query):
            yield Suspect(Kind.COUNTER, str(number), *split(subject))

    async def look(self, look: Look, suspect: Suspect) -> Found | None:
        rule = COUNTERS[int(suspect.rule)]
        (subject,) = await look.fresh(Key(rule.subject, suspect.pk, suspect.sk))
        if subject is None or not rule.when(subject):
            return None
        before = await _stored(look, rule, subject)
        counted = 0
        async for item in look.all(rule.items(subject)):
            if type(item) is rule.of and rule.at(item) == subject.own_key:
                counted += rule.weight(item)
        if await _stored(look, rule, subject) != before:
            raise Busy
        difference = sum(before.values()) - counted
        if not difference or not before:
            return None
        what = f"{rule.label} is {sum(before.values())}, but there are {counted}"
        first = next(iter(before))
        seen = equals(rule.name, before[first])
        if before[first] == 0:
            seen = seen | absent(rule.name)
        write = Update(first, add={rule.name: -difference}, when=exists() & seen)
        return Found(what, [write], ids=ids_of(subject))


def uncounted(record: Entity, gone: set[Key[Any]]) -> list[Write]:
    """Returns the writes that take a record out of its counts, except those of subjects that are gone."""
    adds: dict[Key[Any], dict[str, int]] = defaultdict(dict)
    for rule in COUNTERS:
        key = rule.at(record) if rule.of is type(record) else None
        # Parts of a number may be anywhere; the check of the counter corrects those.
        if key is not None and key not in gone and rule.name in rule.subject.fields and rule.weight(record):
            adds[key][rule.name] = -rule.weight(record)
    return [Update(key, add=moved, when=exists()) for key, moved in adds.items()]


async def _stored(look: Look, rule: Counter, subject: Any) -> dict[Key[Any], int]:
    keys = rule.part_keys(subject)
    parts = await look.fresh(*keys)
    return {key: getattr(part, rule.name) for key, part in zip(keys, parts, strict=True) if part is not None}


def _item_note(number: int, rule: Counter) -> Callable[[Any, Rows], None]:
    def note(item: Any, rows: Rows) -> None:
        at = rule.at(item)
        if at is not None and (weight := rule.weight(item)):
            rows["counts"].append((number, joined(at), -weight))

    return note


def _number_note(number: int, rule: Counter) -> Callable[[Any, Rows], None]:
    def note(part: Any, rows: Rows) -> None:
        value = getattr(part, rule.name)
        if value:
            rows["counts"].append((number, joined(rule.subject_of(part)), value))

    return note
