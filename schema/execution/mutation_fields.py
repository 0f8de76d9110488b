"""Writes of an operation, for the rate limits: each field of a mutation is at least one."""

from collections.abc import Iterator

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    InlineFragmentNode,
    OperationDefinitionNode,
    OperationType,
    SelectionSetNode,
)

from resolvers.core.command_limits import WRITES


def writes_of(document: DocumentNode, operation: OperationDefinitionNode) -> int:
    """Returns the writes of a valid operation, one per response key and more for an import; 0 for a query."""
    if operation.operation is not OperationType.MUTATION:
        return 0
    fragments = {node.name.value: node for node in document.definitions if isinstance(node, FragmentDefinitionNode)}
    fields = _fields(operation.selection_set, fragments, set())
    commands = {field.alias.value if field.alias else field.name.value: field.name.value for field in fields}
    return sum(WRITES.get(name, 1) for name in commands.values())


def _fields(
    node: SelectionSetNode, fragments: dict[str, FragmentDefinitionNode], seen: set[str]
) -> Iterator[FieldNode]:
    """Yields the fields of the mutation; each fragment once, like execution."""
    for selection in node.selections:
        if isinstance(selection, FieldNode):
            yield selection
        elif isinstance(selection, InlineFragmentNode):
            yield from _fields(selection.selection_set, fragments, seen)
        elif isinstance(selection, FragmentSpreadNode) and selection.name.value not in seen:
            seen.add(selection.name.value)
            yield from _fields(fragments[selection.name.value].selection_set, fragments, seen)
