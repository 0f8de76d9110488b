"""A change of one item, as the change log holds it."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, cast

import orjson

from datastore.changes.records import OF_THE_LOG
from datastore.client.writes import Check, Delete, IndexKeys, Put, Update, Write, index_keys
from datastore.model.entity import FORMER_NAMES, REGISTRY, Entity
from datastore.model.enums import Choice
from datastore.model.keys import Key
from datastore.model.times import Time


class What(Choice):
    """Kind of change."""

    INSERTED = "I", "The item is new."
    CHANGED = "C", "The item was written: changed or, if the writer could not know, new."
    REMOVED = "R", "The item is gone."


WHATS = {each.value: each for each in What}


class Change(NamedTuple):
    """A change of one item.

    `before` and `after` are its index keys, or None if they are not known: a blind update knows neither.
    """

    key: Key[Any]
    what: What
    at: Time
    before: IndexKeys | None = None
    after: IndexKeys | None = None
    expired: bool = False
    """True if the item was removed because its time was over."""

    @property
    def entity(self) -> type[Entity]:
        return self.key.entity


def is_logged(entity: type[Entity], *, everything: bool) -> bool:
    """Returns True if changes of an entity are logged. With `everything`, only those of the log itself are not."""
    return entity.logged or (everything and entity not in OF_THE_LOG)


def changes_of(writes: Sequence[Write], at: Time, *, everything: bool = False) -> Iterator[Change]:
    """Yields the changes that these writes make, except those of bookkeeping."""
    for write in writes:
        if isinstance(write, Check) or not is_logged(write.key.entity, everything=everything):
            continue
        if isinstance(write, Put):
            is_new = write.when is not None and write.when.needs_absence
            after = index_keys(write.record.encode())
            yield Change(write.key, What.INSERTED if is_new else What.CHANGED, at, {} if is_new else None, after)
        elif isinstance(write, Delete):
            yield Change(write.key, What.REMOVED, at, None, {}, write.expired)
        elif isinstance(write, Update) and not write.only_checks:
            yield Change(write.key, What.CHANGED, at, *write.index_keys)


def encoded(changes: Sequence[Change]) -> str:
    """Returns changes as compact JSON."""
    rows = [
        [
            change.key.entity.__name__,
            change.key.pk,
            change.key.sk,
            change.what.value,
            change.at,
            change.before,
            change.after,
            *([1] if change.expired else []),
        ]
        for change in changes
    ]
    return orjson.dumps(rows).decode()


def decoded(text: str) -> list[Change]:
    """Returns the changes in the JSON. Raises ValueError if it cannot be understood."""
    try:
        return [
            Change(Key(_entity(name), pk, sk), WHATS[what], Time(at), _pairs(before), _pairs(after), expired=bool(rest))
            for name, pk, sk, what, at, before, after, *rest in orjson.loads(text)
        ]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"these are no changes that this server understands: {error!r:.200}") from error


def _entity(name: str) -> type[Entity]:
    """Returns the entity. A newer server may have one that this server does not know: its changes keep their place."""
    return REGISTRY.get(FORMER_NAMES.get(name, name)) or _unknown(name)


@cache
def _unknown(name: str) -> type[Entity]:
    return cast(type[Entity], type(name, (), {"__doc__": "An entity of another version.", "logged": True}))


def _pairs(keys: Mapping[str, Sequence[str]] | None) -> dict[str, tuple[str, str]] | None:
    return None if keys is None else {name: (pk, sk) for name, (pk, sk) in keys.items()}
