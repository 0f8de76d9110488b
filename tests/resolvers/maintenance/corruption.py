"""Ways to damage a table behind the back of the server: without conditions, and without a record of the change."""

from collections.abc import AsyncIterator
from typing import Any

from datastore.accounts import User
from datastore.client.table import Table
from datastore.maintenance.segments import every_item
from datastore.model.entity import REGISTRY, Entity, decode, entity_name
from resolvers import demo
from tests.support.copies import copied
from tests.support.graph import Graph
from tests.support.webhooks import add_hook


class Vandal:
    """Changes items of one table."""

    def __init__(self, graph: Graph) -> None:
        self.table = Table(graph.table.transport, graph.table.name, graph.table.usage)

    async def put(self, *records: Entity, **attributes: Any) -> None:
        """Writes records with these raw attributes; None removes one."""
        for record in records:
            item = {name: value for name, value in {**record.encode(), **attributes}.items() if value is not None}
            await self.table._write_batch([{"PutRequest": {"Item": item}}])

    async def delete(self, *records: Entity) -> None:
        for record in records:
            await self.table.delete(record.own_key)

    async def all(self, entity: type[Entity]) -> list[Any]:
        return [decode(item) async for item in self.items() if REGISTRY.get(entity_name(item)) is entity]

    async def items(self) -> AsyncIterator[dict[str, Any]]:
        async for item in every_item(self.table):
            yield item

    async def one(self, entity: type[Entity], **fields: Any) -> Any:
        """Returns a record with these fields; None is any that is not empty."""
        for record in sorted(await self.all(entity), key=lambda record: record.own_key[1:]):
            if all(getattr(record, name) == value for name, value in fields.items()):
                return record
        raise AssertionError(f"there is no {entity.__name__} with {fields}")


async def whole_world(graph: Graph) -> Vandal:
    """Fills the table with the demo, settled, and what the demo lacks."""

    async def make() -> None:
        await demo.load(graph.table, graph.services.passwords)
        user, *_ = await Vandal(graph).all(User)
        await add_hook(graph, user, "https://example.org/")
        await graph.settle(jobs=True)

    await copied(graph, "the whole world", make)
    return Vandal(graph)
