"""Coerces variables; common cases take a fast path instead of graphql-core."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from graphql import (
    GraphQLError,
    GraphQLInputType,
    GraphQLSchema,
    VariableDefinitionNode,
    is_list_type,
    is_non_null_type,
)
from graphql.execution.get_variable_signature import GraphQLVariableSignature, get_variable_signature
from graphql.execution.values import VariableValues, VariableValueSource, get_variable_values

IsPlain = Callable[[Any], bool]

MAX_ERRORS = 10
PLAIN: Mapping[str, type] = {"ID": str, "String": str, "Boolean": bool}


class Variables:
    """Variables declared by an operation."""

    def __init__(self, schema: GraphQLSchema, definitions: Sequence[VariableDefinitionNode]) -> None:
        self._schema = schema
        self._definitions = definitions
        signatures = [get_variable_signature(schema, definition) for definition in definitions]
        self._declared: dict[str, tuple[GraphQLVariableSignature, IsPlain]] = {
            signature.name: (signature, _plain(signature.type))
            for signature in signatures
            if not isinstance(signature, GraphQLError)
        }

    def coerced(
        self, given: Mapping[str, Any], *, hide_suggestions: bool = False
    ) -> VariableValues | list[GraphQLError]:
        """Returns the coerced variables, or the first errors and one that says that there are more.

        graphql-core coerces them unless all are given and of plain types.
        """
        sources, values = {}, {}
        for name, (signature, is_plain) in self._declared.items():
            if name not in given or not is_plain(given[name]):
                return get_variable_values(self._schema, self._definitions, dict(given), MAX_ERRORS, hide_suggestions)
            values[name] = given[name]
            sources[name] = VariableValueSource(signature, given[name])
        return VariableValues(sources, values)


def _plain(of_type: GraphQLInputType) -> IsPlain:
    inner = of_type.of_type if is_non_null_type(of_type) else of_type
    if is_list_type(inner):
        element = inner.of_type.of_type if is_non_null_type(inner.of_type) else inner.of_type
        of_class = PLAIN.get(getattr(element, "name", ""))
        return lambda value: value.__class__ is list and set(map(type, value)) == {of_class}
    of_class = PLAIN.get(getattr(inner, "name", ""))
    return lambda value: value.__class__ is of_class
