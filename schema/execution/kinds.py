"""Facts about a schema for the cost of a query: the types of its connections, and the size of its introspection."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

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
ROOTS = {"queryType": "query_type", "mutationType": "mutation_type", "subscriptionType": "subscription_type"}


class Size(NamedTuple):
    """The size of a field of introspection: how many objects it has, and how many fields each of them, if types."""

    objects: float
    fields: float


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

    def introspected(self, of_type: Any, name: str, arguments: Mapping[str, Any]) -> Size:
        """Returns the size of a field of introspection: of one type if it is known, else the average of this schema."""
        if name == "__type":
            return self._size_of(self._schema.type_map.get(str(arguments.get("name"))))
        if name in ROOTS:
            return self._size_of(getattr(self._schema, ROOTS[name]))
        return Size(self._sizes.get(name, 1.0) if of_type.name.startswith("__") else 1.0, self._sizes["fields"])

    def _size_of(self, of_type: Any) -> Size:
        """Returns the size of a type. What is no field is an average: the type counts as often as it has more."""
        if isinstance(of_type, GraphQLObjectType | GraphQLInterfaceType):
            arguments = sum(len(field.args) for field in of_type.fields.values())
            fields = max(len(of_type.fields), arguments / max(self._sizes["args"], 0.1))
        else:
            fields = 0.0
        inputs = len(of_type.fields) if isinstance(of_type, GraphQLInputObjectType) else 0
        values = len(of_type.values) if isinstance(of_type, GraphQLEnumType) else 0
        possible = len(self._schema.get_possible_types(of_type)) if is_abstract_type(of_type) else 0
        return Size(
            max(
                1.0,
                inputs / self._sizes["inputFields"],
                values / self._sizes["enumValues"],
                possible / self._sizes["possibleTypes"],
            ),
            fields,
        )


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
