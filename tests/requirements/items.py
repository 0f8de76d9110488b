"""Looking behind the graph: what the table holds."""

from datetime import datetime
from typing import Any

from tests.support.graph import Graph

DAY = 24 * 3600


async def stored_items(graph: Graph, entity: str) -> list[dict[str, Any]]:
    """Raw items of an entity, by name."""
    return [item for item in await graph.items() if item["entityType"]["S"] == entity]


def days_kept(item: dict[str, Any], since: str = "createdAt") -> float:
    """Days from a moment of an item until its TTL removes it, ignoring the seconds that a test may take."""
    moment = datetime.fromisoformat(item[since]["S"]).timestamp()
    return round((int(item["expiresAt"]["N"]) - moment) / DAY, 2)
