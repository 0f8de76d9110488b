"""Fixed-window rate limiter stored in the table, shared by all servers."""

import hashlib
import time
from collections.abc import Mapping

from datastore.accounts import SignInFailures
from datastore.client.errors import Conflict
from datastore.client.writes import Update, absent, below
from loaders.request import Loaders
from resolvers.core.problems import At, too_many


async def count_attempt(
    load: Loaders, limits: Mapping[str, int], *, every: int, message: str, at: At = None
) -> list[Update]:
    """Counts an attempt for each subject, in windows of `every` seconds; raises Refused over any limit."""
    window = int(time.time()) // every
    ends = (window + 1) * every
    counts = [_count(f"{window} {subject}", ends, limit) for subject, limit in limits.items()]
    try:
        await load.write_aside(*counts)
    except Conflict:
        raise too_many(message, ends - time.time(), at=at) from None
    return counts


def digest(subject: str) -> str:
    """Returns the subject as part of a key: neither its text nor its length matters there."""
    return hashlib.sha256(subject.encode(errors="replace")).hexdigest()


def _count(subject: str, ends: int, limit: int) -> Update:
    record = SignInFailures(subject=digest(subject), expires_at=ends)
    return Update.upsert(record, add={"count": 1}, when=absent("count") | below("count", limit))
