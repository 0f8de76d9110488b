"""Answers `__schema` and `__type`. The results depend on nothing but the selection, so they are computed once."""

import asyncio
import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import orjson
from graphql import DocumentNode, FragmentDefinitionNode, GraphQLSchema, Node, OperationDefinitionNode, execute_sync
from graphql.execution.collect_fields import FieldDetailsList, GroupedFieldSet

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

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


def check_allowed(allowed: Allowed, *, signed_in: bool) -> None:
    if allowed == "off":
        raise Forbidden("introspection (`__schema`, `__type`) is off on this server; `__typename` works", "FORBIDDEN")
    if allowed == "signed-in" and not signed_in:
        raise Forbidden(
            "introspection is for signed-in viewers: send `Authorization: Bearer <token>`", "UNAUTHENTICATED"
        )


class MetaField(NamedTuple):
    """A `__schema` or `__type` of an operation. Aliases of the same selection have the same text."""

    key: str
    text: str
    document: DocumentNode


def split(fields: GroupedFieldSet) -> tuple[GroupedFieldSet, GroupedFieldSet]:
    """Returns the root fields that introspect, and the others."""
    meta = {key: details for key, details in fields.items() if details[0].node.name.value in INTROSPECTION}
    return meta, {key: details for key, details in fields.items() if key not in meta}


def meta_field(
    key: str, details: FieldDetailsList, document: DocumentNode, operation: OperationDefinitionNode
) -> MetaField:
    nodes = [detail.node for detail in details]
    fragments = [node for node in document.definitions if isinstance(node, FragmentDefinitionNode)]
    parts: list[Node] = [*(operation.variable_definitions or ()), *fragments]
    text = " ".join([*(_source(node, node.name) for node in nodes), *(_source(node, node) for node in parts)])
    return MetaField(key, text, part_of(document, operation, nodes))


def _source(node: Node, start: Node) -> str:
    """Returns the text of a node, from the start of one of its parts."""
    assert node.loc is not None
    assert start.loc is not None
    return node.loc.source.body[start.loc.start : node.loc.end]


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
