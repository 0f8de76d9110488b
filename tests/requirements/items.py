"""Looking behind the graph: what the table holds."""

from datetime import datetime
from typing import Any

import orjson

from datastore.client.table import Table
from datastore.maintenance.changed_places import LEFT_OUT
from datastore.maintenance.raw_items import canonical
from datastore.maintenance.segments import every_item
from tests.support.graph import Graph

DAY = 24 * 3600


async def stored_items(graph: Graph, entity: str) -> list[dict[str, Any]]:
    """Raw items of an entity, by name."""
    return [item for item in await graph.items() if item["entityType"]["S"] == entity]


def days_kept(item: dict[str, Any], since: str = "createdAt") -> float:
    """Days from a moment of an item until its TTL removes it, ignoring the seconds that a test may take."""
    moment = datetime.fromisoformat(item[since]["S"]).timestamp()
    return round((int(item["expiresAt"]["N"]) - moment) / DAY, 2)


async def all_items(table: Table) -> list[bytes]:
    """Returns all items of a table in the form that equal items have, except about processes that ran on it."""
    items = [item async for item in every_item(table) if item["entityType"]["S"] not in LEFT_OUT]
    return sorted(canonical(orjson.dumps(item)) for item in items)
