"""Rules of consistency. Each domain declares its own in checks.py; most follow from the owner an entity declares.

counter("follower_count", User, of=Follow, at=followed, items=followers_of, when=lambda f: f.hidden_at is None)
needs(Like, liked_post)
guarded("username", User, values=lambda user: [user.username])
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from datastore.client.writes import Write
from datastore.model.entity import Entity
from datastore.model.keys import Key, Range
from resolvers.background.processors import React

Live = Callable[[Any], bool]
Keys = Callable[[Any], "Key[Any] | Iterable[Key[Any]] | None"]


def is_undeleted(record: Any) -> bool:
    """True unless the record is deleted and waits to be purged: nothing is counted for it then."""
    return getattr(record, "deleted_at", None) is None


@dataclass(frozen=True)
class Counter:
    """A number stored with `subject`, or in parts in other items, and the items that it counts."""

    name: str
    subject: type[Entity]
    of: type[Entity]
    at: Callable[[Any], Key[Any] | None]
    """The key of the subject that counts an item."""
    items: Callable[[Any], Range[Any]]
    """The range with all items of a subject, and perhaps others."""
    weight: Callable[[Any], int]
    """What an item adds to the number."""
    parts: type[Entity] | None
    """The entity whose items hold the number, or parts of it."""
    part_keys: Callable[[Any], Sequence[Key[Any]]]
    """The keys of all items of a subject that hold parts. A repair changes the first."""
    subject_of: Callable[[Any], Key[Any]]
    """The key of the subject of a part."""
    when: Live
    """False for a subject whose number means nothing."""

    @property
    def label(self) -> str:
        return f"{self.subject.__name__}.{self.name}"


COUNTERS: list[Counter] = []


def counter(
    name: str,
    subject: type[Entity],
    *,
    of: type[Entity],
    at: Callable[[Any], Key[Any] | None],
    items: Callable[[Any], Range[Any]],
    weight: Callable[[Any], int | bool] = lambda _: 1,
    parts: type[Entity] | None = None,
    part_keys: Callable[[Any], Sequence[Key[Any]]] | None = None,
    subject_of: Callable[[Any], Key[Any]] | None = None,
    when: Live = is_undeleted,
) -> None:
    """Declares that a number counts items. Without `parts`, the subject itself holds it."""
    COUNTERS.append(
        Counter(
            name,
            subject,
            of,
            at,
            items,
            lambda item: int(weight(item)),
            parts,
            part_keys or (lambda record: [record.own_key]),
            subject_of or (lambda record: record.own_key),
            when,
        )
    )


Mend = Callable[[Any, Key[Any]], Sequence[Write]]
"""Takes a record and the missing key; returns the writes that repair it."""


@dataclass(frozen=True)
class Need:
    """A record needs others to exist. Without `mend`, it is an orphan and a repair deletes it."""

    entity: type[Entity]
    keys: Keys
    mend: Mend | None
    is_mendable: bool


NEEDS: list[Need] = []
OUTLIVES: dict[type[Entity], str] = {}


def needs(*entities: type[Entity], keys: Keys, mend: Mend | None = None, is_mendable: bool = True) -> None:
    """Declares that records need the records at these keys. Those of owners are known already."""
    NEEDS.extend(Need(entity, keys, mend, is_mendable) for entity in entities)


def outlives(entity: type[Entity], *, because: str) -> None:
    """Declares that records stay when their owner is gone."""
    OUTLIVES[entity] = because


@dataclass(frozen=True)
class Guard:
    """Unique values of an entity, each with a guard item."""

    kind: str
    entity: type[Entity]
    values: Callable[[Any], Iterable[str]]
    id_field: str
    found_by: Callable[[str], "Key[Any] | Range[Any]"]
    when: Live


GUARDS: dict[str, Guard] = {}


def guarded(
    kind: str,
    entity: type[Entity],
    *,
    values: Callable[[Any], Iterable[str]],
    id_field: str,
    found_by: Callable[[str], "Key[Any] | Range[Any]"],
    when: Live = lambda _: True,
) -> None:
    """Declares that each of these values of a record has a guard of this kind. `found_by` takes the owner's ID."""
    GUARDS[kind] = Guard(kind, entity, values, id_field, found_by, when)


PLACED: dict[type[Entity], Callable[[Any], Any]] = {}


def placed(entity: type[Entity], as_it_should_be: Callable[[Any], Any]) -> None:
    """Declares the function that gives a record the fields that follow from its state, such as those of lists."""
    PLACED[entity] = as_it_should_be


PURGES: dict[type[Entity], Callable[..., Awaitable[None]]] = {}


def purged_by(entity: type[Entity], job: Callable[..., Awaitable[None]]) -> None:
    """Declares the job that purges a record with `deleted_at`. Its arguments are fields of the record."""
    PURGES[entity] = job


@dataclass(frozen=True)
class Listed:
    """Values in a field of a record, such as the IDs of parents, which other items repeat one by one."""

    label: str
    subject: type[Entity]
    of: type[Entity]
    at: Callable[[Any], Key[Any]]
    items: Callable[[Any], Range[Any]]
    values: Callable[[Any], Iterable[str]]
    """The values in the record."""
    value: Callable[[Any], str]
    """The value of an item."""
    mend: Callable[[Any, Sequence[Any]], Sequence[Write] | None]
    """Takes the record and its items; returns the writes that repair it, or None if nothing can."""


LISTED: list[Listed] = []


def lists(rule: Listed) -> None:
    LISTED.append(rule)


DERIVED: dict[type[Entity], React] = {}


def derived(source: type[Entity], processor: React) -> None:
    """Declares a processor whose only effect are the writes it returns: they repair what is derived from a record.

    It must return no writes if all is well.
    """
    DERIVED[source] = processor
