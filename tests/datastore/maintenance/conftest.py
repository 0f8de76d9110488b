"""Tables of tests without an event loop."""

import asyncio

import pytest

from datastore.client.budget import Usage
from datastore.client.table import Table
from datastore.client.transport import Transport
from datastore.local.endpoint import LOCAL_REGION
from tests.support.tables import CREDENTIALS


@pytest.fixture
def on_table(endpoint):
    """Runs steps on a table, with a connection of their own."""

    def on_table(name, steps):
        async def run():
            transport = Transport(region=LOCAL_REGION, endpoint=endpoint, credentials=CREDENTIALS)
            try:
                return await steps(Table(transport, name, Usage.lasting(60)))
            finally:
                await transport.close()

        return asyncio.run(run())

    return on_table
