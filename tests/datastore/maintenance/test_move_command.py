"""`heartwood move` from one table to another."""

import orjson
import pytest

from datastore.local import engine
from datastore.maintenance import move as moves
from datastore.maintenance import operations
from datastore.maintenance.changed_places import LEFT_OUT
from datastore.maintenance.raw_items import canonical
from datastore.maintenance.segments import every_item
from tests.datastore.library import user
from tests.support.command_line import heartwood


@pytest.fixture(autouse=True)
def fast(monkeypatch):
    for module in (operations, moves):
        monkeypatch.setattr(module, "SEEN_WITHIN", 0.0)
    for name in ("QUIET_SECONDS", "REQUESTS_END_AFTER"):
        monkeypatch.setattr(moves, name, 0.0)


async def _contents(table):
    items = [item async for item in every_item(table) if item["entityType"]["S"] not in LEFT_OUT]
    return sorted(canonical(orjson.dumps(item)) for item in items)


def test_a_table_is_copied_then_switched_and_released(endpoint, table_name, tables, on_table):
    on_table(table_name, lambda table: table.batch_write(puts=[user(f"p{number}") for number in range(20)]))
    with tables.a_table() as target:
        places = ("--from", f"endpoint={endpoint},table={table_name}", "--to", f"endpoint={endpoint},table={target}")
        copied = heartwood("move", *places)
        assert copied.returncode == 0, copied
        assert copied.stdout.startswith(
            "20 items copied, 0 changes followed, 20 items compared, 0 of them copied again"
        )
        assert "run the command again with --switch to switch" in copied.stdout
        on_table(table_name, lambda table: table.put(user("late")))
        switched = heartwood("move", *places, "--switch")
        assert switched.returncode == 0, switched
        assert "going on with a move that was interrupted" in switched.stderr
        # Written without a log, so only the comparison could find it.
        assert "1 of them copied again" in switched.stdout
        assert f"start the servers with the table {target} at {endpoint}" in switched.stdout
        assert on_table(target, _contents) == on_table(table_name, _contents)
        released = heartwood("move", *places, "--release")
        assert (released.returncode, released.stdout) == (0, f"{table_name} at {endpoint} takes writes again\n")
        assert heartwood("move", *places, "--release").returncode == 1


def test_a_table_is_not_moved_to_itself(endpoint, table_name):
    place = f"endpoint={endpoint},table={table_name}"
    done = heartwood("move", "--from", place, "--to", place)
    assert (done.returncode, done.stderr) == (2, "--from and --to are the same table\n")


@pytest.mark.skipif(engine.dynoxide() is None, reason="the local engine is not installed")
def test_maintenance_joins_the_engine_of_a_server_at_home(tmp_path):
    with engine.running(tmp_path) as running:
        assert engine.endpoint_in_use(tmp_path) == running.endpoint
        assert (tmp_path / "endpoint").stat().st_mode & 0o777 == 0o600
    assert engine.endpoint_in_use(tmp_path) is None
    assert engine.endpoint_in_use(tmp_path / "nothing") is None
