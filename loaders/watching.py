"""Finds who has read what a change concerns, however many have read something: a few look-ups per change."""

from collections.abc import Hashable, Iterable, Iterator
from typing import Generic, TypeVar

from datastore.changes.change import Change
from loaders.kept import NOTHING, Partition, Place, ReadSet, Window, partitions_of

K = TypeVar("K", bound=Hashable)
W = TypeVar("W", bound=Hashable)


class _Watchers(Generic[K, W]):
    """Watchers by what they watch. Most things have one, and a set of one takes ten times the memory."""

    def __init__(self) -> None:
        self._single: dict[K, W] = {}
        self._several: dict[K, set[W]] = {}

    def __len__(self) -> int:
        return len(self._single) + len(self._several)

    def add(self, key: K, watcher: W) -> None:
        if key in self._several:
            self._several[key].add(watcher)
        elif self._single.setdefault(key, watcher) != watcher:
            self._several[key] = {self._single.pop(key), watcher}

    def discard(self, key: K, watcher: W) -> bool:
        """Returns True if no one watches it now."""
        if self._single.pop(key, None) is not None:
            return True
        watchers = self._several[key]
        watchers.discard(watcher)
        if len(watchers) == 1:
            self._single[key] = self._several.pop(key).pop()
        return False

    def of(self, key: K) -> Iterable[W]:
        if (watcher := self._single.get(key)) is not None:
            return (watcher,)
        return self._several.get(key, ())


class Watching(Generic[W]):
    """Watchers by the keys and windows that they have read."""

    def __init__(self) -> None:
        self._read_sets: dict[W, ReadSet] = {}
        self._places: _Watchers[Place, W] = _Watchers()
        self._windows: _Watchers[Window, W] = _Watchers()
        self._partitions: _Watchers[Partition, Window] = _Watchers()

    def __len__(self) -> int:
        return len(self._read_sets)

    def __iter__(self) -> Iterator[W]:
        return iter([*self._read_sets])

    def watch(self, watcher: W, read_set: ReadSet) -> None:
        """Replaces what a watcher has read."""
        before = self._read_sets.get(watcher, NOTHING)
        self._forget(watcher, before.places - read_set.places, before.windows - read_set.windows)
        for place in read_set.places - before.places:
            self._places.add(place, watcher)
        for window in read_set.windows - before.windows:
            self._windows.add(window, watcher)
            self._partitions.add(window.partition, window)
        self._read_sets[watcher] = read_set

    def unwatch(self, watcher: W) -> None:
        """Forgets a watcher."""
        read_set = self._read_sets.pop(watcher, NOTHING)
        self._forget(watcher, read_set.places, read_set.windows)

    def concerned(self, change: Change) -> set[W]:
        """Returns everyone who has read the item, or a window that it was in or is in."""
        found = set(self._places.of(change.key[1:]))
        for partition, sk in partitions_of(change):
            for window in self._partitions.of(partition):
                if window.low <= sk <= window.high:
                    found.update(self._windows.of(window))
        return found

    def _forget(self, watcher: W, places: frozenset[Place], windows: frozenset[Window]) -> None:
        for place in places:
            self._places.discard(place, watcher)
        for window in windows:
            if self._windows.discard(window, watcher):
                self._partitions.discard(window.partition, window)


def concerns(read_set: ReadSet, change: Change) -> bool:
    """Returns True if the change concerns one who has read this."""
    if change.key[1:] in read_set.places:
        return True
    partitions = [*partitions_of(change)]
    return any(
        window.partition == partition and window.has(sk) for window in read_set.windows for partition, sk in partitions
    )
