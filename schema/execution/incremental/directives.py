"""`@defer` and `@stream`: the directives of parts that a client can get later."""

from typing import Any

from graphql import (
    REMOVE,
    DirectiveLocation,
    DirectiveNode,
    DocumentNode,
    GraphQLArgument,
    GraphQLBoolean,
    GraphQLDirective,
    GraphQLInt,
    GraphQLNonNull,
    GraphQLString,
    Visitor,
    visit,
)

ELSEWHERE = "Over server-sent events, WebSocket and multipart responses; elsewhere the whole answer comes at once."
LABEL = GraphQLArgument(GraphQLString, description="Identifies the part in the results. Unique in the document.")

DEFER = GraphQLDirective(
    "defer",
    [DirectiveLocation.FRAGMENT_SPREAD, DirectiveLocation.INLINE_FRAGMENT],
    {
        "if": GraphQLArgument(
            GraphQLNonNull(GraphQLBoolean), default_value=True, description="False does not defer the fragment."
        ),
        "label": LABEL,
    },
    description=f"Sends the fields of the fragment later, in a result of their own. {ELSEWHERE}",
)
STREAM = GraphQLDirective(
    "stream",
    [DirectiveLocation.FIELD],
    {
        "if": GraphQLArgument(
            GraphQLNonNull(GraphQLBoolean), default_value=True, description="False does not stream the list."
        ),
        "label": LABEL,
        "initialCount": GraphQLArgument(
            GraphQLNonNull(GraphQLInt), default_value=0, description="Number of elements in the first result."
        ),
    },
    description=f"Sends the first elements of a list at once, and the others in a few later results. {ELSEWHERE}",
)
NAMES = frozenset({DEFER.name, STREAM.name})


def is_incremental(body: bytes) -> bool:
    """Returns True if a request may have one of the directives."""
    return b"@defer" in body or b"@stream" in body


def without_directives(document: DocumentNode) -> DocumentNode:
    """Returns the document as it is executed at once."""
    stripped: DocumentNode = visit(document, _Strip())
    return stripped


class _Strip(Visitor):
    def enter_directive(self, node: DirectiveNode, *_: Any) -> Any:
        return REMOVE if node.name.value in NAMES else None
