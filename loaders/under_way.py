"""Tracks reads of one kind, items or pages: which steps wait, and what is being read for them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

from datastore.client.errors import CorruptItem
from loaders.consumer import AnyConsumer
from loaders.needs import Step, Then

N = TypeVar("N")


class Waiting(NamedTuple, Generic[N]):
    """A step, its need, and the consumer of its result."""

    need: N
    consumer: AnyConsumer
    step: Step[Any]
    then: Then


class Reading(Generic[N]):
    """One read under way, and the steps that wait for it."""

    def __init__(self) -> None:
        self.keys: list[Any] = []
        self.waiting: list[Waiting[N]] = []
        # Keys that were written, or read again, after this read was sent.
        self.overtaken: set[Any] = set()

    def __contains__(self, key: Any) -> bool:
        return key in self._set and key not in self.overtaken

    # Needed only if another read is sent in the meantime, which is rare.
    @cached_property
    def _set(self) -> frozenset[Any]:
        return frozenset(self.keys)


class Reads(Generic[N]):
    """`known` returns the answer to a need, or None; `unknown` returns the keys that have to be read for it."""

    def __init__(self, known: Callable[[N], Any], unknown: Callable[[N], Sequence[Any]]) -> None:
        self.known = known
        self.waiting: list[Waiting[N]] = []
        self.under_way: list[Reading[N]] = []
        self.unknown = unknown

    def send(self) -> tuple[Reading[N], list[Waiting[N]]]:
        """Assigns each waiting step to a reading: to a new one for all that is not under way already.

        Returns the new reading and the steps whose needs have become known in the meantime.
        """
        waiting, self.waiting = self.waiting, []
        reading: Reading[N] = Reading()
        ready: list[Waiting[N]] = []
        for each in waiting:
            unknown = () if each.consumer.is_gone else self.unknown(each.need)
            if unknown:
                self._assign(each, unknown, reading)
            else:
                ready.append(each)
        if reading.keys:
            self.under_way.append(reading)
        return reading, ready

    def _assign(self, waiting: Waiting[N], unknown: Sequence[Any], new: Reading[N]) -> None:
        """A step that depends on several readings is assigned again when the first of them is there."""
        on = new
        if not self.under_way:
            new.keys += unknown
        else:
            for key in unknown:
                joined = next((reading for reading in self.under_way if key in reading), None)
                if joined is None:
                    new.keys.append(key)
                else:
                    on = joined
        on.waiting.append(waiting)

    def overtake(self, keys: Iterable[Any] | None = None) -> None:
        """Marks what is under way for these keys, or for all, as out of date: steps that wait get it, others do not."""
        for reading in self.under_way:
            reading.overtaken.update(reading.keys if keys is None else keys)

    def receive(self, reading: Reading[N], found: Mapping[Any, Any]) -> dict[Any, Any]:
        """Returns the answers that may be kept: damage stays, other failures pass."""
        self.under_way.remove(reading)
        if not reading.overtaken and not any(issubclass(each, Exception) for each in set(map(type, found.values()))):
            return dict(found)
        return {
            key: answer
            for key, answer in found.items()
            if (not isinstance(answer, Exception) or isinstance(answer, CorruptItem)) and key not in reading.overtaken
        }
