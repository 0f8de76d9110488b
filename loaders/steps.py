"""Steps: reading that says what it needs, and leaves it to others how to get it.

A step is a generator. It yields a need (items, a page of a range, other steps) and is sent what it asked for, until it
returns its result. So whoever runs the steps of a query sees what all of them need at one time, and makes as few calls
of it as can be: `loaders.walk` for a whole query at once, `Loaders.alone` for one step among concurrent tasks.
"""

from collections.abc import Generator, Sequence
from typing import Any, NamedTuple, TypeVar

from datastore.keys import Key
from datastore.table import KeysRead, RangeRead

T = TypeVar("T")


class Items(NamedTuple):
    """The records at these keys as they are stored, in order; None for what is not there and for no key."""

    keys: Sequence[Key[Any] | None]


class Pages(NamedTuple):
    """These pages as they are stored, in order."""

    reads: Sequence[RangeRead | KeysRead]


class Together(NamedTuple):
    """The results of other steps, which go side by side."""

    steps: Sequence["Step[Any]"]


Need = Items | Pages | Together
Step = Generator[Need, Any, T]
