"""Fixtures of the tests of faults: clients of the fault proxy."""

from collections.abc import AsyncIterator

import pytest

from datastore.accounts import User
from datastore.client.budget import Usage
from datastore.client.table import Table
from datastore.client.transport import Transport
from datastore.local.endpoint import LOCAL_REGION
from tests.support.fault_proxy import FaultProxy
from tests.system.faults import LONG, add_users


@pytest.fixture
async def faulty(proxy: FaultProxy, table_name: str) -> AsyncIterator[Table]:
    """The table behind the proxy; `table` is the same one without it."""
    transport = Transport(region=LOCAL_REGION, endpoint=proxy.endpoint)
    yield Table(transport, table_name, Usage.lasting(LONG))
    await transport.close()


@pytest.fixture
async def ada(table: Table) -> User:
    (ada,) = await add_users(table, "ada")
    return ada
