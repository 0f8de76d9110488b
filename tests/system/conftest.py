"""Fixtures of the tests of faults."""

import pytest

from datastore.accounts import User
from datastore.client.table import Table
from tests.system.faults import add_users


@pytest.fixture
async def ada(table: Table) -> User:
    (ada,) = await add_users(table, "ada")
    return ada
