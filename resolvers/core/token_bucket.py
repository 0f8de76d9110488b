"""Token buckets in memory: one per subject, bounded in number.

A bucket is kept as the time at which it is full again. It refills by itself, taking from it is one addition, and a
bucket that is full need not be kept at all.
"""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from math import ceil

MOST_SUBJECTS = 20_000
"""Buckets kept for each policy, of about 330 bytes each."""
LOOKED_AT = 16
MOST_RECENT = 1_000
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Policy:
    """A quota of units in a window of seconds: the size of a bucket, and the time an empty one needs to be full."""

    name: str
    quota: int
    window: int

    @property
    def text(self) -> str:
        """An item of the `RateLimit-Policy` header."""
        return f'"{self.name}";q={self.quota};w={self.window}'


class Bucket:
    """`full_at` is the time at which it is full again.

    `used` is what this server has taken from it, and `own_full_at` when it would be full without other servers.
    """

    __slots__ = ("full_at", "own_full_at", "used")

    def __init__(self, full_at: float) -> None:
        self.full_at = full_at
        self.own_full_at = full_at
        self.used = 0


class Buckets:
    """The buckets of one policy, in order of their last use. Times are those of any one clock."""

    def __init__(self, policy: Policy, most: int = MOST_SUBJECTS) -> None:
        self.policy = policy
        self.text = policy.text
        self._quota = policy.quota
        self._window = policy.window
        self._interval = policy.window / policy.quota
        self._most = most
        self._kept: OrderedDict[str, Bucket] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def wait(self, subject: str, amount: int, now: float) -> float:
        """Returns the seconds until the amount can be taken, 0 if it can be now. A full bucket allows any amount."""
        bucket = self._kept.get(subject)
        if bucket is None:
            return 0.0
        needed = (amount if amount < self._quota else self._quota) * self._interval
        wait = bucket.full_at + needed - self._window - now
        return wait if wait > TOLERANCE else 0.0

    def take(self, subject: str, amount: int, now: float) -> None:
        """Takes the amount, or all there is of a bucket that is smaller."""
        bucket = self._kept.get(subject)
        if bucket is None:
            self._make_room(now)
            bucket = self._kept[subject] = Bucket(now)
        else:
            self._kept.move_to_end(subject)
        if amount > self._quota:
            amount = self._quota
        bucket.used += amount
        seconds = amount * self._interval
        bucket.own_full_at = (bucket.own_full_at if bucket.own_full_at > now else now) + seconds
        self.drain_for(bucket, seconds, now)

    def drain(self, bucket: Bucket, amount: int, now: float) -> None:
        """Takes the amount that another server let the subject use."""
        self.drain_for(bucket, amount * self._interval, now)

    def drain_for(self, bucket: Bucket, seconds: float, now: float) -> None:
        """Takes what refills in these seconds.

        Servers that do not know of each other's use yet can overdraw a bucket. One more bucket at most is paid back.
        """
        full_at = (bucket.full_at if bucket.full_at > now else now) + seconds
        most = now + 2 * self._window
        bucket.full_at = full_at if full_at < most else most

    def debt(self, subject: str, now: float) -> float:
        """Returns the seconds until the bucket is full."""
        bucket = self._kept.get(subject)
        return max(0.0, bucket.full_at - now) if bucket else 0.0

    def state(self, debt: float) -> str:
        """An item of the `RateLimit` header, for a bucket that is full in `debt` seconds."""
        remaining = int((self._window - debt) / self._interval + TOLERANCE)
        return f'"{self.policy.name}";r={max(0, remaining)};t={ceil(debt)}'

    def in_use(self, share: float, now: float) -> Iterator[tuple[str, Bucket]]:
        """Yields those of the most recently used buckets of which more than this share is missing."""
        least = now + share * self._window
        for subject, bucket in islice(reversed(self._kept.items()), MOST_RECENT):
            if bucket.full_at > least:
                yield subject, bucket

    def _make_room(self, now: float) -> None:
        """Drops full buckets from the old end; if there are too many and none there is full, the oldest."""
        oldest = [*islice(self._kept.items(), LOOKED_AT)]
        full = [subject for subject, bucket in oldest if bucket.full_at <= now]
        if not full and len(self._kept) >= self._most:
            full = [oldest[0][0]]
        for subject in full:
            del self._kept[subject]
