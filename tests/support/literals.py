"""Values as GraphQL literals."""

import json
from typing import Any

from graphql import GraphQLEnumType, GraphQLNonNull


def nullable(of_type: Any) -> Any:
    return of_type.of_type if isinstance(of_type, GraphQLNonNull) else of_type


def literal(value: Any, of_type: Any) -> str:
    of_type = nullable(of_type)
    if isinstance(value, list):
        return f"[{', '.join(literal(element, getattr(of_type, 'of_type', of_type)) for element in value)}]"
    if isinstance(value, dict):
        fields = getattr(of_type, "fields", None)  # none in JSON
        given = (f"{key}: {literal(inner, fields[key].type if fields else of_type)}" for key, inner in value.items())
        return "{" + ", ".join(given) + "}"
    return value if isinstance(of_type, GraphQLEnumType) and value is not None else json.dumps(value)
