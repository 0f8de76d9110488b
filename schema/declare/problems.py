"""What every mutation returns besides its result."""

from typing import Any

import strawberry

from resolvers.core.problems import ProblemCode
from schema.declare.scalars import choice_type

choice_type(ProblemCode)


@strawberry.type(description="Why a command did nothing: an expected refusal, for the client to act on.")
class Problem:
    code: ProblemCode = strawberry.field(description="What kind of refusal it is.")
    message: str = strawberry.field(description="What is wrong and what to do about it.")
    path: list[str] = strawberry.field(description="The argument it is about; empty when it is about none.")
    current_version: int | None = strawberry.field(
        description="The version that is there, where another one was expected.", default=None
    )


@strawberry.type(description="What came of a command.")
class Payload:
    problems: list[Problem] = strawberry.field(
        description="Empty if it was done; otherwise nothing was changed.", default_factory=list
    )


def result(description: str) -> Any:
    """A payload's field: null when there are problems."""
    return strawberry.field(description=description, default=None)
