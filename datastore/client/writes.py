"""Writes and conditions, rendered as DynamoDB expressions."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from datastore.model.codec import AttributeValue, Item, wire
from datastore.model.entity import Entity, unknown_field
from datastore.model.keys import Key
from datastore.model.patterns import INDEXES

Request = dict[str, Any]
KEY_ATTRIBUTES = ("PK", "SK")

IndexKeys = Mapping[str, tuple[str, str]]
"""The partition key and the sort key of an item in each index that has it."""


class Names:
    """Placeholders of an expression, `#0` for names and `:0` for values, which avoid DynamoDB's reserved words."""

    def __init__(self, entity: type[Entity]) -> None:
        self._entity = entity
        self.names: dict[str, str] = {}
        self.values: dict[str, AttributeValue] = {}

    def attribute(self, name: str) -> str:
        """Returns the placeholder of a field by its Python name, or of PK or SK."""
        known = self._entity.fields.get(name)
        return self.raw_attribute(known.attribute if known else name)

    def raw_attribute(self, attribute: str) -> str:
        for placeholder, taken in self.names.items():
            if taken == attribute:
                return placeholder
        placeholder = f"#{len(self.names)}"
        self.names[placeholder] = attribute
        return placeholder

    def value(self, name: str, value: Any) -> str:
        known = self._entity.fields.get(name)
        return self.raw(known.encode(value) if known else wire(value))

    def raw(self, value: AttributeValue) -> str:
        placeholder = f":{len(self.values)}"
        self.values[placeholder] = value
        return placeholder

    def into(self, request: Request) -> Request:
        if self.names:
            request["ExpressionAttributeNames"] = self.names
        if self.values:
            request["ExpressionAttributeValues"] = self.values
        return request


@dataclass(frozen=True)
class Condition:
    """A condition. Combine conditions with `&` and `|`."""

    render: Callable[[Names], str]
    fields: tuple[str, ...]
    # True if it holds only for an item that does not exist.
    needs_absence: bool = False

    def __and__(self, other: "Condition") -> "Condition":
        return self._joined("AND", other, self.needs_absence or other.needs_absence)

    def __or__(self, other: "Condition") -> "Condition":
        return self._joined("OR", other, self.needs_absence and other.needs_absence)

    def _joined(self, operator: str, other: "Condition", needs_absence: bool) -> "Condition":
        return Condition(
            lambda names: f"({self.render(names)} {operator} {other.render(names)})",
            self.fields + other.fields,
            needs_absence,
        )


def _comparison(operator: str) -> Callable[[str, Any], Condition]:
    def compare(name: str, value: Any) -> Condition:
        return Condition(lambda names: f"{names.attribute(name)} {operator} {names.value(name, value)}", (name,))

    return compare


equals = _comparison("=")
differs = _comparison("<>")
below = _comparison("<")
above = _comparison(">")
at_least = _comparison(">=")


def exists(name: str = "PK") -> Condition:
    """Requires that the item exists, or that it has this field."""
    return Condition(lambda names: f"attribute_exists({names.attribute(name)})", (name,))


def absent(name: str = "PK") -> Condition:
    return Condition(lambda names: f"attribute_not_exists({names.attribute(name)})", (name,), name == "PK")


def same(name: str, value: Any) -> Condition:
    """Requires that a field is unchanged, or still absent if `value` is None."""
    return absent(name) if value is None else equals(name, value)


def unchanged(item: Mapping[str, Any]) -> Condition:
    """Requires that every attribute of a stored item is as it was read, also of a damaged one."""

    def render(names: Names) -> str:
        return " AND ".join(f"{names.raw_attribute(name)} = {names.raw(value)}" for name, value in item.items())

    return Condition(render, ())


def _check_names(entity: type[Entity], when: Condition | None, names: Iterable[str] = ()) -> None:
    """Raises TypeError for a name that is neither a field nor part of the key: it must not reach the table."""
    for name in (*names, *when.fields) if when else names:
        if name not in entity.fields and name not in KEY_ATTRIBUTES:
            raise unknown_field(entity, name)


# eq=False: writes are compared by identity, because a Conflict names the failed ones.
@dataclass(frozen=True, eq=False)
class Put:
    record: Entity
    when: Condition | None = None

    def __post_init__(self) -> None:
        _check_names(type(self.record), self.when)

    @property
    def key(self) -> Key[Any]:
        return self.record.own_key

    @property
    def repeatable(self) -> bool:
        return self.when is None

    def request(self) -> tuple[str, Request]:
        if self.record.is_lean:
            raise ValueError(f"{self.key} came from a list without its heavy fields; writing it would lose them")
        return "Put", _conditional(Names(type(self.record)), {"Item": self.record.encode()}, self.when)


@dataclass(frozen=True, eq=False)
class Delete:
    key: Key[Any]
    when: Condition | None = None
    # True if the time of the item was over: counts of events do not move then.
    expired: bool = False

    def __post_init__(self) -> None:
        _check_names(self.key.entity, self.when)

    @property
    def repeatable(self) -> bool:
        return self.when is None

    def request(self) -> tuple[str, Request]:
        return "Delete", _conditional(Names(self.key.entity), {"Key": key_attributes(self.key)}, self.when)


