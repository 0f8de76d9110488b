"""Fixed-window rate limiter stored in the table, shared by all servers."""

import hashlib
import time
from collections.abc import Mapping

from datastore.accounts import SignInFailures
from datastore.client.errors import Conflict
from datastore.client.writes import Update, absent, below
from loaders.request import Loaders
from resolvers.core.problems import At, ProblemCode, refused


async def count_attempt(
    load: Loaders, limits: Mapping[str, int], *, every: int, too_many: str, at: At = None
) -> list[Update]:
    """Counts an attempt for each subject, in windows of `every` seconds; raises Refused over any limit."""
    window = int(time.time()) // every
    ends = (window + 1) * every
    counts = [_count(f"{window} {subject}", ends, limit) for subject, limit in limits.items()]
    try:
        await load.write(*counts)
    except Conflict:
        seconds = max(1, ends - int(time.time()))
        message = f"{too_many}; try again in {seconds} seconds"
        raise refused(ProblemCode.TOO_MANY_ATTEMPTS, message, at=at) from None
    return counts


def _count(subject: str, ends: int, limit: int) -> Update:
    record = SignInFailures(subject=hashlib.sha256(subject.encode(errors="replace")).hexdigest(), expires_at=ends)
    return Update.upsert(record, add={"count": 1}, when=absent("count") | below("count", limit))
