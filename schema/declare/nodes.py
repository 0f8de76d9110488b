"""`node` and `nodes`: objects by their IDs."""

from collections.abc import Sequence
from typing import Annotated, Any

import strawberry
from strawberry.types import Info
from typing_extensions import Doc

from datastore.model.entity import Entity
from datastore.model.keys import Key
from loaders.needs import Step
from loaders.visibility import seen_at
from schema.declare.context import RequestContext
from schema.declare.edges import Edge, Given, one
from schema.declare.errors import BadInput
from schema.declare.ids import key_of_any
from schema.declare.types import Node, has_ids

MAX_IDS = 100


def node(*, id: Annotated[Key[Entity], Doc("ID of an object.")]) -> Key[Entity]:
    """The object with this ID, or null if it does not exist or is not visible to the viewer."""
    if not has_ids(id.entity):
        raise BadInput("this is not the id of an object that `node` returns; use the field `id` of an object")
    return id


def nodes(*, ids: Annotated[list[strawberry.ID], Doc("IDs of the objects. At most 100.")]) -> list[str]:
    """The objects with these IDs, in the same order. Null for each that does not exist or is not visible."""
    if len(ids) > MAX_IDS:
        raise BadInput(f"{len(ids)} ids are too many; ask for {MAX_IDS} at a time")
    return list(ids)


class Several(Edge):
    """The records at many IDs. An invalid ID is an error in its own place only."""

    def _make(self, graphql_type: Any) -> Any:
        def resolve(root: Any, info: Info[Any, Any], **given: Any) -> Any:
            load = info.context.load

            async def at(id: str) -> Any:
                (record,) = await load.run(seen_at([node(id=key_of_any(id))], load.viewer))
                return record

            return [at(id) for id in self._function(info.context, given)(root)]

        return self._field(resolve, graphql_type)

    def resolve(self, parents: Sequence[Any], context: RequestContext, given: Given) -> Step[Sequence[Any]]:
        keys = [node(id=key_of_any(id)) for id in self._function(context, given)(None)]
        found = yield from seen_at(keys, context.viewer)
        return [found] * len(parents)


class Query:
    node: Node | None = one(node)
    nodes: list[Node | None] = Several(nodes)  # type: ignore[assignment]
