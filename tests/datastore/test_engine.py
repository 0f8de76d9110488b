"""The local engine: it keeps its data, stops with its parent process, and runs only once."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from datastore.local import engine, provision
from datastore.local.endpoint import LOCAL_REGION, chosen
from datastore.local.engine import Engine, EngineFailed, running
from datastore.local.settings import TableSettings

REPOSITORY = Path(__file__).parents[2]
ITEM = {"PK": {"S": "A"}, "SK": {"S": "B"}}
PATIENCE = 120.0

needs_dynoxide = pytest.mark.skipif(engine.dynoxide() is None, reason="the local engine is not installed: npm install")

STARTER = """
import sys, time
from pathlib import Path
from datastore.local.engine import running

with running(Path(sys.argv[1])) as engine:
    print(engine.endpoint, flush=True)
    time.sleep(600)
"""


@contextmanager
def another_process_running(data_dir: Path):
    """A process that started the engine, and the engine's endpoint; killed at the end."""
    with subprocess.Popen(
        [sys.executable, "-c", STARTER, str(data_dir)], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


def answers(endpoint: str) -> bool:
    address = urlsplit(endpoint)
    try:
        with socket.create_connection((address.hostname, address.port), timeout=1):
            return True
    except OSError:
        return False


def stops_answering(endpoint: str) -> bool:
    give_up = time.monotonic() + PATIENCE
    while time.monotonic() < give_up:
        if not answers(endpoint):
            return True
        time.sleep(0.02)
    return False


def write(endpoint: str) -> None:
    client = provision.connect(endpoint, LOCAL_REGION)
    provision.ensure(client, "heartwood", backups=False, stream=False)
    client.put_item(TableName="heartwood", Item=ITEM)


def read(endpoint: str):
    return provision.connect(endpoint, LOCAL_REGION).get_item(TableName="heartwood", Key=ITEM).get("Item")


@needs_dynoxide
def test_data_survives_a_stop_and_a_start(tmp_path):
    data_dir = tmp_path / "not" / "there" / "yet"
    with running(data_dir) as first:
        assert first == Engine(first.endpoint, keeps_data=True)
        write(first.endpoint)
    assert not answers(first.endpoint)
    with running(data_dir) as second:
        assert read(second.endpoint) == ITEM


@needs_dynoxide
def test_the_stream_of_an_older_table_is_switched_off_at_the_start_and_its_data_stays(tmp_path):
    settings = TableSettings(data_dir=tmp_path)
    with chosen(settings) as before:
        client = provision.connect(before.endpoint, before.region)
        client.create_table(**provision.definition("heartwood", stream=True))
        client.put_item(TableName="heartwood", Item=ITEM)
    with chosen(settings) as after:
        assert after.ensure_table("heartwood") is False
        client = provision.connect(after.endpoint, after.region)
        assert "StreamSpecification" not in provision.describe(client, "heartwood")
        assert read(after.endpoint) == ITEM
        write(after.endpoint)


@needs_dynoxide
def test_directories_do_not_share_data(tmp_path):
    with running(tmp_path / "one") as one, running(tmp_path / "other") as other:
        write(one.endpoint)
        client = provision.connect(other.endpoint, LOCAL_REGION)
        assert provision.describe(client, "heartwood") is None


@needs_dynoxide
def test_the_engine_stops_when_an_error_ends_the_block(tmp_path):
    started = []

    def break_off():
        with running(tmp_path) as engine:
            started.append(engine.endpoint)
            raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError, match="on purpose"):
        break_off()
    assert not answers(*started)


@needs_dynoxide
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM], ids=["SIGKILL", "SIGTERM"])
def test_the_engine_dies_with_the_process_that_started_it(tmp_path, how):
    with another_process_running(tmp_path) as (process, endpoint):
        assert answers(endpoint)
        process.send_signal(how)
        assert process.wait(PATIENCE) == -how
        assert stops_answering(endpoint)


@needs_dynoxide
def test_a_restart_right_after_a_kill_has_the_data(tmp_path):
    with another_process_running(tmp_path) as (process, endpoint):
        write(endpoint)
        process.kill()
        with running(tmp_path) as restarted:
            assert read(restarted.endpoint) == ITEM


@needs_dynoxide
def test_there_are_never_two_on_one_directory(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "LOCK_WITHIN", 0.1)
    with running(tmp_path) as first:
        with pytest.raises(EngineFailed) as failed, running(tmp_path):
            pytest.fail("a second engine started")
        assert str(failed.value) == (
            f"{tmp_path} is in use by another Heartwood (process {os.getpid()}); "
            "stop that one or set DATA_DIR to another directory"
        )
        assert answers(first.endpoint)
    with running(tmp_path) as after:
        assert answers(after.endpoint)


@needs_dynoxide
def test_the_other_process_on_a_directory_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "LOCK_WITHIN", 0.1)
    with another_process_running(tmp_path) as (process, endpoint):
        message = re.escape(f"{tmp_path} is in use by another Heartwood (process {process.pid});")
        with pytest.raises(EngineFailed, match=f"^{message}"), running(tmp_path):
            pytest.fail("a second engine started")
        assert answers(endpoint)


@needs_dynoxide
def test_an_engine_in_memory_forgets():
    with engine.in_memory(moto=False) as first:
        assert first.keeps_data is False
        write(first.endpoint)
    with engine.in_memory(moto=False) as second:
        assert provision.describe(provision.connect(second.endpoint, LOCAL_REGION), "heartwood") is None


def test_an_engine_that_does_not_start_is_told_and_frees_the_directory(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "READY_WITHIN", 1.0)
    monkeypatch.setattr(engine, "LOCK_WITHIN", 0.1)
    monkeypatch.setattr(engine, "dynoxide", lambda: "/bin/false")
    for _ in range(2):
        with pytest.raises(EngineFailed, match=r"^the local engine did not start within 1 s$"), running(tmp_path):
            pytest.fail("nothing can have started")


def test_without_the_engine_moto_takes_its_place_and_says_that_it_forgets(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(engine, "dynoxide", lambda: None)
    with running(tmp_path) as started:
        assert started == Engine(started.endpoint, keeps_data=False)
        write(started.endpoint)
        assert read(started.endpoint) == ITEM
    assert not answers(started.endpoint)
    assert list(tmp_path.iterdir()) == []
    assert [(record.levelname, record.getMessage()) for record in caplog.records if record.name == engine.log.name] == [
        ("WARNING", "the local engine is not installed (npm install); using moto in memory: data is lost on exit")
    ]


def test_without_any_engine_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "dynoxide", lambda: None)
    monkeypatch.setattr(engine, "find_spec", lambda _: None)
    message = re.escape("no local engine: run `npm install` or `pip install heartwood[local]`")
    with pytest.raises(EngineFailed, match=f"^{message}$"), running(tmp_path):
        pytest.fail("nothing can have started")


def test_tests_on_the_engine_need_the_engine(monkeypatch):
    monkeypatch.setattr(engine, "dynoxide", lambda: None)
    message = "^the local engine is not installed: run `npm install`$"
    with pytest.raises(EngineFailed, match=message), engine.in_memory(moto=False):
        pytest.fail("nothing can have started")
