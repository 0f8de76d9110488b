"""Fixtures of the tests of accounts."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.support.graph import Graph
from tests.support.mailbox import Mailbox, a_mailbox
from tests.support.serving import Served, a_table, serving


@pytest.fixture
async def mailbox(graph: Graph) -> AsyncIterator[Mailbox]:
    async with a_mailbox() as mailbox:
        graph.services.mail = mailbox.mail()
        yield mailbox


@pytest.fixture(scope="module")
def server(endpoint: str) -> Iterator[Served]:
    with a_table(endpoint) as table_name, serving(endpoint, table_name) as served:
        yield served
