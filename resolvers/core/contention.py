"""Counters that many requests change at a time move into several items."""

import random

from datastore.client.budget import Usage
from datastore.client.errors import Conflict, Retryable
from datastore.client.writes import Write
from loaders.request import Loaders

COUNTER_SHARDS = 16
# Retries of a transaction after which its counter is contended.
CONTENTION = 3
SHARDING_TIME = 1.0
# A stored number of shards that is damaged must not read without end.
MAX_SHARDS = 256


def any_shard(count: int) -> int:
    """Returns a random shard of so many."""
    return random.randrange(max(1, min(count, MAX_SHARDS)))  # noqa: S311


async def spread(load: Loaders, *writes: Write) -> None:
    """Writes the shards of a counter. With a time limit of its own: the response must not wait for this."""
    apart = Loaders(load.table.using(Usage.lasting(SHARDING_TIME)), load.viewer, shared=load.shared)
    try:
        await apart.write(*writes)
    except (Conflict, Retryable):
        return  # Another request did it, the record is gone, or time is up: the next contended request will do it.
