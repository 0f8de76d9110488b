"""Declares events: which record makes one, when it happened, who is told, and what.

An event is a state of a record, not a change of it: `at` returns the time at which the record came into that state,
or None. So it does not matter how often a change is processed, and whether several are processed together.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import orjson

from datastore.model.codec import camel
from datastore.model.entity import Entity
from datastore.model.global_ids import global_id, id_of_key
from datastore.model.keys import Key
from datastore.model.times import Time
from datastore.webhooks import TENANT, USER, HookOwner, WebhookEvent
from loaders.needs import Step

Told = Callable[[Any], Step[Sequence[HookOwner]]]


@dataclass(frozen=True)
class EventRule:
    """Declaration of an event: the time it happened, the owners to tell, and the fields and links to send."""

    event: WebhookEvent
    entity: type[Entity]
    at: Callable[[Any], Time | None]
    told: Told
    fields: tuple[str, ...] = ()
    links: Mapping[str, Callable[[Any], Key[Any]]] = field(default_factory=dict)
    has_id: bool = True
    """False for links between records, which have no ID in the API."""
    of_hidden: bool = False
    """True if it is about a record that is no longer visible to anyone."""

    @property
    def names(self) -> set[str]:
        """Names of the members of `data`."""
        stored = {camel(self.entity.fields[name].shown_as) for name in self.fields}
        return stored | {*self.links} | ({"id"} if self.has_id else set())

    def body(self, record: Entity, at: Time) -> str:
        """Returns the payload. IDs are those of the API."""
        data: dict[str, Any] = {"id": global_id(record)} if self.has_id else {}
        data |= {name: id_of_key(key(record)) for name, key in self.links.items()}
        data |= {camel(record.fields[name].shown_as): _plain(getattr(record, name)) for name in self.fields}
        return payload(self.event, at, data)


RULES: dict[type[Entity], list[EventRule]] = {}


def tells(event: WebhookEvent, entity: type[Entity], **how: Any) -> None:
    """Declares an event. See EventRule."""
    rule = EventRule(event, entity, **how)
    if any(each.event is event for rules in RULES.values() for each in rules):
        raise TypeError(f"the event {event.value} is declared twice")
    unknown = [name for name in rule.fields if name not in entity.fields or entity.fields[name].private]
    if unknown or any(entity.fields[name].heavy for name in rule.fields):
        raise TypeError(f"the event {event.value} takes fields of {entity.__name__} that are neither private nor heavy")
    RULES.setdefault(entity, []).append(rule)


def tenant_events() -> frozenset[WebhookEvent]:
    """Returns the events of tenants; all others are events of users."""
    return frozenset(
        rule.event for rules in RULES.values() for rule in rules if getattr(rule.told, "kind", USER) == TENANT
    )


def user(name: str) -> Told:
    """Tells the user whose ID is in a field."""

    def told(record: Any) -> Step[Sequence[HookOwner]]:
        yield from ()
        return [HookOwner(USER, getattr(record, name))]

    return told


def tenant() -> Told:
    """Tells the tenant of the record."""

    def told(record: Any) -> Step[Sequence[HookOwner]]:
        yield from ()
        return [HookOwner(TENANT, record.tenant_id)]

    told.kind = TENANT  # type: ignore[attr-defined]
    return told


def payload(event: WebhookEvent, at: Time, data: Mapping[str, Any]) -> str:
    return orjson.dumps({"type": event.value, "timestamp": at, "data": data}).decode()


def _plain(value: Any) -> Any:
    return value.name if isinstance(value, Enum) else value
