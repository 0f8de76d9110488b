"""Test data that factories and commands write once, and that is copied into the tables of other tests."""

from collections.abc import Awaitable, Callable, Hashable
from copy import deepcopy
from typing import Any, TypeVar

from datastore.model.codec import Item
from tests.support.graph import Graph

T = TypeVar("T")
MADE: dict[Hashable, tuple[Any, list[Item]]] = {}


async def copied(graph: Graph, name: Hashable, make: Callable[[], Awaitable[T]]) -> T:
    """Fills an empty table and returns the result of `make`, which runs once per name.

    Copying 25 items takes one call. Factories make one or two calls for each record, because they record changes too.
    """
    if name not in MADE:
        made = await make()
        MADE[name] = deepcopy(made), await graph.items()
        return made
    made, items = MADE[name]
    puts = [{"PutRequest": {"Item": item}} for item in items]
    for start in range(0, len(puts), 25):
        await graph.table._write_batch(puts[start : start + 25])
    return deepcopy(made)
