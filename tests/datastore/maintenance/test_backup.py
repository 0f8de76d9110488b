"""Backups of the whole table, and their restore."""

import gzip
import os
import time
from contextlib import asynccontextmanager
from dataclasses import replace

import orjson
import pytest

from datastore.changes.leases import Leases
from datastore.changes.log import ChangeLog
from datastore.changes.outbox import Outbox, OutboxSource
from datastore.client.budget import Usage
from datastore.client.table import Table
from datastore.client.writes import Delete, Put
from datastore.maintenance import backup as backups
from datastore.maintenance import operations
from datastore.maintenance.backup import Backup, BackupOptions, CannotResume
from datastore.maintenance.changed_places import LogExpired
from datastore.maintenance.export_format import DamagedBackup
from datastore.maintenance.locations import Folder
from datastore.maintenance.manifest import Manifest
from datastore.maintenance.operations import MaintenanceOperation, OperationWatch
from datastore.maintenance.raw_items import canonical
from datastore.maintenance.restore import NotEmpty, Restore, RestoreFailed
from datastore.maintenance.segments import MaintenanceScan, every_item
from datastore.model.entity import REGISTRY
from tests.datastore.library import entry, essay, user

pytestmark = pytest.mark.usefixtures("library_registered")


class Killed(Exception):
    """The process ends here."""


ALONE = BackupOptions(segments=2, is_alone=True)


@pytest.fixture
def fast(monkeypatch):
    """Servers of these tests see an operation at once."""
    for module in (operations, backups):
        monkeypatch.setattr(module, "SEEN_WITHIN", 0.0)


@pytest.fixture
async def another_table(tables, table):
    with tables.a_table() as name:
        yield Table(table.transport, name, Usage.lasting(120))


@pytest.fixture
def recorded(table):
    """The table as a server at home writes to it, with an outbox."""
    return Table(table.transport, table.name, Usage.lasting(120), Outbox())


async def fill(table, number=40):
    records = [entry(index) for index in range(number)] + [user("ada"), essay("ash", text="x" * 50_000)]
    await table.batch_write(puts=records)
    return records


async def stored(table, *left_out):
    items = [item async for item in every_item(table)]
    return sorted(canonical(orjson.dumps(item)) for item in items if item["entityType"]["S"] not in left_out)


def lines_of(folder):
    found = []
    for path in sorted((folder / "data").iterdir()):
        with gzip.open(path, "rb") as file:
            found += [orjson.loads(line)["Item"] for line in file]
    return found


def backup_of(table, tmp_path, options=ALONE):
    return Backup(table, Folder(tmp_path / "backups"), tmp_path / "work", options)


@pytest.mark.engine_contract
async def test_a_backup_is_restored_to_the_byte(table, another_table, tmp_path):
    await fill(table)
    backup = backup_of(table, tmp_path)
    manifest = await backup.run()
    assert manifest.items == 42
    restore = Restore(another_table, Folder(tmp_path / "backups" / backup.name))
    outcome = await restore.into_empty()
    assert (outcome.items, outcome.written) == (42, 42)
    assert await stored(another_table) == await stored(table)
    assert not (tmp_path / "work").exists()


async def test_a_backup_has_the_format_of_an_export(table, tmp_path):
    await fill(table, 3)
    backup = backup_of(table, tmp_path)
    await backup.run()
    folder = tmp_path / "backups" / backup.name
    items = lines_of(folder)
    assert sorted(item["PK"]["S"] + item["SK"]["S"] for item in items) == [
        "TESTBOOK#bENTRY#000#e0",
        "TESTBOOK#bENTRY#001#e1",
        "TESTBOOK#bENTRY#002#e2",
        "TESTSHELF#sESSAY#ash",
        "USER#adaPROFILE",
    ]
    summary = orjson.loads((folder / "manifest-summary.json").read_bytes())
    assert (summary["itemCount"], summary["outputFormat"]) == (5, "DYNAMODB_JSON")
    assert summary["heartwood"]["schemaVersions"]["Entry"] == REGISTRY["Entry"].schema_version == 1
    assert summary["heartwood"]["consistency"]["isExact"] is True
    files = [orjson.loads(line) for line in (folder / "manifest-files.json").read_bytes().splitlines()]
    assert sum(file["itemCount"] for file in files) == 5
    assert {file["dataFileS3Key"] for file in files} == {
        f"{backup.name}/data/{path.name}" for path in (folder / "data").iterdir()
    }


@asynccontextmanager
async def a_server(recorded):
    """Moves the outbox to the log once when it is left, as a server would all the time."""
    watch = OperationWatch(recorded)
    source = OutboxSource(recorded, recorded.recorder, Leases(recorded), ChangeLog(recorded))
    yield watch
    while await source.move():
        pass


