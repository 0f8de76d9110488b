"""`node` and `nodes`: anything, by its id."""

from typing import Annotated, Any

import strawberry
from strawberry.types import Info

from schema.errors import BadInput
from schema.ids import key_of_any
from schema.types import Node, is_exposed

MAX_IDS = 100


async def node(
    info: Info[Any, Any],
    id: Annotated[strawberry.ID, strawberry.argument(description="The `id` of anything.")],
) -> Any:
    key = key_of_any(id)
    return await info.context.load.one(key) if is_exposed(key.entity) else None


def nodes(
    info: Info[Any, Any],
    ids: Annotated[list[strawberry.ID], strawberry.argument(description="Up to 100 ids, in any order.")],
) -> Any:
    if len(ids) > MAX_IDS:
        raise BadInput(f"{len(ids)} ids are too many; ask for {MAX_IDS} at a time")
    return [node(info, id) for id in ids]


class Query:
    node: Node | None = strawberry.field(
        resolver=node,
        graphql_type=Node | None,
        description="Anything by its id; null where there is nothing, or nothing you may see.",
    )
    nodes: list[Node | None] = strawberry.field(
        resolver=nodes,
        graphql_type=list[Node | None],
        description="Many things by their ids, up to 100, each in its place; null for what is not there.",
    )
