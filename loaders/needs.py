"""Steps: reading that says what it needs, and leaves it to others how to get it.

A step is a generator. It yields a need (items, a page of a range, other steps) and is sent what it asked for, until it
returns its result. So whoever runs the steps of a query sees what all of them need at one time, and makes as few calls
of it as can be: `loaders.scheduler` for a whole query at once, `Loaders.alone` for one step among concurrent tasks.
"""

from collections.abc import Callable, Generator, Hashable, Sequence
from typing import Any, NamedTuple, TypeVar

from datastore.client.table import KeysRead, RangeRead
from datastore.model.keys import Key

T = TypeVar("T")


class Items(NamedTuple):
    """The records at these keys as they are stored, in order; None for what is not there and for no key.

    Behind them those that only have to be `judged`: these may lack their heavy fields, as lists bring them.
    """

    keys: Sequence[Key[Any] | None]
    judged: Sequence[Key[Any] | None] = ()


class Pages(NamedTuple):
    """These pages as they are stored, in order."""

    reads: Sequence[RangeRead | KeysRead]


class Together(NamedTuple):
    """The results of other steps, which go side by side."""

    steps: Sequence["Step[Any]"]


class Once(NamedTuple):
    """The result of a step that is taken once in a request, whoever asks for it."""

    name: Hashable
    step: Callable[[], "Step[Any]"]


Need = Items | Pages | Together | Once
Step = Generator[Need, Any, T]
