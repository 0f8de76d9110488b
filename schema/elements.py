"""The parts of a schema that a client can name: types, fields, arguments, input fields and enum values."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from graphql import (
    DirectiveNode,
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLType,
    GraphQLUnionType,
    get_named_type,
    is_introspection_type,
    is_required_argument,
    is_required_input_field,
)


class Element(NamedTuple):
    """A part of a schema, by its schema coordinate; `type` is None for types and enum values."""

    coordinate: str
    type: GraphQLType | None
    deprecation: str | None
    is_required: bool
    directives: tuple[DirectiveNode, ...]


def elements(schema: GraphQLSchema) -> Iterator[Element]:
    """Yields the parts of a schema that was built from SDL."""
    for named in schema.type_map.values():
        if not is_introspection_type(named):
            yield Element(named.name, None, None, False, _directives(named))
            yield from _parts(named)


def reachable_types(schema: GraphQLSchema, without: set[str]) -> set[str]:
    """Returns the names of the types that operations can use, without fields and arguments of these coordinates."""
    found: set[str] = set()
    waiting: list[GraphQLNamedType] = [
        root for root in (schema.query_type, schema.mutation_type, schema.subscription_type) if root
    ]
    while waiting:
        named = waiting.pop()
        if named.name in found:
            continue
        found.add(named.name)
        kept = (part for part in _parts(named) if not without & {part.coordinate, field_of(part.coordinate)})
        waiting += [get_named_type(part.type) for part in kept if part.type]
        if isinstance(named, GraphQLUnionType | GraphQLInterfaceType):
            waiting += schema.get_possible_types(named)
        if isinstance(named, GraphQLObjectType | GraphQLInterfaceType):
            waiting += named.interfaces
    return found


def field_of(coordinate: str) -> str:
    """Returns the coordinate of the field to which an argument belongs, and any other coordinate as it is."""
    return coordinate.partition("(")[0]


def _parts(named: GraphQLNamedType) -> Iterator[Element]:
    if isinstance(named, GraphQLObjectType | GraphQLInterfaceType):
        for name, field in named.fields.items():
            coordinate = f"{named.name}.{name}"
            yield Element(coordinate, field.type, field.deprecation_reason, False, _directives(field))
            for key, argument in field.args.items():
                yield _input(f"{coordinate}({key}:)", argument, is_required_argument(argument))
    elif isinstance(named, GraphQLInputObjectType):
        for name, entry in named.fields.items():
            yield _input(f"{named.name}.{name}", entry, is_required_input_field(entry))
    elif isinstance(named, GraphQLEnumType):
        for name, value in named.values.items():
            yield Element(f"{named.name}.{name}", None, value.deprecation_reason, False, _directives(value))


def _input(coordinate: str, element: Any, required: bool) -> Element:
    return Element(coordinate, element.type, element.deprecation_reason, required, _directives(element))


def _directives(element: Any) -> tuple[DirectiveNode, ...]:
    return tuple(element.ast_node.directives or ()) if element.ast_node else ()
