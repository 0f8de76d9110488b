"""Writes of visitors, who need no token: a rate limit per client, and records keyed by their creation time."""

import asyncio
import random
from collections.abc import Callable
from typing import TypeVar

from datastore.model.entity import Entity
from resolvers.cms.audited_writes import created
from resolvers.core.context import Context
from resolvers.core.rate_limit import count_attempt
from resolvers.core.retry import retries_on_conflict

HOUR = 60 * 60
FIRST_PAUSE = 0.03

E = TypeVar("E", bound=Entity)


async def limit_client(context: Context, tenant_id: str, what: str, *, per_hour: int) -> None:
    """Counts a write of the client at the tenant. Raises Refused over the limit."""
    limits = {f"{what} at {tenant_id} from {context.client_address}": per_hour}
    await count_attempt(context.load, limits, every=HOUR, message=f"too many {what}")


async def created_at_unique_time(context: Context, make: Callable[[], E]) -> E:
    """Creates a record whose key holds its time. Backs off randomly when two fall into the same millisecond."""
    pause = 0.0

    @retries_on_conflict
    async def attempt() -> E:
        nonlocal pause
        await asyncio.sleep(random.uniform(0, pause))  # noqa: S311
        pause = pause * 2 or FIRST_PAUSE
        return await created(context, make())

    return await attempt()
