"""Steps: generators that say what they need to read and leave the reading to the scheduler.

A step yields a need (items, pages, other steps), is sent the answer, and returns its result. `loaders.scheduler` sees
the needs of all steps of a request at a time, so it reads them in as few calls as possible. A step cannot catch a
failed read: the failure ends the step and every step that waits for it, unless that takes the error as a result.
"""

from collections.abc import Callable, Coroutine, Generator, Hashable, Sequence
from typing import Any, NamedTuple, TypeVar

from datastore.client.table import KeysRead, RangeRead
from datastore.model.keys import Key
from loaders.threads import Lane

T = TypeVar("T")

PageRead = RangeRead | KeysRead


class Items(NamedTuple):
    """The stored records at these keys, in order; None for a missing record and for a key of None.

    The records of `judged` follow. They decide about visibility only, so they may lack their heavy fields.

    A damaged record fails the step, unless `or_damage` is set: then its CorruptItem is in its place.
    """

    keys: Sequence[Key[Any] | None]
    judged: Sequence[Key[Any] | None] = ()
    or_damage: bool = False


class Latest(NamedTuple):
    """The records at these keys by a strongly consistent read, even if the request has read them before."""

    keys: Sequence[Key[Any]]


class Pages(NamedTuple):
    """The stored pages of these reads, in order."""

    reads: Sequence[PageRead]


class Together(NamedTuple):
    """The results of several steps that run concurrently, in order.

    If one fails, all do, unless `or_error` is set: then its error is in its place.
    """

    steps: Sequence["Step[Any]"]
    or_error: bool = False


class Once(NamedTuple):
    """The result of a step that runs once per request, however many steps ask for it by this name."""

    name: Hashable
    step: Callable[[], "Step[Any]"]


class Computed(NamedTuple):
    """The result of a function that takes long. It runs in a thread of the lane, so it must not read or write."""

    lane: Lane
    function: Callable[[], Any]


class Awaited(NamedTuple):
    """The result of a service other than the table. The function gets the seconds that are left for it."""

    function: Callable[[float], Coroutine[Any, Any, Any]]


Need = Items | Latest | Pages | Together | Once | Computed | Awaited
Step = Generator[Need, Any, T]
Then = Callable[[Any], None]
"""Takes the result of a step."""


# Below this number of records a thread would only add to the time: they take a few milliseconds.
FEW = 300


def computed(lane: Lane, size: int, function: Callable[[], T]) -> Step[T]:
    """A step that returns the result of a function over `size` records: at once if these are few, else in a thread."""
    if size < FEW:
        return function()
    result: T = yield Computed(lane, function)
    return result


def needed(need: Need) -> Step[Any]:
    """A step that returns the answer to one need."""
    return (yield need)
