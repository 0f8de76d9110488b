"""Limits of single commands, per viewer and hour.

All of them but `signUp` refuse anonymous requests, so those need not be counted. The limits on guessing passwords, on
mail and on what visitors of a website write are declared where they are counted.
"""

import time
from collections.abc import Callable, Mapping

from loaders.request import Loaders
from loaders.viewer import Viewer
from resolvers.core.problems import too_many
from resolvers.core.rate_limit import count_attempt
from resolvers.core.token_bucket import Buckets, Policy

HOUR = 3600

PER_HOUR: Mapping[str, int] = {
    "signUp": 20,
    "changeUsername": 10,
    "changeEmail": 10,
    "updateProfile": 120,
    "createPost": 60,
    "addComment": 300,
    "likePost": 1_000,
    "followUser": 200,
    "createNeighborhood": 20,
    "joinNeighborhood": 100,
    "inviteMember": 200,
    "createSite": 20,
    "startBuild": 60,
    "createCard": 60,
    "addCardComment": 300,
    "vote": 1_000,
    "createCollection": 100,
    "createTree": 30,
    "shareTree": 200,
    "importGedcom": 30,
    "createWebhook": 30,
    "sendTestWebhook": 60,
    "redeliverWebhook": 200,
}
"""Default limits. RATE_LIMIT_COMMANDS changes them; 0 is no limit."""

COUNTED_IN_TABLE = frozenset({"signUp"})
"""Commands whose abuse matters most: counted in the table, per client, exactly and across servers."""

WRITES: Mapping[str, int] = {"importGedcom": 20}
"""Commands that count as several writes."""


def limits_in(text: str) -> dict[str, int]:
    """Returns the limits written as `createPost=30,vote=0`; raises ValueError for anything else."""
    limits = {}
    for entry in filter(None, map(str.strip, text.split(","))):
        name, _, number = map(str.strip, entry.partition("="))
        if name not in PER_HOUR or not number.isdecimal() or len(number) > 9:
            known = ", ".join(PER_HOUR)
            raise ValueError(f"write limits per hour as createPost=30,vote=0, with commands out of {known}")
        limits[name] = int(number)
    return limits


class CommandLimits:
    """One per server."""

    def __init__(self, per_hour: Mapping[str, int], clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._in_table = {name: limit for name, limit in per_hour.items() if name in COUNTED_IN_TABLE and limit}
        self._in_memory = {
            name: Buckets(Policy(name, limit, HOUR))
            for name, limit in per_hour.items()
            if name not in COUNTED_IN_TABLE and limit
        }

    @property
    def buckets(self) -> list[Buckets]:
        return [*self._in_memory.values()]

    async def count(self, command: str, load: Loaders, client: str) -> None:
        """Counts a command of the viewer, or a sign-up of the client; raises Refused over the limit."""
        if command in self._in_memory:
            self._take(self._in_memory[command], load.viewer)
        elif limit := self._in_table.get(command):
            message = f"too many calls of {command} from your network"
            await count_attempt(load, {f"{command} from {client}": limit}, every=HOUR, message=message)

    def _take(self, buckets: Buckets, viewer: Viewer) -> None:
        if viewer.user_id is None:
            return
        now = self._clock()
        if wait := buckets.wait(viewer.user_id, 1, now):
            policy = buckets.policy
            raise too_many(f"{policy.name} is limited to {policy.quota:,} an hour", wait)
        buckets.take(viewer.user_id, 1, now)


UNCOUNTED = CommandLimits({})
