"""Fixtures of the datastore's tests: their entities, registered while they run, and what leaves for DynamoDB."""

import orjson
import pytest

from datastore.model.entity import REGISTRY
from tests.datastore.library import LIBRARY, Entry, entry
from tests.datastore.things import THINGS


@pytest.fixture(scope="module")
def library_registered():
    """Registers the entities of the library only while the tests of a module run."""
    REGISTRY.update(LIBRARY)
    yield
    for name in LIBRARY:
        del REGISTRY[name]


@pytest.fixture
def sent(table, monkeypatch):
    """Records every request of the table client."""
    requests = []
    call = table.transport.call

    async def recorded(operation, request, usage):
        requests.append((operation, orjson.loads(orjson.dumps(request))))
        return await call(operation, request, usage)

    monkeypatch.setattr(table.transport, "call", recorded)
    return requests


@pytest.fixture
async def book(table) -> list[Entry]:
    """Nine entries, in order."""
    entries = [entry(number) for number in range(1, 10)]
    await table.batch_write(puts=reversed(entries))
    table.usage.calls.clear()
    return entries


@pytest.fixture(scope="module")
def things_registered():
    """Registers the entities of tests.datastore.things only while the tests of a module run."""
    REGISTRY.update(THINGS)
    yield
    for name in THINGS:
        del REGISTRY[name]


@pytest.fixture
def registry():
    """For tests that declare entities: unregisters them."""
    before = dict(REGISTRY)
    yield REGISTRY
    REGISTRY.clear()
    REGISTRY.update(before)
