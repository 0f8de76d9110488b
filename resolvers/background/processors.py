"""Processors: functions that keep derived data equal to the records it is derived from."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from datastore.changes.change import Change
from datastore.client.writes import Write
from datastore.model.entity import Entity

React = Callable[..., Awaitable[Sequence[Write] | None]]
F = TypeVar("F", bound=React)

# Places in the transaction that holds the writes of a processor and its position.
MOST_WRITES = 90


@dataclass(frozen=True)
class Processor:
    """A function and the entities it listens to. It gets up to `at_once` changes in a call."""

    name: str
    react: React
    entities: frozenset[type[Entity]]
    at_once: int

    def concerns(self, change: Change) -> bool:
        return change.key.entity in self.entities


PROCESSORS: dict[str, Processor] = {}


def processor(*entities: type[Entity], at_once: int = 100) -> Callable[[F], F]:
    """Registers a function that reacts to the changes of these entities.

    It must be idempotent: it may get a change again. What it returns is written exactly once, with its position.
    """

    def registered(function: F) -> F:
        name = function.__name__
        unlogged = [each.__name__ for each in entities if not each.logged]
        if not entities or unlogged:
            told = f"{unlogged[0]} is not in the change log" if unlogged else "it listens to nothing"
            raise TypeError(f"the processor {name}: {told}; name entities that are logged: @processor(Post, Comment)")
        if name in PROCESSORS:
            raise TypeError(f"there are two processors {name}; rename one: its position is stored under its name")
        PROCESSORS[name] = Processor(name, function, frozenset(entities), at_once)
        return function

    return registered
