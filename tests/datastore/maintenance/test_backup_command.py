"""`heartwood backup`, `restore` and `backups`, in a folder and in S3."""

import re

import boto3
import orjson
import pytest

from datastore.local import engine
from datastore.local.endpoint import LOCAL_REGION
from datastore.maintenance import backup as backups
from datastore.maintenance import operations
from datastore.maintenance.raw_items import canonical
from datastore.maintenance.segments import every_item
from tests.datastore.library import user
from tests.support.command_line import heartwood


@pytest.fixture(autouse=True)
def fast(monkeypatch):
    for module in (operations, backups):
        monkeypatch.setattr(module, "SEEN_WITHIN", 0.0)


@pytest.fixture
def filled(on_table, table_name):
    on_table(table_name, lambda table: table.batch_write(puts=[user(f"p{number}") for number in range(30)]))
    return table_name


async def _contents(table):
    return sorted([canonical(orjson.dumps(item)) async for item in every_item(table)])


@pytest.fixture
def run(endpoint, filled, tmp_path):
    def run(*arguments, **variables):
        given = {"DYNAMODB_ENDPOINT": endpoint, "TABLE_NAME": filled, "DATA_DIR": str(tmp_path / "data")}
        return heartwood(*arguments, **{**given, **variables})

    return run


def folder_in(done):
    assert (done.returncode, done.stderr.splitlines()[-1:]) == (0, ["reading what changed meanwhile"]), done
    first, place = done.stdout.splitlines()
    assert re.fullmatch(r"30 items, as of \S+Z?, in [\d.]+ s with \d+ read units|30 items, exactly as of .*", first)
    return place


def test_last_nights_backup_is_restored_by_copying_commands(run, on_table, filled, tables, tmp_path):
    place = folder_in(run("backup", "--to", tmp_path / "backups"))
    listed = run("backups", "list", "--in", tmp_path / "backups")
    assert listed.stdout.split("  ")[1:] == ["30 items", "whole table", f"{place}\n"]
    verified = run("backups", "verify", place)
    assert "30 items" in verified.stdout
    assert "all checksums are right" in verified.stdout
    with tables.a_table() as name:
        planned = run("restore", place, "--dry-run", TABLE_NAME=name)
        assert (planned.returncode, "is empty: a restore would write all of them" in planned.stdout) == (0, True)
        restored = run("restore", place, "--no-check", TABLE_NAME=name)
        assert (restored.returncode, restored.stdout.splitlines()[1]) == (0, "verified: all items are equal")
        assert on_table(name, _contents) == on_table(filled, _contents)
        again = run("restore", place, "--no-check", TABLE_NAME=name)
        assert (again.returncode, "is not empty" in again.stderr) == (1, True)
        planned = run("restore", place, "--dry-run", TABLE_NAME=name)
        assert (planned.returncode, "would be refused without --overwrite" in planned.stdout) == (1, True)


def test_one_user_is_backed_up_and_restored_where_absent(run, on_table, filled, tmp_path):
    done = run("backup", "--to", tmp_path / "backups", "--user", "p3")
    assert done.stdout.startswith("1 items, as of ")
    place = done.stdout.splitlines()[1]
    before = on_table(filled, _contents)
    on_table(filled, lambda table: table.delete(user("p3").own_key))
    restored = run("restore", place, "--no-check")
    assert restored.stdout.startswith("1 of 1 items were written")
    assert on_table(filled, _contents) == before
    # The same from a backup of the whole table.
    whole = folder_in(run("backup", "--to", tmp_path / "whole"))
    on_table(filled, lambda table: table.delete(user("p4").own_key))
    restored = run("restore", whole, "--user", "p4", "--no-check")
    assert restored.stdout.startswith("1 of 1 items were written")
    assert restored.stdout.splitlines()[1] == "the table has every item that was wanted"
    assert on_table(filled, _contents) == before


def test_a_backup_goes_to_s3_and_comes_back(run, on_table, filled, tables, monkeypatch):
    with engine.in_memory(moto=True) as moto:
        keys = {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", "AWS_DEFAULT_REGION": LOCAL_REGION}
        variables = {**keys, "AWS_ENDPOINT_URL_S3": moto.endpoint}
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        boto3.client("s3").create_bucket(Bucket="backups")
        place = folder_in(run("backup", "--to", "s3://backups/heartwood", **variables))
        assert place.startswith("s3://backups/heartwood/")
        listed = run("backups", "list", **variables, BACKUP_TO="s3://backups/heartwood")
        assert listed.stdout.split("  ")[1:] == ["30 items", "whole table", f"{place}\n"]
        with tables.a_table() as name:
            restored = run("restore", place, "--no-check", TABLE_NAME=name, **variables)
            assert (restored.returncode, restored.stdout.splitlines()[1]) == (0, "verified: all items are equal")
            assert on_table(name, _contents) == on_table(filled, _contents)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("backup", "--to", "ftp://host/x"), "'ftp://host/x' is neither a folder nor s3://bucket/prefix"),
        (("backup", "--to", "s3:///x"), "s3:///x names no bucket; write it as s3://bucket/prefix"),
        (("backup", "--segments", "0"), "--segments must be 1 to 1000"),
        (("backup", "--read-units", "-1"), "--read-units must be above 0"),
        (("move", "--from", "nonsense", "--to", "region=x"), "'nonsense' describes no table; write it like "),
        (("move", "--from", "table=abc", "--to", "region=x"), "'table=abc' needs one of endpoint=, region= and "),
        (("move", "--from", "data-dir=x,region=y", "--to", "region=x"), "'data-dir=x,region=y' needs one of "),
    ],
)
def test_mistakes_are_explained(run, arguments, said):
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(said)


def test_an_unfinished_backup_is_neither_dropped_nor_resumed_by_accident(run, filled, tmp_path):
    nothing = run("backup", "--to", tmp_path / "backups", "--resume")
    assert (nothing.returncode, "there is no unfinished backup" in nothing.stderr) == (1, True)
    work = tmp_path / "backups" / f".{filled}.partial"
    work.mkdir()
    (work / "progress.json").write_text("{}")
    unclear = run("backup", "--to", tmp_path / "backups")
    assert (unclear.returncode, "pass --resume to go on with it, or --restart" in unclear.stderr) == (1, True)
    folder_in(run("backup", "--to", tmp_path / "backups", "--restart"))
    assert not work.exists()


def test_what_is_no_backup_is_refused(run, tmp_path):
    missing = run("restore", tmp_path / "nothing")
    assert (missing.returncode, "it is no backup, or one that was not finished" in missing.stderr) == (1, True)
    place = folder_in(run("backup", "--to", tmp_path / "backups"))
    parent = run("restore", tmp_path / "backups")
    assert parent.returncode == 2
    assert parent.stderr.strip() == f"{tmp_path / 'backups'} has 1 backups; choose one, such as {place}"
    nobody = run("restore", place, "--user", "nobody")
    assert (nobody.returncode, nobody.stderr.splitlines()[-1]) == (1, "the backup has no items of the user nobody")
    empty = run("backups", "list", "--in", tmp_path / "nothing")
    assert (empty.returncode, empty.stderr.strip()) == (1, f"there are no backups in {tmp_path / 'nothing'}")
