"""Lists in records against the items that repeat them: the parents of a person, the versions of content."""

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from datastore.model.entity import Entity
from datastore.model.keys import Key
from resolvers.maintenance.checks import Notes, Rows, Scanned, joined, split
from resolvers.maintenance.findings import Found, Kind, Suspect
from resolvers.maintenance.looking import Look, ids_of
from resolvers.maintenance.rules import LISTED, Listed, is_undeleted

SHOWN = 5


class ListChecks:
    """The notes are the values of both sides, by the record with the list."""

    kinds: Sequence[Kind] = (Kind.LIST,)
    tables: Sequence[str] = ("listed (rule INTEGER, subject TEXT, value TEXT, side INTEGER)",)
    indexes: Sequence[str] = ()

    def notes(self) -> Notes:
        notes: dict[type[Entity], list[Callable[[Any, Rows], None]]] = defaultdict(list)
        for number, rule in enumerate(LISTED):
            notes[rule.subject].append(_subject_note(number, rule))
            notes[rule.of].append(_item_note(number, rule))
        return notes

    async def suspects(self, scanned: Scanned) -> AsyncIterator[Suspect]:
        query = """
            SELECT DISTINCT rule, subject FROM
            (SELECT rule, subject FROM listed GROUP BY rule, subject, value HAVING COUNT(DISTINCT side) != 2)"""
        for number, subject in scanned.work.rows(query):
            yield Suspect(Kind.LIST, str(number), *split(subject))

    async def look(self, look: Look, suspect: Suspect) -> Found | None:
        rule = LISTED[int(suspect.rule)]
        (subject,) = await look.fresh(Key(rule.subject, suspect.pk, suspect.sk))
        if subject is None or not is_undeleted(subject):
            return None
        items = [item async for item in look.all(rule.items(subject)) if rule.at(item) == subject.own_key]
        there, wanted = {rule.value(item) for item in items}, {*rule.values(subject)}
        if there == wanted:
            return None
        parts = [
            f"{word} {', '.join(sorted(some)[:SHOWN])}{'…' if len(some) > SHOWN else ''}"
            for word, some in (("without items:", wanted - there), ("not named:", there - wanted))
            if some
        ]
        advice = "restore the missing items from a backup"
        return Found(f"{rule.label}, {'; '.join(parts)}", rule.mend(subject, items), advice, ids_of(subject))


def _subject_note(number: int, rule: Listed) -> Callable[[Any, Rows], None]:
    def note(subject: Any, rows: Rows) -> None:
        if is_undeleted(subject):
            key = joined(subject.own_key)
            rows["listed"].extend((number, key, value, 0) for value in rule.values(subject))

    return note


def _item_note(number: int, rule: Listed) -> Callable[[Any, Rows], None]:
    def note(item: Any, rows: Rows) -> None:
        rows["listed"].append((number, joined(rule.at(item)), rule.value(item), 1))

    return note
