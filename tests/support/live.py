"""Follows live queries like a client."""

import asyncio
from collections.abc import Callable
from typing import Any

import orjson

from loaders.viewer import ANONYMOUS, Viewer
from schema.execution.executor import Executor
from schema.http.protocol import Answer, GraphQLRequest
from schema.live.follower import Follower
from schema.live.live_directive import LiveOptions
from schema.live.live_query import LiveQuery
from tests.support.graph import Graph

PATIENCE = 60.0
"""Seconds after which a test that waits in vain fails."""


async def until(holds: Callable[[], object]) -> None:
    """Waits for a condition."""
    async with asyncio.timeout(PATIENCE):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.001)


class Following:
    """A client of a live query: `latest` is the newest answer."""

    def __init__(self, graph: Graph, stream: Follower) -> None:
        self._graph = graph
        self.stream = stream
        self.results: list[dict[str, Any]] = []

    @property
    def query(self) -> LiveQuery:
        assert self.stream._query is not None
        return self.stream._query

    async def take(self) -> dict[str, Any]:
        """Returns the next result."""
        async with asyncio.timeout(PATIENCE):
            result = await self.stream.next()
        assert result is not None
        self.results.append(orjson.loads(result))
        return self.results[-1]

    async def settle(self) -> None:
        """Waits until all changes that were written have been applied."""
        await self._graph.settle()
        await self.catch_up()

    async def catch_up(self) -> None:
        """Waits until all changes that are known have been applied."""
        live = self._graph.services.operations.live
        async with asyncio.timeout(PATIENCE):
            while not all(each.is_up_to_date for each in live.watching if isinstance(each, LiveQuery)):  # noqa: ASYNC110
                await asyncio.sleep(0.001)

    @property
    def has_news(self) -> bool:
        return self.query.revision != self.stream._taken

    @property
    def latest(self) -> dict[str, Any]:
        """Returns the data of the newest answer."""
        assert "errors" not in self.body, self.body["errors"]
        data: dict[str, Any] = self.body["data"]
        return data

    @property
    def body(self) -> dict[str, Any]:
        """Returns the newest answer."""
        body: dict[str, Any] = orjson.loads(self.query.result_after(0).body)
        return body


AT_ONCE = LiveOptions(0.0, patch=False)


async def follow_any(
    graph: Graph, request: GraphQLRequest, viewer: Viewer = ANONYMOUS, executor: Executor | None = None
) -> Following | None:
    """Follows a query that does not say `@live`, without a throttle. Returns None if it cannot be executed."""
    live = graph.services.operations.live
    live.executor = executor or live.executor
    context = graph.context(viewer)
    prepared = live.executor.admit(request, context, may_mutate=False)
    if isinstance(prepared, Answer):
        return None

    async def contexts() -> Any:
        await asyncio.sleep(0)
        return graph.context(viewer)

    return Following(graph, await live.start(prepared, request, AT_ONCE, context, contexts))


async def follow(graph: Graph, query: str, viewer: Viewer = ANONYMOUS, **variables: Any) -> Following:
    """Starts a live query."""

    async def contexts() -> Any:
        return graph.context(viewer)

    stream = await graph.services.operations.start(GraphQLRequest(query, variables), contexts)
    assert not isinstance(stream, Answer), stream.body
    assert isinstance(stream, Follower)
    return Following(graph, stream)
