"""The engines that the contract is tested on, and documents for them."""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from datastore.changes.leases import Leases
from resolvers.search.documents import EVERYONE, Audience, Document, Text, Weight
from resolvers.search.embedded import EmbeddedEngine
from resolvers.search.engine import SearchEngine, SearchRequest
from resolvers.search.opensearch import OpenSearchEngine
from resolvers.search.opensearch_client import OpenSearchClient
from resolvers.search.queries import parsed

OPENSEARCH = os.environ.get("OPENSEARCH_TEST_URL")
"""URL of a real node, which `make test-opensearch` starts."""
PREFIX = f"heartwood-test-{os.getpid()}"


@asynccontextmanager
async def embedded(folder: Path) -> AsyncIterator[SearchEngine]:
    engine = EmbeddedEngine(folder)
    assert await engine.lock()
    await engine.open()
    yield engine
    await engine.close()


@asynccontextmanager
async def opensearch(folder: Path) -> AsyncIterator[SearchEngine]:
    engine = opensearch_engine(folder)
    assert await engine.lock()
    await engine.open()
    yield engine
    await engine.close()


def opensearch_engine(folder: Path, leases: Leases | None = None) -> OpenSearchEngine:
    assert OPENSEARCH
    digest = sha256(str(folder).encode()).hexdigest()[:12]
    return OpenSearchEngine(OpenSearchClient(OPENSEARCH), f"{PREFIX}-{digest}", leases)


BACKENDS: dict[str, Callable[[Path], AbstractAsyncContextManager[SearchEngine]]] = {"embedded": embedded}
"""Opens an engine. Opening it again for the same folder finds what was committed."""
if OPENSEARCH:
    BACKENDS["opensearch"] = opensearch


def document(key: str, title: str, body: str = "", **fields: Any) -> Document:
    texts = [Text("title", title, Weight.TITLE), *([Text("body", body)] if body else [])]
    texts += [Text("tags", tag, Weight.TAGS) for tag in fields.get("tags", ())]
    return Document(**{"key": key, "type": "Card", "texts": texts, "audiences": [EVERYONE], **fields})


async def filled(engine: SearchEngine, *documents: Document) -> None:
    """Makes these documents the whole index."""
    generation = await engine.begin()
    await generation.update(documents, [], version=1)
    await generation.commit({0: 1})
    await engine.switch(generation)


def request(text: str, *audiences: Audience, **fields: Any) -> SearchRequest:
    return SearchRequest(parsed(text), frozenset(audiences or (EVERYONE,)), **fields)


async def found(engine: SearchEngine, text: str, *audiences: Audience, **fields: Any) -> list[str]:
    query = parsed(text, await engine.languages())
    answer = await engine.query(replace(request(text, *audiences, **fields), query=query))
    return [hit.key for hit in answer.hits]
