"""One rule per entity says who may see a record; the loaders apply it to everything on its way out."""

import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

from datastore.entity import Entity
from loaders.viewer import Viewer

if TYPE_CHECKING:
    from loaders.loaders import Loaders

Verdict = bool | Awaitable[bool]
Rule = Callable[[Any, Viewer, "Loaders"], Verdict]
F = TypeVar("F", bound=Rule)

RULES: dict[type[Entity], Rule] = {}


def visibility(entity: type[Entity]) -> Callable[[F], F]:
    """Declare the rule of an entity. It may return an awaitable where it needs to read: through the loaders."""

    def declare(rule: F) -> F:
        if entity in RULES:
            raise TypeError(f"{entity.__name__} has a visibility rule already")
        RULES[entity] = rule
        return rule

    return declare


def verdict(record: Entity, viewer: Viewer, loaders: "Loaders") -> Verdict:
    # DynamoDB takes up to days to remove what has expired; here it is gone on time.
    if record.expires_at is not None and record.expires_at <= time.time():
        return False
    return RULES[type(record)](record, viewer, loaders)


async def visible(record: Entity, viewer: Viewer, loaders: "Loaders") -> bool:
    answer = verdict(record, viewer, loaders)
    return answer if isinstance(answer, bool) else await answer
