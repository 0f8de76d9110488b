"""Limits on the depth and the cost of a query, checked before anything is read."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLSchema,
    InlineFragmentNode,
    IntValueNode,
    ListValueNode,
    OperationDefinitionNode,
    SelectionSetNode,
    ValueNode,
    VariableNode,
    get_named_type,
    get_nullable_type,
    is_composite_type,
    is_list_type,
)

from schema.declare.connections import DEFAULT_SIZE

# Arguments that set how many records a field returns.
SIZES = ("first", "last", "ids")
# Fields that cost more to read than the records they return, by type and name. Filled in when the schema is built.
WEIGHTS: dict[tuple[str, str], int] = {}
# Cost of a heavy field for each record: it may be as large as dozens of records without it.
HEAVY = 20


class OverLimit(Exception):
    """The query costs too much. The message says why, and how to reduce it."""


@dataclass(frozen=True)
class Limits:
    tokens: int = 4_000
    depth: int = 15
    cost: int = 10_000
    json_depth: int = 64


@dataclass
class _Walk:
    schema: GraphQLSchema
    fragments: dict[str, FragmentDefinitionNode]
    variables: dict[str, Any]
    limits: Limits
    cost: int = 0

    def selections(self, node: SelectionSetNode, parent: Any, depth: int, times: int) -> None:
        if depth > self.limits.depth:
            raise OverLimit(f"the query is over {self.limits.depth} levels deep; ask in several queries")
        for field, of_type in self._fields(node, parent, set()):
            definition = getattr(of_type, "fields", {}).get(field.name.value)
            if definition is None or field.name.value.startswith("__"):
                continue
            weight = WEIGHTS.get((of_type.name, field.name.value), 0)
            if field.selection_set is None or not is_composite_type(get_named_type(definition.type)):
                self._pay(times * weight)
                continue
            listed = weight if is_list_type(get_nullable_type(definition.type)) else 0
            size = self._size(field, definition) or listed or 1
            # The connection itself pays for its edges, nodes and pageInfo.
            if not of_type.name.endswith(("Connection", "Edge")):
                self._pay(times * max(size, weight))
            self.selections(field.selection_set, get_named_type(definition.type), depth + 1, times * size)

    def _pay(self, cost: int) -> None:
        self.cost += cost
        if self.cost > self.limits.cost:
            raise OverLimit(
                f"the query could read over {self.limits.cost} records; ask for smaller pages or fewer levels"
            )

    def _fields(self, node: SelectionSetNode, parent: Any, seen: set[str]) -> Iterator[tuple[FieldNode, Any]]:
        """Yields fields as execution collects them: a fragment counts once per selection."""
        for selection in node.selections:
            if isinstance(selection, FieldNode):
                yield selection, parent
            elif isinstance(selection, FragmentSpreadNode):
                fragment = self.fragments.get(selection.name.value)
                if fragment is not None and selection.name.value not in seen:
                    seen.add(selection.name.value)
                    of_type = self.schema.get_type(fragment.type_condition.name.value)
                    yield from self._fields(fragment.selection_set, of_type, seen)
            elif isinstance(selection, InlineFragmentNode):
                condition = selection.type_condition
                of_type = self.schema.get_type(condition.name.value) if condition else parent
                yield from self._fields(selection.selection_set, of_type, seen)

    def _size(self, field: FieldNode, definition: Any) -> int:
        """Returns the number of records the field may return per parent, or 0 if its arguments do not set it."""
        arguments = {argument.name.value: argument.value for argument in field.arguments or ()}
        if "first" in definition.args:
            given = [self._value(arguments[name]) for name in ("first", "last") if name in arguments]
            # Variable coercion refuses anything else.
            sizes = [int(size) for size in given if isinstance(size, int | float) and 1 <= size < 2**31]
            unsaid = definition.args["first"].default_value
            return max(sizes, default=unsaid if isinstance(unsaid, int) else DEFAULT_SIZE)
        if "ids" in arguments:
            ids = self._value(arguments["ids"])
            return len(ids) if isinstance(ids, list | tuple) else 1
        return 0

    def _value(self, node: ValueNode) -> Any:
        return self.variables.get(node.name.value) if isinstance(node, VariableNode) else _literal(node)


def _literal(node: ValueNode) -> Any:
    if isinstance(node, IntValueNode):
        # Longer numbers are not page sizes, and Python refuses to parse very long ones.
        return int(node.value) if len(node.value) < 12 else None
    return node.values if isinstance(node, ListValueNode) else None


def check_operation(
    schema: GraphQLSchema,
    document: DocumentNode,
    operation: OperationDefinitionNode,
    variables: dict[str, Any],
    limits: Limits,
) -> int:
    """Returns the largest number of records the operation may read, or raises OverLimit."""
    fragments = {node.name.value: node for node in document.definitions if isinstance(node, FragmentDefinitionNode)}
    defaults = {
        definition.variable.name.value: _literal(definition.default_value)
        for definition in operation.variable_definitions or ()
        if definition.default_value is not None
    }
    walk = _Walk(schema, fragments, defaults | variables, limits)
    walk.selections(operation.selection_set, schema.get_root_type(operation.operation), 1, 1)
    return walk.cost


def check_nesting(value: Any, limit: int) -> None:
    """Raises OverLimit for JSON that is nested so deeply that it would exhaust the interpreter's stack."""
    level = [value]
    for _ in range(limit + 1):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return
    raise OverLimit(f"the request's JSON is nested over {limit} levels deep")