async def test_what_changes_during_the_scan_is_in_the_backup_as_it_is_at_the_end(
    table, recorded, another_table, tmp_path, fast, monkeypatch
):
    """Also what the log usually leaves out: a guard of a unique value."""
    await fill(table)
    unique = REGISTRY["Unique"]
    is_changed = False
    take = Backup._take

    async def changing(self, page):
        nonlocal is_changed
        await take(self, page)
        if not is_changed:
            is_changed = True
            async with a_server(recorded) as server:
                await server.look()
                await recorded.write(Put(entry(1, reads=7)), Delete(entry(2).own_key), Put(entry(99)))
                await recorded.put(unique(kind="email", value="eve@example.org", owner_id="eve"))
            # Not moved to the log before the end.
            await recorded.put(entry(3, reads=9))

    monkeypatch.setattr(Backup, "_take", changing)
    backup = backup_of(table, tmp_path, BackupOptions(segments=2))
    manifest = await backup.run()
    assert is_changed
    found = {(item["PK"]["S"], item["SK"]["S"]): item for item in lines_of(tmp_path / "backups" / backup.name)}
    assert len(found) == manifest.items
    reads = {sk: item["reads"]["N"] for (pk, sk), item in found.items() if pk == "TESTBOOK#b" and "reads" in item}
    assert reads["ENTRY#001#e1"] == "7"
    assert reads["ENTRY#003#e3"] == "9"
    assert ("TESTBOOK#b", "ENTRY#002#e2") not in found
    assert ("TESTBOOK#b", "ENTRY#099#e99") in found
    assert ("UNIQUE#email#eve@example.org", "UNIQUE") in found
    await Restore(another_table, Folder(tmp_path / "backups" / backup.name)).into_empty()
    assert await stored(another_table) == await stored(table)
    assert (await table.query(MaintenanceOperation.within(), limit=10)).records == []


@pytest.mark.parametrize("killed_after", [1, 3, 6])
async def test_an_interrupted_backup_goes_on(table, another_table, tmp_path, monkeypatch, killed_after):
    """As after kill -9: the state is older than the files, and a file has half of a page."""
    await fill(table)
    monkeypatch.setattr(backups, "SAVED_EVERY", 0.0)
    pages = 0
    take = Backup._take

    async def dying(self, page):
        nonlocal pages
        pages += 1
        number = pages
        await take(self, page)
        if number == killed_after:
            raise Killed

    monkeypatch.setattr(Backup, "_take", dying)
    scan = MaintenanceScan.__init__
    monkeypatch.setattr(MaintenanceScan, "__init__", lambda self, *given, **other: scan(self, *given, page_items=5))
    with pytest.raises(Killed):
        await backup_of(table, tmp_path).run()
    for path in (tmp_path / "work" / "parts").iterdir():
        with path.open("ab") as file:
            file.write(b"half of a page")
    monkeypatch.setattr(Backup, "_take", take)
    backup = backup_of(table, tmp_path)
    manifest = await backup.run()
    assert manifest.items == 42
    await Restore(another_table, Folder(tmp_path / "backups" / backup.name)).into_empty()
    assert await stored(another_table) == await stored(table)


async def test_a_server_may_run_between_an_interruption_and_the_end(
    table, recorded, another_table, tmp_path, monkeypatch
):
    """The backup has bookkeeping, which the log usually leaves out, although no server ran when it began."""
    await fill(table)
    rounds = Backup._rounds

    async def dying(self, first):
        raise Killed

    monkeypatch.setattr(Backup, "_rounds", dying)
    with pytest.raises(Killed):
        await backup_of(table, tmp_path).run()
    async with a_server(recorded) as server:
        await server.look()
        await recorded.put(REGISTRY["Unique"](kind="email", value="eve@example.org", owner_id="eve"))
    monkeypatch.setattr(Backup, "_rounds", rounds)
    backup = backup_of(table, tmp_path)
    assert (await backup.run()).details["consistency"]["isExact"] is True
    await Restore(another_table, Folder(tmp_path / "backups" / backup.name)).into_empty()
    assert await stored(another_table) == await stored(table, "Lease")


async def test_a_backup_that_takes_more_than_a_day_is_not_trusted(table, tmp_path, monkeypatch):
    """Servers log bookkeeping, and the log keeps changes, for a day only."""
    await fill(table, 3)
    rounds = Backup._rounds

    async def late(self, first):
        self._operation.record = replace(self._operation.record, expires_at=int(time.time()))
        return await rounds(self, first)

    monkeypatch.setattr(Backup, "_rounds", late)
    with pytest.raises(LogExpired, match="more than a day"):
        await backup_of(table, tmp_path).run()
    assert not (tmp_path / "backups").exists()


async def test_a_backup_of_yesterday_cannot_go_on(table, tmp_path, fast):
    (tmp_path / "work" / "parts").mkdir(parents=True)
    state = {"name": "old", "tableName": table.name, "beganAt": "", "operation": "gone", "log": {}, "files": {}}
    (tmp_path / "work" / "progress.json").write_bytes(orjson.dumps(state))
    with pytest.raises(CannotResume, match="began more than a day ago"):
        await backup_of(table, tmp_path).run()


