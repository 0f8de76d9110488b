"""Popularity by Zipf's law: the second is chosen half as often as the first, the third a third as often."""

import random
from collections.abc import Sequence
from itertools import accumulate
from typing import TypeVar

EXPONENT = 1.0

T = TypeVar("T")


def zipf(count: int, exponent: float = EXPONENT) -> list[float]:
    """Returns the cumulative shares of the ranks from 1 to `count`."""
    weights = [rank**-exponent for rank in range(1, count + 1)]
    return [share / sum(weights) for share in accumulate(weights)]


def popular(choices: Sequence[T], count: int, chance: random.Random) -> list[T]:
    """Returns `count` of the choices, which are in the order of their popularity."""
    return chance.choices(choices, cum_weights=zipf(len(choices)), k=count)


def popular_set(choices: Sequence[T], size: int, chance: random.Random) -> list[T]:
    """Returns `size` different choices, popular ones more often than others."""
    found: dict[T, None] = {}
    while len(found) < size:
        found.update(dict.fromkeys(popular(choices, size, chance)))
    return list(found)[:size]
