"""Admission control: how many requests run at a time, how many wait, and when the rest is refused.

The limit follows the delays at the two things that all requests share: the event loop, whose delay is what a saturated
CPU looks like from inside, and the DynamoDB calls in flight. While either delay is long the limit shrinks, and while
both are short and the limit is reached the limit grows. A slow database alone delays neither.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from statistics import median

from datastore.client.durations import Durations

TICK = 0.025
SAMPLES = 5
"""The median of this many delays counts, so that a single long step changes nothing."""
TARGET = 0.020
"""Accepted delay, in seconds."""
LEAST = 8
"""Requests that may always run."""
AT_FIRST = 32
PATIENCE = 0.5
"""Longest wait in the queue, which absorbs a burst."""
HURRY = 0.025
"""Longest wait while requests are being refused: then more requests arrive than can run, and waiting helps no one."""
CALM_AFTER = 1.0
"""Seconds without a refusal after which the queue may be long again."""
LONGEST_QUEUE = 200


class Overloaded(Exception):
    """The server has more requests than it can run now."""


class Admission:
    """Use it as an asynchronous context manager around the work of a request; entering raises Overloaded."""

    def __init__(
        self,
        most: int,
        clock: Callable[[], float] = time.monotonic,
        calls_wait: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """`calls_wait` returns the seconds that DynamoDB calls wait for each other."""
        self._most = most
        self._calls_wait = calls_wait
        self._clock = clock
        self._lags: deque[float] = deque(maxlen=SAMPLES)
        self._waits: deque[float] = deque(maxlen=SAMPLES)
        self._queue: deque[tuple[float, asyncio.Future[bool]]] = deque()
        self._hurried_until = 0.0
        self.limit = float(min(AT_FIRST, most))
        self.running = 0
        self.admitted = 0
        self.shed = 0
        self.lag = 0.0
        self.queue_times = Durations()
        """Time that requests waited, whether they were admitted or refused. Those that did not wait are not in it."""

    @property
    def waiting(self) -> int:
        return len(self._queue)

    def refuses(self) -> bool:
        """Returns True, and counts a refusal, if a request that arrives now has no place in the queue.

        It can be called before a request is read, so that a refusal costs next to nothing.
        """
        now = self._clock()
        longest = self.limit / 4 if now < self._hurried_until else LONGEST_QUEUE
        if self.running < self.limit or len(self._queue) < longest:
            return False
        self._refused(now)
        return True

    async def __aenter__(self) -> None:
        if self.running < self.limit and not self._queue:
            self.running += 1
        elif self.refuses() or not await self._wait():
            raise Overloaded
        self.admitted += 1

    async def __aexit__(self, *_: object) -> None:
        self._leave()

    async def _wait(self) -> bool:
        """Waits in the queue; returns False if no place became free in time."""
        place: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        since = self._clock()
        self._queue.append((since, place))
        try:
            return await place
        except asyncio.CancelledError:
            if not place.cancelled() and place.result():
                self._leave()
            raise
        finally:
            self.queue_times.observe(self._clock() - since)

    def _leave(self) -> None:
        self.running -= 1
        self._serve_queue()

    def _serve_queue(self) -> None:
        """Refuses those that waited too long, then admits others: the oldest first, or the newest in a hurry.

        In a hurry the oldest are about to be refused; serving the newest first keeps all answers fast.
        """
        now = self._clock()
        is_hurried = now < self._hurried_until
        while self._queue and self._queue[0][0] < now - (HURRY if is_hurried else PATIENCE):
            _, place = self._queue.popleft()
            if not place.done():
                self._refused(now)
                place.set_result(False)
        while self._queue and self.running < self.limit:
            _, place = self._queue.pop() if is_hurried else self._queue.popleft()
            if not place.done():
                self.running += 1
                place.set_result(True)

    def _refused(self, now: float) -> None:
        self.shed += 1
        self._hurried_until = now + CALM_AFTER

    async def run(self) -> None:
        """Measures the delays and adapts the limit, forever."""
        while True:
            due = self._clock() + TICK
            await asyncio.sleep(TICK)
            # A timer runs ahead of everything that is ready; the next turn comes after it, as for a request.
            await asyncio.sleep(0)
            self._lags.append(max(0.0, self._clock() - due))
            self._waits.append(self._calls_wait())
            self.lag = median(self._lags)
            self.adapt(max(self.lag, median(self._waits)))

    def adapt(self, delay: float) -> None:
        """Changes the limit by the longer one of the two delays."""
        if delay > TARGET:
            busy = min(self.limit, max(self.running, LEAST))
            self.limit = max(LEAST, busy * max(0.5, TARGET / delay))
        elif self._queue or self.running >= self.limit:
            self.limit = min(self._most, self.limit * 1.1)
        elif self.running < self.limit / 2:
            # A limit from a time when requests waited for the database would let too many run at once.
            self.limit = max(min(self.limit, AT_FIRST), self.limit * 0.98)
        self._serve_queue()
