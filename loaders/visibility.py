"""Visibility: one rule per entity decides who may see a record, and the loaders apply it to everything they return."""

import time
from collections.abc import Callable, Sequence
from inspect import isgeneratorfunction
from operator import attrgetter
from typing import Any, TypeVar, cast

from datastore.client.errors import CorruptItem
from datastore.model.entity import Entity
from datastore.model.keys import Key
from loaders.needs import Items, Step, Together
from loaders.viewer import Viewer

Verdict = bool | Entity
Rule = Callable[[Any, Viewer], bool | Step[Verdict]]
F = TypeVar("F", bound=Rule)

RULES: dict[type[Entity], Rule] = {}
READING: set[type[Entity]] = set()
INSIDE: dict[type[Entity], type[Entity]] = {}
NEVER_SHOWN: dict[type[Entity], str] = {}


def visibility(entity: type[Entity], *, inside: type[Entity] | None = None) -> Callable[[F], F]:
    """Declares the rule of an entity: a predicate, or a step if it has to read, which may return a redacted record.

    A record `inside` another one, in the same partition, is visible only if that outer record is.
    """

    def declare(rule: F) -> F:
        if entity in RULES:
            raise TypeError(f"{entity.__name__} has a visibility rule already")
        if inside is not None:
            own, outer = entity.indexes[None], inside.indexes[None]
            if own.pk.text != outer.pk.text or outer.sk.holes:
                raise TypeError(f"{entity.__name__} is not in the partition of a {inside.__name__}")
            INSIDE[entity] = inside
        RULES[entity] = _unless_marked(entity, rule)
        if isgeneratorfunction(rule):
            READING.add(entity)
        return rule

    return declare


def never_shown(*entities: type[Entity], because: str) -> None:
    """Declares that these entities need no rule, since no edge reads them."""
    NEVER_SHOWN.update(dict.fromkeys(entities, because))


def _unless_marked(entity: type[Entity], rule: Rule) -> Rule:
    """The rule of an entity whose records are marked while the account of a user they belong to is deleted."""
    for account in entity.accounts:
        if account.mark:
            rule = _unless(attrgetter(account.mark), rule)
    return rule


def _unless(mark: Callable[[Any], Any], rule: Rule) -> Rule:
    return lambda record, viewer: mark(record) is None and rule(record, viewer)


def seen(records: Sequence[Any], viewer: Viewer) -> Step[list[Any]]:
    """Returns each record, or None in its place if it is damaged or the viewer may not see it."""
    classes = set(map(type, records))
    if CorruptItem in classes:
        records = without_damage(records)
    if viewer.hidden_accounts:
        records = [None if record is None or _is_hidden(record, viewer) else record for record in records]
    now = time.time()
    # DynamoDB takes up to days to remove expired items.
    visible = [
        record
        if record is not None
        and (record.expires_at is None or record.expires_at > now)
        and RULES[record.__class__](record, viewer)
        else None
        for record in records
    ]
    if not classes.isdisjoint(READING):
        visible = yield from _decided(visible, viewer)
    for inner in classes & INSIDE.keys():
        visible = yield from _inside(visible, inner, viewer)
    return visible


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
    verdicts = iter(
        (yield Together([cast(Step[Verdict], RULES[record.__class__](record, viewer)) for record in asking]))
    )
    return [_as_seen(record, next(verdicts)) if record.__class__ in READING else record for record in records]


def _as_seen(record: Any, verdict: Verdict) -> Any:
    return (record if verdict is True else verdict) or None


def _inside(records: list[Any], inner: type[Entity], viewer: Viewer) -> Step[list[Any]]:
    """Replaces records of this entity with None if their outer record is not visible."""
    partitions = {record.own_key.pk for record in records if record.__class__ is inner}
    around = yield from judged_at([_outer(inner, pk) for pk in partitions], viewer)
    if None not in around:
        return records
    closed = {pk for pk, record in zip(partitions, around, strict=True) if record is None}
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
    return Key(outer, pk, outer.indexes[None].sk.text)
