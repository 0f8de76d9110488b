"""GraphQL types of stored entities, and the assembly of the schema from its domains."""

from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

import strawberry

from datastore.model.codec import base_type, camel
from datastore.model.entity import Entity, Field, Record, Value
from schema.declare.commands import Command
from schema.declare.declarations import check
from schema.declare.edges import Derived, Edge, Heavy
from schema.declare.hints import Types
from schema.declare.ids import ID_NAMES, global_id, id_code, id_writer
from schema.declare.object_types import object_type
from schema.declare.problems import payload_type
from schema.declare.scalars import scalar_type
from schema.execution.weights import HEAVY, WEIGHTS

C = TypeVar("C", bound=type)

READING = "Queries. Lists are connections. Objects with an `id` can be refetched with `node`."
CHANGING = "Mutations. An expected refusal is not an error: it is listed in the payload's `problems`."
FOLLOWING = (
    "Subscriptions, over server-sent events and WebSocket. Each sends what is added to a list. Pass the last `cursor` "
    "as `after` to go on without a gap after the connection was lost."
)
ROOTS = {"Query": READING, "Mutation": CHANGING, "Subscription": FOLLOWING}

_EXPOSED: dict[type[Entity], type] = {}
_VALUES: dict[type[Record], type] = {}


class _Id(Derived):
    def of(self, type_name: str) -> Derived:
        made = Derived(id_writer(type_name))
        made.code = id_code(type_name), ID_NAMES
        return made


@strawberry.interface(description="An object with a globally unique ID. Refetch it with `node`.")
class Node:
    id: strawberry.ID = _Id(global_id, "Globally unique, opaque ID.").field("Node.id", strawberry.ID)

    @classmethod
    def resolve_type(cls, record: Entity, *_: Any) -> str:
        return type(record).__name__


def expose(entity: type[Entity]) -> Callable[[C], C]:
    """Declares the type of an entity: its stored fields except private ones, and the edges in the class body."""

    def declare(cls: C) -> C:
        if cls.__name__ != entity.__name__:
            raise TypeError(f"the type {cls.__name__} must be named {entity.__name__}, like the entity it exposes")
        _EXPOSED[entity] = cls
        return cls

    return declare


def extend(cls: type) -> Callable[[C], C]:
    """Adds fields to a type of another domain."""

    def declare(extension: C) -> C:
        for name, hint in get_type_hints(extension, include_extras=True).items():
            cls.__annotations__[name] = hint
            setattr(cls, name, getattr(extension, name))
        return extension

    return declare


def has_ids(entity: type[Entity]) -> bool:
    """True if `node` returns records of this entity."""
    return entity in _EXPOSED and issubclass(_EXPOSED[entity], Node)


def assemble(domains: Iterable[ModuleType]) -> tuple[dict[str, type], list[type]]:
    """Returns the root types by name, and all types, from the modules of the domains."""
    domains = list(domains)
    classes: dict[type, type] = {cls: entity for entity, cls in _EXPOSED.items()}
    classes |= {cls: value for value, cls in _VALUES.items()}
    check(Types(classes, Node), _EXPOSED, domains)
    for entity, cls in _EXPOSED.items():
        _make_type(cls, entity)
    roots = {name: _make_root(name, domains, text) for name, text in ROOTS.items()}
    return roots, list(_EXPOSED.values())


def _make_type(cls: type, entity: type[Entity]) -> None:
    declared = get_type_hints(cls, include_extras=True) if "__annotations__" in cls.__dict__ else {}
    cls.__annotations__ = {}
    edges = {name: value for name, value in vars(cls).items() if isinstance(value, Edge)}
    for name in edges:
        delattr(cls, name)
    for field in entity.fields.values():
        if field.heavy:
            WEIGHTS[cls.__name__, camel(field.name)] = HEAVY
    stored = {
        field.name: _stored_field(field)
        for field in entity.fields.values()
        if not field.private and field.name not in declared
    }
    # Values of this type are the stored records themselves.
    cast(Any, cls).is_type_of = staticmethod(lambda record, _: isinstance(record, entity))
    object_type(cls, stored | _edge_fields(cls.__name__, declared, edges), entity.__doc__)


def _make_root(name: str, domains: Iterable[ModuleType], description: str) -> type:
    fields: dict[str, Any] = {}
    for part in (vars(module)[name] for module in domains if name in vars(module)):
        fields |= _edge_fields(name, get_type_hints(part, include_extras=True), vars(part))
    return object_type(type(name, (), {}), fields, description)


def _edge_fields(type_name: str, declared: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    fields = {}
    for name, hint in declared.items():
        if isinstance(values.get(name), Edge):
            graphql_type = payload_type(name, hint) if isinstance(values[name], Command) else hint
            fields[name] = values[name].field(f"{type_name}.{name}", graphql_type)
    return fields


def _stored_field(field: Field) -> Any:
    hint = _graphql_hint(field.hint)
    graphql_type = hint | None if field.optional else hint
    if field.heavy:
        return Heavy(field.name, field.description).field(field.name, graphql_type)
    return strawberry.field(name=camel(field.shown_as), description=field.description, graphql_type=graphql_type)


def _graphql_hint(hint: Any) -> Any:
    inner = base_type(hint)
    if get_origin(inner) is list:
        return list[_graphql_hint(get_args(inner)[0])]  # type: ignore[misc]
    if isinstance(inner, type) and issubclass(inner, Value):
        return value_type(inner)
    return scalar_type(hint)


def value_type(value: type[Record]) -> type:
    """The GraphQL type of a nested value, with the same name."""
    if value in _VALUES:
        return _VALUES[value]
    cls = _VALUES[value] = type(value.__name__, (), {})
    fields = {field.name: _stored_field(field) for field in value.fields.values() if not field.private}
    return object_type(cls, fields, value.__doc__)
