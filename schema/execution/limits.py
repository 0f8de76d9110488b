"""What a query may ask for: how deep it goes and how much it could bring, known before anything is read."""

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

# Arguments that say how much a field can bring.
SIZES = ("first", "last", "ids")
# Fields that cost more to read than the records they bring, by type and name; the schema fills this in as it is made.
WEIGHTS: dict[tuple[str, str], int] = {}
# What a field that lists leave out costs for each record: it may be as large as all the rest of dozens of them.
HEAVY = 20


class OverLimit(Exception):
    """The query asks for too much; the message says of what and how to ask for less."""


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
            # What sits in a connection (edges, nodes, pageInfo) is paid for by the connection itself.
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
        """As execution collects them: a fragment counts once in a selection, however often it is spread there."""
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
        """How many records the field can bring for one parent, as far as its arguments say so."""
        arguments = {argument.name.value: argument.value for argument in field.arguments or ()}
        if "first" in definition.args:
            given = [self._value(arguments[name]) for name in ("first", "last") if name in arguments]
            # What is no Int is refused further in, by its type.
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
        # Whatever is longer is no page size, and too long even to be read as a number.
        return int(node.value) if len(node.value) < 12 else None
    return node.values if isinstance(node, ListValueNode) else None


def check_operation(
    schema: GraphQLSchema,
    document: DocumentNode,
    operation: OperationDefinitionNode,
    variables: dict[str, Any],
    limits: Limits,
) -> int:
    """Raise OverLimit, or return the most records the operation can bring."""
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
    """JSON deeper than this would exhaust the interpreter's stack further in."""
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
