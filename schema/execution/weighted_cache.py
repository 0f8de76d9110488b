"""LRU cache that is limited by the weight of its values."""

from collections import OrderedDict
from typing import Generic, TypeVar

T = TypeVar("T")


class WeightedCache(Generic[T]):
    def __init__(self, capacity: int, largest: int | None = None) -> None:
        """A value that weighs over `largest`, by default a twentieth of the capacity, is not kept."""
        self._capacity = capacity
        self._largest = capacity // 20 if largest is None else largest
        self._kept: OrderedDict[str, tuple[T, int]] = OrderedDict()
        self._weight = 0

    def find(self, key: str) -> T | None:
        kept = self._kept.get(key)
        if kept is None:
            return None
        self._kept.move_to_end(key)
        return kept[0]

    def keep(self, key: str, value: T, weight: int) -> None:
        """Adds a value, or updates its weight."""
        self.forget(key)
        if weight > self._largest:
            return
        self._kept[key] = value, weight
        self._weight += weight
        while self._weight > self._capacity:
            self.forget(next(iter(self._kept)))

    def forget(self, key: str) -> None:
        _, weight = self._kept.pop(key, (None, 0))
        self._weight -= weight
