"""Rankings: lists in the order of counts, which processors keep in small items of their own, the ranks.

A count that many people change cannot be part of an index key in the same transaction. So a processor derives the rank
of a record from its counts, once for all changes of a batch, and writes it if it differs.
"""

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, TypeVar

from typing_extensions import Doc

from datastore.client.writes import Delete, Put, Write
from datastore.model.codec import BigInt
from datastore.model.entity import Entity
from datastore.model.keys import SCORES, Key, Range
from datastore.model.times import Time, epoch_seconds
from loaders.merge import Merge
from loaders.request import Loaders
from resolvers.core.problems import ProblemCode, refused

E = TypeVar("E", bound=Entity)

DAY = 24 * 3600
MOST_DAYS = 14
# Ranked records per call of a processor: each may need a write, and all are in one transaction.
RANKED_AT_ONCE = 90
# Hot scores are whole numbers: hundred thousandths of a day.
STEPS_A_DAY = 100_000
POINTS_FOR_A_COMMENT = 2

DaysBack = Annotated[int, Doc("Number of days to look back, including today: 1–14. Defaults to 7.")]


def heat(points: float, at: Time) -> BigInt:
    """Returns the hot score. Ten times the points make up for a day.

    It does not depend on the current time, so it orders two records the same way at any time, and pages are stable.
    """
    activity = math.copysign(math.log10(max(abs(points), 1)), points)
    return BigInt(round(STEPS_A_DAY * (epoch_seconds(at) / DAY + activity)))


def bounded(score: int) -> BigInt:
    """Returns the score, or the nearest one that a key can hold."""
    return BigInt(max(1 - SCORES, min(score, SCORES - 1)))


def hottest(days: int, of_day: Callable[[str], Range[E]], name: str) -> Merge[E]:
    """Returns the ranks of the records of the last days, hottest first: one range per day, merged."""
    if not 1 <= days <= MOST_DAYS:
        raise refused(ProblemCode.INVALID, f"`days` is {days}; it goes from 1 to {MOST_DAYS}", at="days")
    today = datetime.now(UTC).date()
    ranges = [of_day((today - timedelta(days=age)).isoformat()).newest_first() for age in range(days)]
    return Merge(tuple(ranges), name)


async def rank_writes(load: Loaders, wanted: Mapping[Key[Any], Entity | None]) -> list[Write]:
    """Returns the writes that make the ranks at these keys equal to the wanted ones; None is no rank.

    A rank depends on its record only, times included, so equal ranks are not written again.
    """
    stored = await load.fresh(*wanted) if wanted else []
    writes: list[Write] = []
    for (key, rank), before in zip(wanted.items(), stored, strict=True):
        if rank is None:
            writes += [Delete(key)] if before is not None else []
        elif before != rank:
            writes.append(Put(rank))
    return writes
