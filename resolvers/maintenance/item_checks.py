"""Checks of single items: whether they can be read, are indexed and listed as they should be, expire and are purged."""

import contextlib
import inspect
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from datastore.changes.records import is_newer
from datastore.client.errors import CorruptItem, InvalidKey
from datastore.client.writes import KEY_ATTRIBUTES, Condition, Delete, Update, exists, index_keys, same, unchanged
from datastore.model.codec import AttributeValue, Item
from datastore.model.entity import REGISTRY, Entity, decode, entity_name
from datastore.model.keys import Key
from datastore.model.patterns import INDEXES
from resolvers.background.jobs import queued
from resolvers.maintenance.checks import Notes, Scanned
from resolvers.maintenance.findings import Found, Kind, Suspect
from resolvers.maintenance.looking import Look, aside, ids_of, key_in
from resolvers.maintenance.rules import PLACED, PURGES, is_undeleted

# DynamoDB removes an expired item within a few days, and the sweeper of the local engine within hours.
LATE = timedelta(days=3)


class ItemChecks:
    """Everything that one item shows by itself. The scan suspects it at once, without notes."""

    kinds: Sequence[Kind] = (Kind.UNDECODABLE, Kind.INDEX_KEYS, Kind.LISTING, Kind.EXPIRED, Kind.UNPURGED)
    tables: Sequence[str] = ()
    indexes: Sequence[str] = ()

    def notes(self) -> Notes:
        return {}

    async def suspects(self, scanned: Scanned) -> AsyncIterator[Suspect]:
        """The scan has all of them."""
        for _ in scanned.work.rows("SELECT 1 WHERE FALSE"):
            yield Suspect(Kind.UNDECODABLE, "", "", "")

    async def look(self, look: Look, suspect: Suspect) -> Found | None:
        item = await look.table.stored_item(Key(Entity, suspect.pk, suspect.sk))
        if item is None:
            return None
        record, faults = examined(item)
        return faults[suspect.kind](item, record) if suspect.kind in faults else None


Fault = Callable[[Item, Any], Found]


def examined(item: Item) -> tuple[Entity | None, Mapping[Kind, Fault]]:
    """Decodes an item. Returns the record, None if it cannot be read, and what is wrong with it."""
    entity = REGISTRY.get(entity_name(item))
    try:
        record = decode(item)
    except CorruptItem:
        # A newer server knows what it means.
        return None, {} if entity and is_newer(item, entity) else {Kind.UNDECODABLE: _undecodable}
    faults: dict[Kind, Fault] = {}
    if record.expires_at is not None and record.expires_at <= time.time():
        return record, {Kind.EXPIRED: _expired} if record.expires_at < time.time() - LATE.total_seconds() else {}
    is_current = item.get("schemaVersion", {}).get("N") == str(record.schema_version)
    if is_current and _wrong_keys(item, record):
        faults[Kind.INDEX_KEYS] = _index_keys
    if not is_undeleted(record):
        if type(record) in PURGES:
            faults[Kind.UNPURGED] = _unpurged
    elif type(record) in PLACED and _wrong_places(record):
        faults[Kind.LISTING] = _listing
    return record, faults


def _undecodable(item: Item, _: object) -> Found:
    key = key_in(item)
    try:
        decode(item)
        reason = "it can be read now"
    except CorruptItem as error:
        reason = str(error)
    return Found(reason[:300], [Delete(key, when=unchanged(item)), aside(item, reason[:300])])


EVERY_KEY = frozenset(f"{name}{part}" for name in INDEXES for part in KEY_ATTRIBUTES)
UNUSED: dict[str, frozenset[str]] = {}


def _unused(entity: type[Entity]) -> frozenset[str]:
    """Returns the key attributes of indexes that an entity is not in."""
    if entity.__name__ not in UNUSED:
        used = {attribute for index in entity.indexes.values() for attribute in index.attributes}
        UNUSED[entity.__name__] = EVERY_KEY - used
    return UNUSED[entity.__name__]


def _wrong_keys(item: Item, record: Entity) -> dict[str, AttributeValue | None]:
    """Returns the index keys that an item should have and does not, and those it should not have as None."""
    wrong: dict[str, AttributeValue | None] = dict.fromkeys(_unused(type(record)) & item.keys())
    fields = record.__dict__
    for index in record.indexes.values():
        wanted: tuple[str | None, str | None] = (None, None)
        if None not in [fields[hole] for hole in index.holes]:
            with contextlib.suppress(InvalidKey):
                wanted = index.pk.fill(fields), index.sk.fill(fields)
        for attribute, text in zip(index.attributes, wanted, strict=True):
            if (item[attribute].get("S") if attribute in item else None) != text:
                wrong[attribute] = None if text is None else {"S": text}
    return wrong


def _index_keys(item: Item, record: Any) -> Found:
    wrong = _wrong_keys(item, record)
    what = f"{', '.join(sorted(wrong))} differ from the fields of the {type(record).__name__}"
    if "PK" in wrong or "SK" in wrong:
        return Found(what, None, "restore it from a backup: it is stored under a key that is not its own")
    holes = {hole for index in record.indexes.values() for hole in index.holes}
    after = index_keys({**item, **{name: value for name, value in wrong.items() if value}})
    after = {name: pair for name, pair in after.items() if wrong.get(f"{name}PK", pair) is not None}
    write = Update(record.own_key, raw=wrong, when=_as_read(record, holes), index_keys=(index_keys(item), after))
    return Found(what, [write], ids=ids_of(record))


def _wrong_places(record: Any) -> dict[str, Any]:
    """Returns the fields that should be different, with the values that they should have."""
    should = PLACED[type(record)](record)
    return {
        name: value
        for name, value in vars(should).items()
        if name in record.fields and name != "updated_at" and vars(record)[name] != value
    }


def _listing(_: Item, record: Any) -> Found:
    places = _wrong_places(record)
    should = record.changed(**places, updated_at=record.updated_at)
    named = ", ".join(f"{name} is {getattr(record, name)!r}, not {places[name]!r}" for name in sorted(places))
    when = _as_read(record, {*places, "updated_at", "deleted_at"} & record.fields.keys())
    return Found(f"{type(record).__name__}: {named}", [Update.of(record, should, when=when)], ids=ids_of(record))


def _expired(_: Item, record: Any) -> Found:
    what = f"{type(record).__name__} has expired and is still stored"
    return Found(what, [Delete(record.own_key, when=same("expires_at", record.expires_at), expired=True)])


def _unpurged(_: Item, record: Any) -> Found:
    job = PURGES[type(record)]
    names = [name for name in inspect.signature(job).parameters if name in record.fields]
    what = f"{type(record).__name__} was deleted at {record.deleted_at}, and no job purges it"
    return Found(what, [queued(job, **{name: getattr(record, name) for name in names})], ids=ids_of(record))


def _as_read(record: Any, names: set[str]) -> Condition:
    """Requires that these fields are as they were read."""
    when = exists()
    for name in sorted(names):
        when = when & same(name, getattr(record, name))
    return when
