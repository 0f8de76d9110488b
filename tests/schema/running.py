"""Runs operations with the executor of the services."""

from typing import Any

from loaders.viewer import ANONYMOUS, Viewer
from schema.declare.context import RequestContext
from schema.http.protocol import GraphQLRequest
from tests.support.graph import Graph

ADD_COMMENT = 'addComment(input: {postId: $post, content: "Hm."})'


async def run(
    graph: Graph, query: str, viewer: Viewer = ANONYMOUS, **variables: Any
) -> tuple[dict[str, Any], RequestContext]:
    """Returns the response body and its context."""
    context = graph.context(viewer)
    answer = await graph.services.executor.run(GraphQLRequest(query, variables), context, may_mutate=True)
    return answer.body, context
