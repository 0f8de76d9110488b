"""Deletes the indexes that tests have left on a node of OpenSearch."""

from collections.abc import Iterator

import httpx
import pytest

from tests.resolvers.search.engines import OPENSEARCH, PREFIX


@pytest.fixture(autouse=True)
def leaves_no_indexes() -> Iterator[None]:
    yield
    if OPENSEARCH:
        for name in httpx.get(f"{OPENSEARCH}/{PREFIX}-*/_alias", timeout=60).json():
            httpx.delete(f"{OPENSEARCH}/{name}", timeout=60).raise_for_status()
        httpx.delete(f"{OPENSEARCH}/_index_template/{PREFIX}-*", timeout=60)
