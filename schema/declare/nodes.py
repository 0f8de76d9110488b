"""`node` and `nodes`: objects by their IDs."""

from collections.abc import Sequence
from typing import Annotated, Any

import strawberry
from typing_extensions import Doc

from datastore.model.entity import Entity
from datastore.model.keys import Key
from loaders.needs import Step, Together
from loaders.viewer import Viewer
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
    """The records at many IDs. An ID that is invalid, or cannot be read, is an error in its own place only."""

    def resolve(self, parents: Sequence[Any], context: RequestContext, given: Given) -> Step[Sequence[Any]]:
        ids = self._function(context, given)(None)
        (found,) = yield Together([_at(ids, context.viewer)], or_error=True)
        if isinstance(found, Exception):
            # One by one, each has its own error. What could be read is kept, so it is not read again.
            alone: Sequence[Any] = yield Together([_at([id], context.viewer) for id in ids], or_error=True)
            found = [each if isinstance(each, Exception) else each[0] for each in alone]
        return [found] * len(parents)


def _at(ids: Sequence[str], viewer: Viewer) -> Step[list[Any]]:
    return (yield from seen_at([node(id=key_of_any(id)) for id in ids], viewer))


class Query:
    node: Node | None = one(node)
    nodes: list[Node | None] = Several(nodes)  # type: ignore[assignment]
