"""The items of one owner: a user, a tenant, a tree or a neighborhood. They follow from what entities declare.

Of a user: records that the account owns or that are about it, and all their parts. Of the others: the record, its
parts, and everything whose key has its ID. The guards of unique values of these records belong to them.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from typing import Any, NamedTuple

import orjson

import datastore.maintenance.all_entities  # noqa: F401
from datastore.accounts import Unique, User
from datastore.cms import Tenant
from datastore.genealogy import Tree
from datastore.maintenance.raw_items import Place, RawItems
from datastore.model.codec import Item
from datastore.model.entity import FORMER_NAMES, REGISTRY, Entity
from datastore.model.keys import Range
from datastore.model.ownership import PartOf
from datastore.model.patterns import Pattern
from datastore.neighborhoods import Neighborhood

ROOTS: dict[str, type[Entity]] = {"user": User, "tenant": Tenant, "tree": Tree, "neighborhood": Neighborhood}

Values = tuple[str, ...]


class Owner(NamedTuple):
    """The owner of items: the kind, one of ROOTS, and the ID."""

    kind: str
    owner_id: str

    @property
    def root(self) -> type[Entity]:
        return ROOTS[self.kind]

    @property
    def id_field(self) -> str:
        return f"{self.kind}_id"


class Belongings:
    """Decides which items belong to an owner. An item can be recognized only after the record it is part of."""

    def __init__(self, owner: Owner) -> None:
        self.owner = owner
        self._known: dict[type[Entity], set[Values]] = defaultdict(set)
        self._ids: set[str] = {owner.owner_id}

    def takes(self, item: Item) -> bool:
        """Returns True if an item belongs to the owner, and remembers it."""
        entity = entity_of(item)
        if entity is None or not self._belongs(entity, item):
            return False
        values = _values(entity, entity.key_holes, item)
        if values:
            self._known[entity].add(values)
            if _unique_fields(entity):
                self._ids.add(values[-1])
        return True

    def _belongs(self, entity: type[Entity], item: Item) -> bool:
        owner_id = (self.owner.owner_id,)
        if entity is Unique:
            (guarded,) = _values(entity, ("owner_id",), item) or ("",)
            return guarded in self._ids
        if entity is self.owner.root or self.owner.root is not User:
            field = self.owner.id_field
            if (entity is self.owner.root or field in entity.key_holes) and _values(entity, (field,), item) == owner_id:
                return True
        accounts = entity.accounts if self.owner.root is User else ()
        if any(_values(entity, (account.field,), item) == owner_id for account in accounts):
            return True
        if isinstance(entity.owner, PartOf):
            whole = entity.owner.whole
            return _values(entity, whole.key_holes, item) in self._known.get(whole, ())
        return False


def levels() -> list[list[type[Entity]]]:
    """Returns all entities: first those that are part of nothing, then their parts, and so on; guards come last."""
    depth: dict[type[Entity], int] = {}

    def depth_of(entity: type[Entity]) -> int:
        if entity not in depth:
            depth[entity] = depth_of(entity.owner.whole) + 1 if isinstance(entity.owner, PartOf) else 0
        return depth[entity]

    by_depth: dict[int, list[type[Entity]]] = defaultdict(list)
    for entity in REGISTRY.values():
        if entity is not Unique:
            by_depth[depth_of(entity)].append(entity)
    return [*(by_depth[number] for number in sorted(by_depth)), [Unique]]


def entity_of(item: Item) -> type[Entity] | None:
    name: str = item.get("entityType", {}).get("S") or ""
    return REGISTRY.get(FORMER_NAMES.get(name, name))


def _values(entity: type[Entity], fields: tuple[str, ...], item: Item) -> Values | None:
    """Returns the values of fields as text, or None if the item has not all of them."""
    found = []
    for name in fields:
        if name not in entity.fields:
            return None
        value: dict[str, Any] = item.get(entity.fields[name].attribute) or {}
        text = value.get("S") or value.get("N")
        if text is None:
            return None
        found.append(text)
    return tuple(found)


class OwnedItems:
    """Finds the items of an owner in the table, by queries of the access patterns."""

    def __init__(self, items: RawItems, owner: Owner) -> None:
        self._items = items
        self._belongings = Belongings(owner)
        self._owner = owner
        self._seen: set[Place] = set()
        self._found: dict[type[Entity], list[Item]] = defaultdict(list)

    async def find(self) -> AsyncIterator[bytes]:
        """Yields each item once, records before their parts."""
        wholes = {entity.owner.whole for entity in REGISTRY.values() if isinstance(entity.owner, PartOf)}
        guarded = [entity for entity in REGISTRY.values() if _unique_fields(entity)]
        for level in levels():
            for entity in level:
                for within in self._ranges(entity):
                    async for item, text in self._in(within, entity):
                        if entity in wholes or entity in guarded:
                            self._found[entity].append(item)
                        yield text
        async for text in self._guards():
            yield text

    def _ranges(self, entity: type[Entity]) -> Iterator[Range[Any]]:
        """Yields the ranges that have all records of an entity that belong to the owner."""
        owner = self._owner
        if owner.root is User:
            for account in entity.accounts:
                yield account.works(entity, owner.owner_id)
        elif entity is owner.root or owner.id_field in entity.key_holes:
            if pattern := pattern_by(entity, (owner.id_field,)):
                yield getattr(entity, pattern.name)(**dict.fromkeys(pattern.index.pk.holes, owner.owner_id))
            elif entity is owner.root:
                key = entity.key(**{owner.id_field: owner.owner_id})
                yield Range(entity, None, key.pk, key.sk)
        if isinstance(entity.owner, PartOf):
            whole = entity.owner.whole
            if pattern := pattern_by(entity, whole.key_holes):
                for item in self._found[whole]:
                    values = dict(zip(whole.key_holes, _values(whole, whole.key_holes, item) or (), strict=True))
                    yield getattr(entity, pattern.name)(**{hole: values[hole] for hole in pattern.index.pk.holes})

    async def _in(self, within: Range[Any], entity: type[Entity]) -> AsyncIterator[tuple[Item, bytes]]:
        pages = self._items.partition(within.pk, index=within.index_name or "", prefix=within.prefix)
        async for page in pages:
            for raw in page:
                item = orjson.loads(memoryview(raw))
                if entity_of(item) is entity and self._is_new(item) and self._belongings.takes(item):
                    yield item, bytes(memoryview(raw))

    def _is_new(self, item: Item) -> bool:
        place = item["PK"]["S"], item["SK"]["S"]
        is_new = place not in self._seen
        self._seen.add(place)
        return is_new

    async def _guards(self) -> AsyncIterator[bytes]:
        places = set()
        for entity, items in self._found.items():
            for name in _unique_fields(entity):
                for value in (value for item in items for value in _taken(entity, name, item)):
                    key = Unique.key(kind=name, value=value)
                    places.add((key.pk, key.sk))
        for text in (await self._items.get(sorted(places))).values():
            if self._belongings.takes(orjson.loads(text)):
                yield text


def pattern_by(entity: type[Entity], holes: tuple[str, ...]) -> Pattern | None:
    """Returns the access pattern whose partition key these values fill, the table itself first."""
    for pattern in (vars(entity)["within"], *entity.patterns.values()):
        if pattern.index.pk.holes and set(pattern.index.pk.holes) <= set(holes):
            found: Pattern = pattern
            return found
    return None


def _unique_fields(entity: type[Entity]) -> list[str]:
    """Returns the fields that a record is found by alone, such as a username. Those that are unique have guards."""
    by_one = {pattern.index.pk.holes[0] for pattern in entity.patterns.values() if len(pattern.index.pk.holes) == 1}
    return sorted(name for name in by_one if not name.endswith("_id"))


def _taken(entity: type[Entity], name: str, item: Item) -> Iterator[str]:
    """Yields the unique values of an item: of the field and, like `domain` and `domains`, of a list of more."""
    yield from _values(entity, (name,), item) or ()
    if several := entity.fields.get(f"{name}s"):
        listed: Any = item.get(several.attribute) or {}
        yield from (value["S"] for value in listed.get("L", ()) if "S" in value)


def belongs_to(owner: Owner, passes: Iterator[Iterator[bytes]]) -> set[Place]:
    """Returns the places of the owner's items among those of a backup, which is read once for each level of parts."""
    belongings = Belongings(owner)
    found: set[Place] = set()
    for level, items in zip(levels(), passes, strict=False):
        for text in items:
            item = orjson.loads(text)
            if entity_of(item) in level and belongings.takes(item):
                found.add((item["PK"]["S"], item["SK"]["S"]))
    return found
