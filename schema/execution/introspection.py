"""Answers `__schema` and `__type`. The results depend on nothing but the selection, so they are computed once."""

import asyncio
import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import orjson
from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    GraphQLSchema,
    OperationDefinitionNode,
    execute_sync,
    print_ast,
)
from graphql.execution.collect_fields import GroupedFieldSet

from resolvers.core.error_codes import ErrorCode
from schema.execution.kinds import INTROSPECTION
from schema.execution.parts import part_of
from schema.execution.weighted_cache import WeightedCache

Allowed = Literal["on", "off", "signed-in"]

# Bytes of JSON. The results are kept as objects, which take about ten times the memory.
KEPT = 2_000_000
LARGEST = 1_000_000
VARIABLE = re.compile(r"\$(\w+)")


class Forbidden(Exception):
    """The viewer may not introspect. The message says why."""

    def __init__(self, message: str, code: ErrorCode = ErrorCode.FORBIDDEN) -> None:
        super().__init__(message)
        self.code = code


def check_allowed(allowed: Allowed, *, signed_in: bool) -> None:
    if allowed == "off":
        raise Forbidden("introspection (`__schema`, `__type`) is off on this server; `__typename` works")
    if allowed == "signed-in" and not signed_in:
        message = "introspection is for signed-in viewers: send `Authorization: Bearer <token>`"
        raise Forbidden(message, ErrorCode.UNAUTHENTICATED)


class MetaField(NamedTuple):
    """A `__schema` or `__type` of an operation. The same selection has the same text, regardless of its alias."""

    key: str
    text: str
    document: DocumentNode


def split(fields: GroupedFieldSet) -> tuple[GroupedFieldSet, GroupedFieldSet]:
    """Returns the root fields that introspect, and the others."""
    meta = {key: details for key, details in fields.items() if details[0].node.name.value in INTROSPECTION}
    return meta, {key: details for key, details in fields.items() if key not in meta}


def meta_fields(fields: GroupedFieldSet, document: DocumentNode, operation: OperationDefinitionNode) -> list[MetaField]:
    """Returns the root fields that introspect, with the text of everything their results may depend on."""
    if not fields:
        return []
    fragments = [node for node in document.definitions if isinstance(node, FragmentDefinitionNode)]
    shared = [print_ast(node) for node in (*(operation.variable_definitions or ()), *fragments)]
    return [
        MetaField(
            key,
            " ".join([*(_without_alias(detail.node) for detail in details), *shared]),
            part_of(document, operation, [detail.node for detail in details]),
        )
        for key, details in fields.items()
    ]


def _without_alias(node: FieldNode) -> str:
    return print_ast(node).removeprefix(f"{node.alias.value}: " if node.alias else "")


class Whole(dict[str, Any]):
    """A value that is written as one piece of JSON: slices of it would take longer than the whole."""


class Introspection:
    def __init__(self, schema: GraphQLSchema) -> None:
        self._schema = schema
        self._known: WeightedCache[list[Any]] = WeightedCache(KEPT, LARGEST)
        self._computing = asyncio.Lock()

    async def results(self, fields: list[MetaField], given: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the value of each field, by response key. New ones are computed in a thread, one at a time."""
        found = {}
        for field in fields:
            used = {name: given[name] for name in sorted(set(VARIABLE.findall(field.text))) if name in given}
            text = field.text + orjson.dumps(used).decode()
            # `__type` of an unknown name is null: values are kept in a list.
            (found[field.key],) = self._known.find(text) or await self._computed(text, field, used)
        return found

    async def _computed(self, text: str, field: MetaField, given: dict[str, Any]) -> list[Any]:
        async with self._computing:
            known = self._known.find(text)
            if known is not None:
                return known
            value = await asyncio.to_thread(self._compute, field, given)
            self._known.keep(text, value, len(text) + len(orjson.dumps(value)))
            return value

    def _compute(self, field: MetaField, given: dict[str, Any]) -> list[Any]:
        result = execute_sync(self._schema, field.document, variable_values=given)
        if result.errors or result.data is None:
            raise RuntimeError(f"introspection failed: {result.errors}")
        value = result.data[field.key]
        return [Whole(value) if isinstance(value, dict) else value]
