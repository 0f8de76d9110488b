"""Makes the rate limits of several servers one: each server tells the others what its busiest subjects have used.

Every two seconds, a server where subjects have used more than a tenth of a quota writes one record with all of them,
and reads the records of the others. That is two calls for any number of requests and up to 1,000 subjects, and one more
in the first round of an hour. Without new use of such subjects it makes no calls. Between two rounds, servers do not
know of each other's use: a subject that overdraws its bucket that way pays it back.
"""

import asyncio
import contextlib
import time
from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from heapq import nlargest
from operator import itemgetter

import orjson

from datastore.client.budget import Usage
from datastore.client.positions import Position
from datastore.client.table import Table
from datastore.model.times import new_id
from datastore.rate_limits import ServerUsage
from loaders.visibility import never_shown
from resolvers.background.write_behind import Waiting
from resolvers.core.token_bucket import Bucket, Buckets

never_shown(ServerUsage, because="only rate limiters read it")

HOUR = 3600
SHARE = 0.1
"""Part of a bucket that may be missing before other servers are told."""
MOST_SHARED = 1_000
PAGE = 1_000
TIME_FOR_ONE = 5.0


@dataclass(frozen=True)
class Shared:
    """A local bucket that servers talk about."""

    digest: str
    bucket: Bucket
    buckets: Buckets


@dataclass(frozen=True)
class Report:
    """The state of another server: units and seconds by digest."""

    written_at: float
    used: dict[str, tuple[int, float]]


class UsageSharing(Waiting):
    """One per server."""

    what = "used rate limits"
    pause = 2.0

    def __init__(
        self,
        table: Table,
        buckets: Sequence[Buckets],
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__()
        self._table = table
        self._buckets = buckets
        self._clock = clock
        self._wall_clock = wall_clock
        self._server_id = new_id()
        self._hour = 0
        self._reports: dict[str, Report] = {}
        self._published: dict[str, int] = {}
        # Units of other servers that are taken from the buckets here, by server and digest.
        self._applied: dict[tuple[str, str], int] = {}

    @property
    def count(self) -> int:
        return len(self._busiest())

    def left(self) -> Iterable[object]:
        return ()

    async def flush(self) -> None:
        """Writes the use of this server and takes that of the others, if anything was used here since the last time."""
        shared = self._busiest()
        used = {each.digest: each.bucket.used for each in shared}
        if all(self._published.get(digest) == units for digest, units in used.items()):
            return
        table = self._table.using(Usage.lasting(TIME_FOR_ONE))
        await self._publish(table, shared)
        self._published = used
        await self._read(table)
        self._apply(shared)

    def _busiest(self) -> list[Shared]:
        """Returns the subjects that have used the largest shares of their quotas."""
        now = self._clock()
        found = [
            ((bucket.full_at - now) / buckets.policy.window, buckets, subject, bucket)
            for buckets in self._buckets
            for subject, bucket in buckets.in_use(SHARE, now)
        ]
        return [
            Shared(_digest(buckets, subject), bucket, buckets)
            for _, buckets, subject, bucket in nlargest(MOST_SHARED, found, key=itemgetter(0))
        ]

    async def _publish(self, table: Table, shared: Sequence[Shared]) -> None:
        now, wall_time = self._clock(), self._wall_clock()
        used = {each.digest: (each.bucket.used, round(max(0.0, each.bucket.own_full_at - now), 1)) for each in shared}
        hour = int(wall_time) // HOUR
        await table.put(
            ServerUsage(
                hour=hour,
                server_id=self._server_id,
                written_at=round(wall_time, 3),
                used=orjson.dumps(used).decode(),
                expires_at=(hour + 2) * HOUR,
            )
        )

    async def _read(self, table: Table) -> None:
        """Reads the records of this hour; the first time in an hour, those of the previous one, too."""
        wall_time = self._wall_clock()
        hour = int(wall_time) // HOUR
        for each in (hour,) if hour == self._hour else (hour - 1, hour):
            await self._read_hour(table, each)
        self._hour = hour
        self._reports = {
            server_id: report for server_id, report in self._reports.items() if report.written_at > wall_time - HOUR
        }

    async def _read_hour(self, table: Table, hour: int) -> None:
        after: Position | None = None
        while True:
            page = await table.query(ServerUsage.within(hour=hour), limit=PAGE, after=after)
            for record in page.records:
                if record.server_id != self._server_id:
                    with contextlib.suppress(orjson.JSONDecodeError):
                        self._reports[record.server_id] = Report(record.written_at, orjson.loads(record.used))
            # Decoding takes a millisecond for each thousand subjects.
            await asyncio.sleep(0)
            after = page.more
            if after is None:
                return

    def _apply(self, shared: Sequence[Shared]) -> None:
        now, wall_time = self._clock(), self._wall_clock()
        applied: dict[tuple[str, str], int] = {}
        for server_id, report in self._reports.items():
            age = max(0.0, wall_time - report.written_at)
            for each in shared:
                if each.digest not in report.used:
                    continue
                used, seconds = report.used[each.digest]
                before = self._applied.get((server_id, each.digest))
                if before is None:
                    # Not known here yet: what is missing because of that server, less what has refilled since.
                    each.buckets.drain_for(each.bucket, max(0.0, seconds - age), now)
                else:
                    # A server that has forgotten a subject begins again from zero.
                    each.buckets.drain(each.bucket, used - before if used >= before else used, now)
                applied[server_id, each.digest] = used
        self._applied = applied


def _digest(buckets: Buckets, subject: str) -> str:
    """Returns a short name of a policy and its subject, which tells neither an address nor an account."""
    name = f"{buckets.policy.name} {subject}".encode(errors="replace")
    return b64encode(blake2b(name, digest_size=12).digest()).decode()
