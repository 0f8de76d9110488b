"""Parts of an operation, as documents of their own."""

from collections.abc import Iterable

from graphql import DocumentNode, FieldNode, FragmentDefinitionNode, OperationDefinitionNode, SelectionSetNode


def part_of(document: DocumentNode, operation: OperationDefinitionNode, nodes: Iterable[FieldNode]) -> DocumentNode:
    """Returns a document with one operation that has only these root fields."""
    part = OperationDefinitionNode(
        operation=operation.operation,
        name=operation.name,
        variable_definitions=operation.variable_definitions,
        directives=operation.directives,
        selection_set=SelectionSetNode(selections=tuple(nodes)),
        loc=operation.loc,
    )
    others = [node for node in document.definitions if isinstance(node, FragmentDefinitionNode)]
    return DocumentNode(definitions=(part, *others), loc=document.loc)
