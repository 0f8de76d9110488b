"""Places in an order that people arrange: texts of digits, between any two of which there is another."""

import random

from datastore.model.times import now

# A place that lies deeper than its neighbors has so many digits more; there, places lie at most so far apart.
LEVEL = 6
STEP = 1_000


def at_the_end() -> str:
    """Behind all places that were given out at the end before: the time. Two at once are told apart by chance."""
    moment = "".join(filter(str.isdigit, now()))
    return f"{moment}{_by_chance(6)}"


def between(low: str, high: str) -> str:
    """Somewhere between the two. Nothing is below empty text.

    A place is a fraction: 05 is halfway between 0 and 1. None ends with a zero, so each has one text. People put one
    thing after the other at the same spot: there a place close to its neighbor leaves room for many more, and the
    middle would not. By turns, a level is filled from its end and from its beginning.
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
    """Two who put something at the same spot at once do not meet."""
    return f"{random.randrange(10 ** (width - 1)):0{width - 1}d}{random.randrange(1, 10)}"  # noqa: S311
