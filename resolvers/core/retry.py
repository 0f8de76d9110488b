"""Commands decide by what they read, and write on the condition that it is still so."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from datastore.client.errors import Conflict
from datastore.client.writes import Write
from loaders.request import Loaders
from resolvers.core.problems import ProblemCode, Refused, refused

T = TypeVar("T")

ATTEMPTS = 5


async def settled(attempt: Callable[[], Awaitable[T]]) -> T:
    """Decide, and once more if what the decision was based on changed before it was written."""
    for _ in range(ATTEMPTS):
        try:
            return await attempt()
        except Conflict:
            continue
    raise refused(ProblemCode.CONFLICT, "too much is happening to this at once; try again")


async def write_or_refuse(load: Loaders, *writes: Write, refusals: Mapping[Write, Refused]) -> None:
    """All or nothing. Where the condition of a write does not hold, its refusal; a Conflict where one has none."""
    try:
        await load.write(*writes)
    except Conflict as conflict:
        failed = [write for write in writes if write in conflict]
        if any(write not in refusals for write in failed):
            raise
        raise refusals[failed[0]] from None
