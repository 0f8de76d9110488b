"""The problems that every mutation returns besides its result."""

from copy import copy
from typing import Any, get_type_hints

import strawberry

from datastore.model.codec import camel
from resolvers.core.problems import ProblemCode
from schema.declare.object_types import object_type
from schema.declare.scalars import choice_type

choice_type(ProblemCode)


@strawberry.type(description="Why a mutation was refused.")
class Problem:
    code: ProblemCode = strawberry.field(description="Kind of problem.")
    message: str = strawberry.field(description="Message for people, in English: the problem, then the fix.")
    path: list[str] = strawberry.field(
        description='Path of the argument, such as `["input", "caption"]`. Empty if no argument is at fault.'
    )
    current_version: int | None = strawberry.field(
        description="Current version, if `expectedVersion` was stale.", default=None
    )
    retry_after: int | None = strawberry.field(
        description="Seconds to wait before the next attempt, if a rate limit was exceeded.", default=None
    )


@strawberry.type
class Payload:
    """Results of a mutation. Several mutations may declare the same results: each gets a type of its own."""

    problems: list[Problem] = strawberry.field(
        description="Why the request was refused. Empty on success.", default_factory=list
    )

    def __init__(self, problems: list[Problem], **results: Any) -> None:
        self.problems = problems
        vars(self).update(results)


def result(description: str) -> Any:
    """A result in a payload; null if there are problems."""
    return strawberry.field(description=description, default=None)


def payload_type(mutation: str, results: type[Payload]) -> type[Payload]:
    """The payload type of one mutation, with these results."""
    fields = {name: copy(vars(results)[name]) for name in results.__annotations__}
    for name, hint in get_type_hints(results).items():
        if name in fields:
            fields[name].type = hint
    name = "".join(part.capitalize() for part in mutation.split("_"))
    # Without a result, its field is null.
    body = {**dict.fromkeys(fields), "__annotations__": dict(results.__annotations__)}
    return object_type(type(f"{name}Payload", (Payload,), body), fields, f"Payload of `{camel(mutation)}`.")
