"""Facts about a schema for the cost of a query: the types of its connections, and the size of its introspection."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from graphql import (
    GraphQLEnumType,
    GraphQLField,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLSchema,
    get_named_type,
    get_nullable_type,
    is_abstract_type,
    is_list_type,
)

INTROSPECTION = ("__schema", "__type")


class Kinds:
    """Connections are known by their fields, not by the names of their types."""

    def __init__(self, schema: GraphQLSchema) -> None:
        self._schema = schema
        self.connections: set[Any] = set()
        self._edges: set[Any] = set()
        for of_type in schema.type_map.values():
            if isinstance(of_type, GraphQLObjectType) and "edges" in of_type.fields:
                edge = get_named_type(of_type.fields["edges"].type)
                if isinstance(edge, GraphQLObjectType) and "node" in edge.fields:
                    self.connections.add(of_type)
                    self._edges.add(edge)
        self._sizes = _sizes(schema)

    @staticmethod
    @lru_cache(maxsize=8)
    def of(schema: GraphQLSchema) -> "Kinds":
        return Kinds(schema)

    def is_part(self, of_type: Any, definition: GraphQLField) -> bool:
        """True for `nodes` and `edges` of a connection."""
        return of_type in self.connections and is_list_type(get_nullable_type(definition.type))

    def is_free(self, of_type: Any, name: str) -> bool:
        """True for the fields inside a connection that are no records of their own."""
        return of_type in self.connections or (of_type in self._edges and name == "node")

    def introspected(self, of_type: Any, name: str, arguments: Mapping[str, Any]) -> float:
        """Returns how many objects a field of introspection has: the average of this schema."""
        if name == "__type":
            # The type counts as many times as it is larger than the average.
            named = self._schema.type_map.get(str(arguments.get("name")))
            return max(1.0, len(getattr(named, "fields", ())) / self._sizes["fields"])
        return self._sizes.get(name, 1.0) if of_type.name.startswith("__") else 1.0


def _sizes(schema: GraphQLSchema) -> dict[str, float]:
    types = schema.type_map.values()
    outputs = [each for each in types if isinstance(each, GraphQLObjectType | GraphQLInterfaceType)]
    inputs = [each for each in types if isinstance(each, GraphQLInputObjectType)]
    enums = [each for each in types if isinstance(each, GraphQLEnumType)]
    fields = [field for each in outputs for field in each.fields.values()]
    given = [argument for field in fields for argument in field.args.values()]
    taken = [field for each in inputs for field in each.fields.values()]
    # A type that is wrapped n times on average has an `ofType` n / (n + 1) of the times.
    wrappers = sum(str(each.type).count("!") + str(each.type).count("[") for each in (*fields, *given, *taken))
    wrapped = wrappers / max(1, len(fields) + len(given) + len(taken))
    possible = [len(schema.get_possible_types(each)) for each in types if is_abstract_type(each)]
    return {
        "types": len(schema.type_map),
        "directives": len(schema.directives),
        "fields": max(1.0, len(fields) / len(types)),
        "inputFields": max(1.0, len(taken) / len(types)),
        "enumValues": max(1.0, sum(len(each.values) for each in enums) / len(types)),
        "args": len(given) / max(1, len(fields)),
        "interfaces": 1.0,
        "possibleTypes": max(1.0, sum(possible) / len(types)),
        "ofType": wrapped / (wrapped + 1),
    }
