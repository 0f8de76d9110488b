"""Subscribes like a client."""

import asyncio
from typing import Any

import orjson

from loaders.viewer import ANONYMOUS, Viewer
from schema.http.protocol import Answer, GraphQLRequest
from schema.live.subscriber import Subscriber
from tests.support.graph import Graph

PATIENCE = 20.0


class Subscribed:
    """A client of a subscription."""

    def __init__(self, graph: Graph, stream: Subscriber) -> None:
        self._graph = graph
        self.stream = stream
        self.cursor: str | None = None
        self._coming: asyncio.Future[bytes | None] | None = None

    async def result(self) -> dict[str, Any] | None:
        """Returns the next result, None at the end."""
        if self._coming is None:
            self._coming = asyncio.ensure_future(self.stream.next())
        result = await asyncio.wait_for(asyncio.shield(self._coming), PATIENCE)
        self._coming = None
        return None if result is None else orjson.loads(result)

    async def take(self) -> dict[str, Any]:
        """Returns the node of the next event."""
        result = await self.result()
        assert result is not None
        assert "errors" not in result, result["errors"]
        (edge,) = result["data"].values()
        self.cursor = edge["cursor"]
        node: dict[str, Any] = edge["node"]
        return node

    async def takes(self, count: int) -> list[dict[str, Any]]:
        return [await self.take() for _ in range(count)]

    async def is_silent(self) -> bool:
        """Returns True if everything that was written has been read, and there is nothing for this client."""
        await self._graph.settle()
        if self._coming is None:
            self._coming = asyncio.ensure_future(self.stream.next())
        # Waiting for news, it has read the log to its end and made all results.
        async with asyncio.timeout(PATIENCE):
            while not (self._coming.done() or self.is_waiting):  # noqa: ASYNC110
                await asyncio.sleep(0.001)
        return not self._coming.done()

    @property
    def is_waiting(self) -> bool:
        stream = self.stream
        return stream._number == stream.channel.end and bool(stream._news._waiters) and stream._log is not None

    def stop_reading(self) -> None:
        if self._coming is not None:
            self._coming.cancel()
            self._coming = None

    def close(self) -> None:
        self.stop_reading()
        self.stream.close()


async def started(graph: Graph, query: str, viewer: Viewer = ANONYMOUS, **variables: Any) -> Answer | Subscriber:
    async def contexts() -> Any:
        return graph.context(viewer)

    stream = await graph.services.operations.start(GraphQLRequest(query, variables), contexts)
    assert isinstance(stream, Answer | Subscriber)
    return stream


async def subscribe(graph: Graph, query: str, viewer: Viewer = ANONYMOUS, **variables: Any) -> Subscribed:
    """Starts a subscription."""
    stream = await started(graph, query, viewer, **variables)
    assert isinstance(stream, Subscriber), stream.body
    return Subscribed(graph, stream)


async def refusal(graph: Graph, query: str, viewer: Viewer = ANONYMOUS, **variables: Any) -> tuple[str, str]:
    """Returns the code and the message of the error that a subscription is refused with."""
    answer = await started(graph, query, viewer, **variables)
    assert isinstance(answer, Answer)
    (error,) = answer.body["errors"]
    return error["extensions"]["code"], error["message"]
