"""Operations on the whole table, and what servers do while they are under way."""

import time

import pytest

from datastore.changes.change import decoded
from datastore.changes.outbox import Outbox
from datastore.changes.records import OutboxItem
from datastore.client.budget import Usage
from datastore.client.errors import WritesPaused
from datastore.client.table import Table
from datastore.client.writes import Delete, Put
from datastore.maintenance.operations import MaintenanceOperation, Operation, OperationWatch
from datastore.model.entity import REGISTRY
from tests.datastore.library import entry

pytestmark = pytest.mark.usefixtures("library_registered")


@pytest.fixture
def recorded(table):
    return Table(table.transport, table.name, Usage.lasting(60), Outbox())


async def changed(table):
    page = await table.query(OutboxItem.within(), limit=100, consistent=True)
    return [change.key.pk for record in page.records for change in decoded(record.changes)]


async def test_while_an_operation_follows_changes_bookkeeping_is_logged_too(table, recorded):
    guard = REGISTRY["Unique"](kind="email", value="a@example.org", owner_id="a")
    watch = OperationWatch(recorded)
    await watch.look()
    await recorded.put(guard)
    assert await changed(table) == []
    operation = await Operation.begin(table, "a test", logs_everything=True)
    await watch.look()
    await recorded.put(guard)
    await recorded.batch_write(deletes=[guard.own_key])
    assert await changed(table) == ["UNIQUE#email#a@example.org"] * 2
    await operation.end()
    await watch.look()
    await recorded.put(guard)
    assert len(await changed(table)) == 2


async def test_writes_are_refused_while_an_operation_pauses_them(table, recorded):
    watch = OperationWatch(recorded)
    operation = await Operation.begin(table, "its table moves")
    await operation.pause_writes(0.0)
    await watch.look()
    for write in (
        lambda: recorded.put(entry(1)),
        lambda: recorded.write(Put(entry(1)), Delete(entry(2).own_key)),
        lambda: recorded.batch_write(puts=[entry(1)]),
    ):
        with pytest.raises(WritesPaused, match="the data is read-only for a moment: its table moves") as refused:
            await write()
        assert refused.value.may_have_applied is False
    assert recorded.usage.calls["PutItem"] == recorded.usage.calls["TransactWriteItems"] == 0
    # Reads go on.
    assert await recorded.get(entry(1).own_key) is None
    await operation.resume_writes()
    await watch.look()
    await recorded.put(entry(1))
    await operation.end()


async def test_an_operation_of_a_dead_process_ends_by_itself(table, recorded):
    past = int(time.time()) - 1
    await table.put(MaintenanceOperation(operation_id="x", kind="a test", logs_everything=True, expires_at=past))
    await table.put(
        MaintenanceOperation(operation_id="y", kind="a test", pauses_until=past, expires_at=int(time.time()) + 60)
    )
    await OperationWatch(recorded).look()
    assert recorded.recorder.everything is False
    await recorded.put(entry(1))
    assert await Operation.resume(table, "x") is None


async def test_another_process_goes_on_at_the_stored_position(table):
    operation = await Operation.begin(table, "a test", "id-1")
    await operation.move_to({"files": ["a"]})
    found = await Operation.resume(table, "id-1")
    assert found.position == {"files": ["a"]}
    await found.end()
    assert await Operation.resume(table, "id-1") is None
