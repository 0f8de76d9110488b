"""Remembers the changes of the last seconds: a read that was sent at that time may not have seen them."""

from collections import deque
from collections.abc import Iterator
from typing import Any

from datastore.changes.change import Change
from datastore.model.keys import Key
from loaders.kept import Partition, Place, Window, partitions_of

# A change takes about a kilobyte of memory.
MOST = 10_000
NEVER = float("-inf")


class RecentChanges:
    """Changes by item and by partition, with the time at which this process heard of them."""

    def __init__(self, seconds: float, most: int = MOST) -> None:
        self._seconds = seconds
        self._most = most
        self._heard: deque[tuple[float, Change]] = deque()
        self._places: dict[Place, float] = {}
        self._partitions: dict[Partition, deque[tuple[float, str, Key[Any]]]] = {}
        # All changes after this time are known.
        self._known_after = float("inf")

    def begin(self, at: float) -> None:
        """Begins at this time: nothing is known of what was before."""
        while self._heard:
            self._forget_first()
        self._known_after = at

    def knows_since(self, at: float) -> bool:
        """Returns True if no change since this time is missing."""
        return at > self._known_after

    def add(self, at: float, change: Change) -> None:
        self._heard.append((at, change))
        self._places[change.key[1:]] = at
        for partition, sk in partitions_of(change):
            self._partitions.setdefault(partition, deque()).append((at, sk, change.key))
        while self._heard[0][0] < at - self._seconds or len(self._heard) > self._most:
            self._known_after = max(self._known_after, self._forget_first())

    def last_of(self, place: Place) -> float:
        """Returns the time of the last known change of an item."""
        return self._places.get(place, NEVER)

    def inside(self, window: Window, since: float) -> Iterator[Key[Any]]:
        """Yields the items that have moved into a window or out of it, as far as their changes tell."""
        for at, sk, key in reversed(self._partitions.get(window.partition, ())):
            if at < since:
                break
            if window.has(sk):
                yield key

    def _forget_first(self) -> float:
        at, change = self._heard.popleft()
        if self._places.get(change.key[1:]) == at:
            del self._places[change.key[1:]]
        for partition, _ in partitions_of(change):
            heard = self._partitions[partition]
            heard.popleft()
            if not heard:
                del self._partitions[partition]
        return at
