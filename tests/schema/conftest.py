"""Fixtures of the schema's tests: a server, and one with low limits."""

from collections.abc import Iterator

import pytest

from tests.support.serving import Served, a_table, serving


@pytest.fixture(scope="module")
def server(endpoint: str) -> Iterator[Served]:
    with a_table(endpoint) as table_name, serving(endpoint, table_name) as served:
        yield served


@pytest.fixture(scope="module")
def strict(endpoint: str) -> Iterator[Served]:
    """A server with low limits and short timeouts."""
    with (
        a_table(endpoint) as table_name,
        serving(
            endpoint,
            table_name,
            request_timeout=3,
            max_body_bytes=2_000,
            max_query_tokens=100,
            max_query_depth=3,
            max_query_cost=30,
            max_json_depth=3,
        ) as served,
    ):
        yield served