@pytest.fixture
async def made(table, tmp_path):
    await fill(table, 5)
    backup = backup_of(table, tmp_path)
    await backup.run()
    return tmp_path / "backups" / backup.name


async def test_a_table_that_is_not_empty_is_not_restored_into(made, another_table):
    await another_table.put(entry(500))
    with pytest.raises(NotEmpty, match="is not empty"):
        await Restore(another_table, Folder(made)).into_empty()
    assert len(await stored(another_table)) == 1


async def test_overwriting_replaces_items_of_the_backup_and_keeps_others(made, another_table, table, fast):
    await another_table.batch_write(puts=[entry(500), entry(1, reads=99)])
    await Restore(another_table, Folder(made)).into_empty(overwrite=True)
    assert (await another_table.get(entry(1).own_key)).reads == 0
    assert len(await stored(another_table)) == len(await stored(table)) + 1


async def test_an_interrupted_restore_goes_on(made, another_table, table, monkeypatch):
    restore = Restore(another_table, Folder(made))
    write = restore._items.write
    assert len(restore.manifest.files) == 2

    async def dying(items):
        await write(items)
        raise Killed

    monkeypatch.setattr(restore._items, "write", dying)
    with pytest.raises(Killed):
        await restore.into_empty()
    outcome = await Restore(another_table, Folder(made)).into_empty()
    assert outcome.items == 7
    assert await stored(another_table) == await stored(table)


async def test_a_restore_that_differs_writes_everything_again(made, another_table, table, monkeypatch):
    restore = Restore(another_table, Folder(made))
    write_all = restore._write_all

    async def damaging(operation):
        outcome = await write_all(operation)
        await another_table.delete(entry(2).own_key)
        return outcome

    monkeypatch.setattr(restore, "_write_all", damaging)
    with pytest.raises(RestoreFailed, match=r"the table has 6 items .* and the backup 7 .* run the same command again"):
        await restore.into_empty()
    outcome = await Restore(another_table, Folder(made)).into_empty()
    assert (outcome.items, outcome.written) == (7, 7)
    assert await stored(another_table) == await stored(table)


@pytest.mark.parametrize("overwrite", [False, True])
async def test_what_dynamodb_deletes_during_a_restore_since_it_has_expired_is_not_missed(
    table, another_table, tmp_path, monkeypatch, fast, overwrite
):
    await fill(table, 5)
    over = entry(90, expires_at=int(time.time()) - 60)
    await table.batch_write(puts=[over, entry(91, expires_at=int(time.time()) + 86_400)])
    backup = backup_of(table, tmp_path)
    assert (await backup.run()).items == 9
    restore = Restore(another_table, Folder(tmp_path / "backups" / backup.name))
    write_all = restore._write_all

    async def deleting(operation):
        outcome = await write_all(operation)
        await another_table.delete(over.own_key)
        return outcome

    monkeypatch.setattr(restore, "_write_all", deleting)
    assert (await restore.into_empty(overwrite=overwrite)).written == 9
    assert len(await stored(another_table)) == 8


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("name", ["manifest-summary.json", "manifest-files.json"])
async def test_a_changed_manifest_is_refused(made, name):
    flip(made / name)
    with pytest.raises(DamagedBackup, match=name):
        Manifest.read(Folder(made))


@pytest.mark.parametrize("damage", [flip, lambda path: os.truncate(path, 100), os.unlink])
async def test_a_damaged_file_is_refused_before_anything_is_written(made, another_table, damage):
    path = sorted((made / "data").iterdir())[-1]
    damage(path)
    with pytest.raises(DamagedBackup, match=path.name):
        await Restore(another_table, Folder(made)).into_empty()
    assert await stored(another_table) == []


async def test_a_backup_of_a_newer_heartwood_is_refused(made, another_table):
    restore = Restore(another_table, Folder(made))
    restore.manifest.details["schemaVersions"]["Entry"] = 2
    with pytest.raises(DamagedBackup, match="Entry has version 2, and this Heartwood knows 1"):
        restore.verify()


async def test_absent_items_are_restored_and_others_kept(made, table):
    await table.delete(entry(1).own_key)
    await table.put(entry(2, reads=5))
    restore = Restore(table, Folder(made), wanted=lambda item: b"ENTRY" in item)
    planned = await restore.where_absent(dry_run=True)
    assert (planned.items, planned.written, planned.identical, planned.kept) == (5, 1, 3, 1)
    assert await table.get(entry(1).own_key) is None
    outcome = await Restore(table, Folder(made), wanted=lambda item: b"ENTRY" in item).where_absent()
    assert (outcome.items, outcome.written, outcome.identical, outcome.kept) == (5, 1, 3, 1)
    assert outcome.examples == ["TESTBOOK#b ENTRY#002#e2"]
    assert (await table.get(entry(1).own_key)).reads == 0
    assert (await table.get(entry(2).own_key)).reads == 5
    await Restore(table, Folder(made)).where_absent(overwrite=True)
    assert (await table.get(entry(2).own_key)).reads == 0