@dataclass(frozen=True, eq=False)
class Check:
    """A condition check without a write, as part of a transaction."""

    key: Key[Any]
    when: Condition

    repeatable = False

    def __post_init__(self) -> None:
        _check_names(self.key.entity, self.when)

    def request(self) -> tuple[str, Request]:
        return "ConditionCheck", _conditional(Names(self.key.entity), {"Key": key_attributes(self.key)}, self.when)


@dataclass(frozen=True, eq=False)
class Update:
    """Changes fields of an item. Does not update index keys: use `Update.of` for that."""

    key: Key[Any]
    set: Mapping[str, Any] = field(default_factory=dict)
    add: Mapping[str, int] = field(default_factory=dict)
    remove: Collection[str] = ()
    when: Condition | None = None
    # Encoded attributes, including index keys; None removes one.
    raw: Mapping[str, AttributeValue | None] = field(default_factory=dict)
    # The index keys before and after, where they are known.
    index_keys: tuple[IndexKeys | None, IndexKeys | None] = (None, None)

    def __post_init__(self) -> None:
        _check_names(self.key.entity, self.when, (*self.set, *self.add, *self.remove))

    @classmethod
    def of(cls, old: Entity, new: Entity, when: Condition | None = None) -> "Update":
        """Returns the update from one state of a record to another, including index keys."""
        before, after = old.encode(), new.encode()
        key = new.own_key
        if key != old.own_key:
            raise ValueError(f"the key {old.own_key} cannot change to {key}")
        raw: dict[str, AttributeValue | None]
        raw = {name: value for name, value in after.items() if before.get(name) != value}
        raw |= {name: None for name in before if name not in after}
        return cls(key, raw=raw, when=when, index_keys=(index_keys(before), index_keys(after)))

    @classmethod
    def upsert(cls, record: Entity, add: Mapping[str, int], when: Condition | None = None) -> "Update":
        """Increments counters of an item, and creates it from the record if it does not exist."""
        counted = {known.attribute for name, known in record.fields.items() if name in add}
        item = record.encode()
        attributes = {name: value for name, value in item.items() if name not in {*KEY_ATTRIBUTES, *counted}}
        return cls(record.own_key, raw=attributes, add=add, when=when, index_keys=(None, index_keys(item)))

    @property
    def is_empty(self) -> bool:
        """True if there is nothing to change or check."""
        return self.when is None and self.only_checks

    @property
    def only_checks(self) -> bool:
        """True if there is nothing to change."""
        return not (self.set or self.raw or self.add or self.remove)

    @property
    def repeatable(self) -> bool:
        return not self.add and self.when is None and not self.is_empty

    def request(self) -> tuple[str, Request]:
        names = Names(self.key.entity)
        sets = [f"{names.attribute(name)} = {names.value(name, value)}" for name, value in self.set.items()]
        sets += [f"{names.raw_attribute(name)} = {names.raw(value)}" for name, value in self.raw.items() if value]
        adds = [f"{names.attribute(name)} {names.value(name, value)}" for name, value in self.add.items()]
        removes = [names.attribute(name) for name in self.remove]
        removes += [names.raw_attribute(name) for name, value in self.raw.items() if not value]
        clauses = (("SET", sets), ("ADD", adds), ("REMOVE", removes))
        expression = " ".join(f"{verb} {', '.join(parts)}" for verb, parts in clauses if parts)
        if not expression:
            return "ConditionCheck", _conditional(names, {"Key": key_attributes(self.key)}, self.when)
        request = {"Key": key_attributes(self.key), "UpdateExpression": expression}
        return "Update", _conditional(names, request, self.when)


Write = Put | Update | Delete | Check


class Recorder(Protocol):
    """Records changes where the table has no stream: see datastore.changes.outbox."""

    def records(self, write: Write) -> bool:
        """Returns True if changes by this write are recorded."""

    def record(self, writes: Sequence[Write]) -> Put | None:
        """Returns the record of a transaction, to be written with it."""

    def recorded(self) -> None:
        """Is told that a record was written."""

    def promise(self, writes: Sequence[Write]) -> list[Entity]:
        """Returns records of writes that are not atomic, to be written before them. They count after a minute."""

    def kept(self, promise: Entity) -> list[Write]:
        """Returns the writes that make a promise count at once."""


def index_keys(item: Item) -> dict[str, tuple[str, str]]:
    """Returns the keys of an item in the indexes that have it."""
    return {
        name: (item[f"{name}PK"]["S"], item[f"{name}SK"]["S"])
        for name in INDEXES
        if f"{name}PK" in item and f"{name}SK" in item
    }


def key_attributes(key: Key[Any]) -> dict[str, AttributeValue]:
    return {"PK": {"S": key.pk}, "SK": {"S": key.sk}}


def _conditional(names: Names, request: Request, when: Condition | None) -> Request:
    if when is not None:
        request["ConditionExpression"] = when.render(names)
    return names.into(request)
