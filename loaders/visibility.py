"""Visibility: one rule per entity decides who may see a record, and the loaders apply it to everything they return."""

import time
from collections.abc import Callable, Sequence
from inspect import isgeneratorfunction
from types import NoneType
from typing import Any, TypeVar

from datastore.client.errors import CorruptItem
from datastore.model.entity import Entity
from datastore.model.generated_code import define
from datastore.model.keys import Key, new_tuple
from loaders.needs import Items, Step, Together
from loaders.viewer import Viewer

Verdict = bool | Entity
Rule = Callable[[Any, Viewer], bool | Step[Verdict]]
F = TypeVar("F", bound=Rule)
Filter = Callable[[list[Any], Viewer, float], list[Any]]

RULES: dict[type[Entity], Filter] = {}
"""Puts None in the place of hidden records of an entity, in a list of any records; `_filter` generates it."""
READING: dict[type[Entity], Callable[[Any, Viewer], Step[Verdict]]] = {}
"""Rules that have to read."""
INSIDE: dict[type[Entity], type[Entity]] = {}
NEVER_SHOWN: dict[type[Entity], str] = {}
_DECLARED: list[Rule] = []


def visibility(entity: type[Entity], *, inside: type[Entity] | None = None) -> Callable[[F], F]:
    """Declares the rule of an entity: a predicate, or a step if it has to read, which may return a redacted record.

    A record `inside` another one, in the same partition, is visible only if that outer record is.
    """

    def declare(rule: F) -> F:
        _declare(entity, inside, rule)
        return rule

    return declare


def shown_to_everyone(*entities: type[Entity], inside: type[Entity] | None = None) -> None:
    """Declares that everyone may see all records of these entities, or all `inside` a record that they may see."""
    for entity in entities:
        _declare(entity, inside, None)


def rule_functions() -> Sequence[Rule]:
    """Returns the functions of all rules, as they were declared."""
    return _DECLARED


def never_shown(*entities: type[Entity], because: str) -> None:
    """Declares that these entities need no rule, since no edge reads them."""
    NEVER_SHOWN.update(dict.fromkeys(entities, because))


def _declare(entity: type[Entity], inside: type[Entity] | None, rule: Rule | None) -> None:
    if entity in RULES:
        raise TypeError(f"{entity.__name__} has a visibility rule already")
    if inside is not None:
        own, outer = entity.indexes[None], inside.indexes[None]
        if own.pk.text != outer.pk.text or outer.sk.holes:
            raise TypeError(f"{entity.__name__} is not in the partition of a {inside.__name__}")
        INSIDE[entity] = inside
    if rule is not None:
        _DECLARED.append(rule)
    READING.pop(entity, None)
    if rule is not None and isgeneratorfunction(rule):
        READING[entity] = rule
        rule = None
    RULES[entity] = _filter(entity, rule)


def _filter(entity: type[Entity], rule: Rule | None) -> Filter:
    """Generates a loop over all records of a level; without a rule, only marks and expiry hide a record:

        for r in records:
            if r.__class__ is entity and not ((r.expires_at is None or r.expires_at > now) and r.hidden_at is None …

    If nothing is hidden, it returns the list itself. Records are marked while the account of a user they belong to is
    deleted. DynamoDB takes up to days to remove expired items.
    """
    tests = ["(r.expires_at is None or r.expires_at > now)"]
    tests += [f"r.{account.mark} is None" for account in entity.accounts if account.mark]
    tests += ["rule(r, viewer)"] if rule else []
    hidden = f"r.__class__ is entity and not ({' and '.join(tests)})"
    source = (
        f"def visible(records, viewer, now):\n"
        f"    for r in records:\n"
        f"        if {hidden}:\n"
        f"            return [None if {hidden} else r for r in records]\n"
        f"    return records\n"
    )
    names: dict[str, Any] = {"entity": entity, "rule": rule}
    made: Filter = define("visible", source, names, purpose=f"visible {entity.__name__}")
    return made


