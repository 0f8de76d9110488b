"""The daily backup, and the deletion of old ones."""

from datetime import UTC, datetime, timedelta

import pytest

from datastore.maintenance.backup_settings import BackupSettings
from datastore.maintenance.locations import Folder
from datastore.maintenance.schedule import DailyBackup, due_day
from datastore.maintenance.stored_backups import finished, prune
from tests.datastore.library import user
from tests.support.tables import the_engine_at

NIGHT = datetime(2026, 3, 2, 3, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("time", "day"),
    [("03:00", "2026-03-02"), ("03:05", "2026-03-02"), ("03:06", "2026-03-01"), ("23:59", "2026-03-01")],
)
def test_a_backup_is_due_from_its_time_on(time, day):
    assert due_day(NIGHT, time) == day


async def test_one_server_makes_the_backup_once_a_day(table, endpoint, tmp_path):
    await table.batch_write(puts=[user("ada"), user("bob")])
    settings = BackupSettings(
        backup_to=str(tmp_path / "backups"), table_name=table.name, dynamodb_endpoint=endpoint, data_dir=tmp_path
    )
    servers = [DailyBackup(table, the_engine_at(endpoint), settings) for _ in range(2)]
    assert [await server.look(NIGHT) for server in servers] == [True, False]
    (backup,) = finished(Folder(tmp_path / "backups"))
    assert backup.manifest.items == 2
    # Not again on the same day, by either of them.
    later = NIGHT + timedelta(hours=2)
    assert [await server.look(later) for server in servers] == [False, False]
    assert len(finished(Folder(tmp_path / "backups"))) == 1


def a_backup(folder, name, *, is_finished=True):
    (folder / name).mkdir(parents=True)
    if is_finished:
        (folder / name / "manifest-summary.json").write_text("{}")


def test_old_backups_are_deleted_but_never_the_latest(tmp_path):
    for name in (
        "heartwood-2026-01-01T03-00-00Z",
        "heartwood-2026-01-20T03-00-00Z",
        "heartwood-2026-02-20T03-00-00Z",
        "heartwood-user-2026-01-01T03-00-00Z",
        "other-2026-01-01T03-00-00Z",
        "photos",
    ):
        a_backup(tmp_path, name)
    a_backup(tmp_path, "heartwood-2026-01-02T03-00-00Z", is_finished=False)
    deleted = prune(Folder(tmp_path), "heartwood", timedelta(days=30), NIGHT)
    assert deleted == [
        "heartwood-2026-01-01T03-00-00Z",
        "heartwood-2026-01-02T03-00-00Z",
        "heartwood-2026-01-20T03-00-00Z",
    ]
    assert Folder(tmp_path).folders() == [
        "heartwood-2026-02-20T03-00-00Z",
        "heartwood-user-2026-01-01T03-00-00Z",
        "other-2026-01-01T03-00-00Z",
        "photos",
    ]
    assert prune(Folder(tmp_path), "heartwood", timedelta(days=1), NIGHT) == []
