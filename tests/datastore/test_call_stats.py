"""Durations and failures of calls."""

import pytest

from datastore.accounts import User
from datastore.client.errors import Rejected
from datastore.client.table import Table


async def test_calls_and_failures_are_counted_by_operation(table: Table) -> None:
    await table.get(User.key(user_id="nobody"))
    with pytest.raises(Rejected):
        await table.transport.call("GetItem", {"TableName": table.name}, table.usage)
    stats = table.transport.stats
    # The engine answered both attempts; only an accepted one has a duration.
    assert {name: each.count for name, each in stats.seconds.items()} == {"GetItem": 1}
    assert dict(stats.failures) == {("GetItem", "Rejected"): 1}
    assert stats.waits.count == 0
