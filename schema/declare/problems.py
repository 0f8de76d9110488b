"""The problems that every mutation returns besides its result."""

from typing import Any

import strawberry

from resolvers.core.problems import ProblemCode
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


@strawberry.type(description="Payload of a mutation.")
class Payload:
    problems: list[Problem] = strawberry.field(
        description="Why the request was refused. Empty on success.", default_factory=list
    )


def result(description: str) -> Any:
    """A result in a payload; null if there are problems."""
    return strawberry.field(description=description, default=None)
