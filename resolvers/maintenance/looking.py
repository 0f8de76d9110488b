"""A look at the current items: strongly consistent reads of the few that a suspect is about."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import orjson

from datastore.client.budget import Usage
from datastore.client.positions import Position
from datastore.client.table import Table
from datastore.client.writes import Condition, Delete, Put, Write, absent
from datastore.maintenance.records import SetAside
from datastore.model.codec import Item
from datastore.model.entity import REGISTRY, Entity, entity_name
from datastore.model.keys import Key, Range
from datastore.model.times import new_id, now, seconds_from_now
from loaders.request import Loaders
from loaders.viewer import ANONYMOUS
from resolvers.background.tools import Tools

TIME_FOR_ONE = 300.0
PAGE = 1_000
KEPT = timedelta(days=30)


class Look:
    """Reads for one suspect. Waits for a table that is busy."""

    def __init__(self, table: Table, tools: Tools) -> None:
        usage = Usage.lasting(TIME_FOR_ONE, is_patient=True)
        self.table = table.using(usage)
        self.tools = tools

    @property
    def load(self) -> Loaders:
        """Loaders that have read nothing yet."""
        return Loaders(self.table, ANONYMOUS, consistent=True)

    async def fresh(self, *keys: Key[Any]) -> list[Any]:
        """Returns the records at these keys, None for those that do not exist. Raises the error of any."""
        found = await self.table.get_many(keys, consistent=True)
        for each in found.values():
            if isinstance(each, Exception):
                raise each
        return [found[key] for key in keys]

    async def all(self, within: Range[Any]) -> AsyncIterator[Any]:
        """Yields all records of a range without heavy fields; strongly consistent unless it is of an index."""
        after: Position | None = None
        while True:
            page = await self.table.query(within, limit=PAGE, after=after, consistent=within.index_name is None)
            for record in page.records:
                yield record
            after = page.more
            if after is None:
                return

    async def set_aside(self, key: Key[Any], reason: str, when: Condition) -> list[Write]:
        """Returns the writes that delete an item and keep a copy of it for 30 days."""
        item = await self.table.stored_item(key)
        return [] if item is None else [Delete(key, when=when), aside(item, reason)]


def aside(item: Item, reason: str) -> Put:
    record = SetAside(
        set_aside_at=now(),
        aside_id=new_id(),
        reason=reason,
        item=orjson.dumps(item).decode(),
        expires_at=seconds_from_now(KEPT),
    )
    return Put(record, when=absent())


def key_in(item: Item) -> Key[Any]:
    """Returns the key of a stored item, of its entity if that is known."""
    entity: type[Entity] = REGISTRY.get(entity_name(item), SetAside)
    return Key(entity, item["PK"]["S"], item["SK"]["S"])


def ids_of(record: Entity) -> frozenset[str]:
    """Returns the IDs in a record."""
    return frozenset(
        value
        for name, value in vars(record).items()
        if isinstance(value, str) and (name.endswith("_id") or name in type(record).key_holes)
    )
