"""Fractional indexing: sort keys as digit strings, with room for another between any two."""

import random

from datastore.model.times import now

# Digits added for a key between two adjacent ones, and the largest step there.
LEVEL = 6
STEP = 1_000


def at_the_end() -> str:
    """Returns a key after all earlier ones, based on the time. Random digits distinguish concurrent calls."""
    moment = "".join(filter(str.isdigit, now()))
    return f"{moment}{_by_chance(6)}"


def between(low: str, high: str) -> str:
    """Returns a key between the two. Empty text sorts first.

    A key is a decimal fraction: 05 is halfway between 0 and 1. No key ends in zero, so each has one form. People often
    insert at the same position repeatedly: a key close to its neighbor leaves room for many more, which the middle
    would not. Levels are filled alternately from their end and from their beginning.
    """
    low, high = low.rstrip("0"), high.rstrip("0")
    if low >= high:
        return f"{low}{_by_chance(LEVEL)}"
    width, below, above = 0, 0, 0
    while above - below < 2:
        width += LEVEL
        below, above = _number(low, width), _number(high, width)
    step = random.randrange(1, min(above - below, STEP))  # noqa: S311
    chosen = above - step if width // LEVEL % 2 else below + step
    return f"{chosen:0{width}d}{_by_chance(4)}"


def _number(place: str, width: int) -> int:
    return int(place[:width].ljust(width, "0"))


def _by_chance(width: int) -> str:
    """Random digits, so that two concurrent inserts at the same position do not collide."""
    return f"{random.randrange(10 ** (width - 1)):0{width - 1}d}{random.randrange(1, 10)}"  # noqa: S311
