"""Optimistic locking: commands read, decide, and write on the condition that nothing changed in between."""

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from datastore.client.errors import Conflict
from datastore.client.writes import Put, Write
from loaders.request import Loaders
from resolvers.core.problems import ProblemCode, Refused, refused

P = ParamSpec("P")
T = TypeVar("T")

ATTEMPTS = 5


def retries_on_conflict(function: Callable[P, Awaitable[T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Runs the function again, from its start, when a conditional write of it fails: up to 5 times in all."""

    @wraps(function)
    async def retrying(*args: P.args, **kwargs: P.kwargs) -> T:
        for _ in range(ATTEMPTS):
            try:
                return await function(*args, **kwargs)
            except Conflict:
                continue
        raise refused(ProblemCode.CONFLICT, "too many requests change this at the same time; try again")

    return retrying


async def write_or_refuse(
    load: Loaders, *writes: Write, refusals: Mapping[Write, Refused], entry: Put | None = None
) -> None:
    """Writes all or nothing. Raises the refusal of a write whose condition fails, or Conflict if it has none."""
    try:
        await load.write(*writes, entry=entry)
    except Conflict as conflict:
        failed = [write for write in writes if write in conflict]
        if any(write not in refusals for write in failed):
            raise
        raise refusals[failed[0]] from None
