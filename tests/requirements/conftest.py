"""The request that a requirement is about, with the calls it declares."""

from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import orjson
import pytest

from datastore.client.budget import Usage
from loaders.viewer import ANONYMOUS, Viewer
from tests.support.graph import Asked, Graph

Ask = Callable[..., Awaitable[Asked]]


@pytest.fixture
def ask(request: pytest.FixtureRequest, graph: Graph) -> Iterator[Ask]:
    """`graph.ask`, for the one request whose calls the test's requirement states."""
    stated, measured = request.function.requirement.calls, []

    async def ask(query: str, viewer: Viewer = ANONYMOUS, **variables: Any) -> Asked:
        asked = await graph.ask(query, viewer, **variables)
        measured.append(asked.calls)
        assert asked.calls == stated
        return asked

    yield ask
    assert len(measured) == 1, "a test makes the request that its requirement is about, once"


@pytest.fixture
def sent(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Every request that leaves for DynamoDB from here on."""
    transport, requests = graph.services.table.transport, []
    call = transport.call

    async def recorded(operation: str, request: dict[str, Any], usage: Usage) -> Any:
        requests.append(orjson.loads(orjson.dumps(request)))
        return await call(operation, request, usage)

    monkeypatch.setattr(transport, "call", recorded)
    return requests