def seen(records: list[Any], viewer: Viewer) -> Step[list[Any]]:
    """Returns each record, or None in its place if it is damaged or the viewer may not see it.

    If the viewer may see all of them, it returns the same list.
    """
    classes = set(map(type, records))
    classes.discard(NoneType)
    if CorruptItem in classes:
        classes.discard(CorruptItem)
        records = without_damage(records)
    if viewer.hidden_accounts:
        records = [None if record is None or _is_hidden(record, viewer) else record for record in records]
    now = time.time()
    for entity in classes:
        records = RULES[entity](records, viewer, now)
    if not classes.isdisjoint(READING):
        records = yield from _decided(records, viewer)
    for inner in classes & INSIDE.keys():
        records = yield from _inside(records, inner, viewer)
    return records


def _is_hidden(record: Entity, viewer: Viewer) -> bool:
    """True if an account it belongs to was deleted a moment ago, whether or not a job has marked it yet."""
    entity = record.__class__
    # What gets no mark stays visible to its owner until the account is purged.
    own = None if any(account.mark for account in entity.accounts) else viewer.user_id
    owners = {getattr(record, field) for field in entity.account_fields}
    return not viewer.hidden_accounts.isdisjoint(owners - {own})


def _decided(records: list[Any], viewer: Viewer) -> Step[list[Any]]:
    """Applies the rules that read."""
    asking = [record for record in records if record.__class__ in READING]
    verdicts = iter((yield Together([READING[record.__class__](record, viewer) for record in asking])))
    return [_as_seen(record, next(verdicts)) if record.__class__ in READING else record for record in records]


def _as_seen(record: Any, verdict: Verdict) -> Any:
    return (record if verdict is True else verdict) or None


def _inside(records: list[Any], inner: type[Entity], viewer: Viewer) -> Step[list[Any]]:
    """Replaces records of this entity with None if their outer record is not visible."""
    partitions = {record.own_key.pk for record in records if record.__class__ is inner}
    around = yield from judged_at([_outer(inner, pk) for pk in partitions], viewer)
    closed = {pk for pk, record in zip(partitions, around, strict=True) if record is None}
    if not closed:
        return records
    return [None if record.__class__ is inner and record.own_key.pk in closed else record for record in records]


def seen_at(keys: Sequence[Key[Any] | None], viewer: Viewer, *, leave_out_damaged: bool = False) -> Step[list[Any]]:
    """Returns the records at these keys; None for missing and for hidden ones.

    A damaged record raises CorruptItem, unless it is left out like a missing one.
    """
    distinct = list(dict.fromkeys(keys))
    # The outer records are needed next, and their keys are known: one read for both.
    around = [_outer(key.entity, key.pk) for key in distinct if key is not None and key.entity in INSIDE]
    stored: list[Any] = yield Items(distinct, around, or_damage=True)
    own = stored[: len(distinct)]
    if not leave_out_damaged and CorruptItem in set(map(type, own)):
        raise next(record for record in own if record.__class__ is CorruptItem)
    found = yield from seen(own, viewer)
    if len(distinct) == len(keys):
        return found
    at_keys = dict(zip(distinct, found, strict=True))
    return [at_keys[key] for key in keys]


def judged_at(keys: Sequence[Key[Any]], viewer: Viewer) -> Step[list[Any]]:
    """Returns the same to decide about visibility only: the records may lack their heavy fields."""
    stored: list[Any] = yield Items((), keys, or_damage=True)
    return (yield from seen(stored, viewer))


def readable_at(keys: Sequence[Key[Any] | None]) -> Step[list[Any]]:
    """Returns the stored records, regardless of visibility; None for missing and for damaged ones.

    Rules read with it: what depends on a damaged record is hidden.
    """
    return without_damage((yield Items(keys, or_damage=True)))


def without_damage(records: Sequence[Any]) -> list[Any]:
    return [None if record.__class__ is CorruptItem else record for record in records]


def _outer(inner: type[Entity], pk: str) -> Key[Any]:
    """Returns the key of the outer record."""
    outer = INSIDE[inner]
    return new_tuple(Key, (outer, pk, outer.indexes[None].sk.text))
