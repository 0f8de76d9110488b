"""The local engine: it keeps its data, stops with its parent process, and runs only once."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from datastore.local import child, engine, provision
from datastore.local.endpoint import LOCAL_REGION, chosen
from datastore.local.engine import EngineFailed, running
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
        assert first.keeps_data
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
            "stop that one, set DATA_DIR to another directory, or DYNAMODB_ENDPOINT to its table"
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


def has(condition: Callable[[], bool]) -> bool:
    give_up = time.monotonic() + PATIENCE
    while time.monotonic() < give_up:
        if condition():
            return True
        time.sleep(0.02)
    return False


@needs_dynoxide
def test_an_engine_that_dies_is_restarted_at_its_address_with_its_data(tmp_path, caplog):
    with running(tmp_path) as started:
        write(started.endpoint)
        killed = started.child.pid
        os.kill(killed, signal.SIGKILL)
        assert has(lambda: started.child.pid != killed and started.problem is None)
        assert read(started.endpoint) == ITEM
    assert not answers(started.endpoint)
    assert "the local engine died with status 137; restarting it" in caplog.messages


@needs_dynoxide
def test_an_engine_that_keeps_dying_is_given_up(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(child, "FIRST_PAUSE", 0.001)
    with running(tmp_path) as started:
        started.child._command = lambda host, port: ["/bin/false"]
        os.kill(started.child.pid, signal.SIGKILL)
        assert has(lambda: "restart the server" in (started.problem or ""))
    assert caplog.records[-1].levelname == "CRITICAL"


def test_an_engine_in_memory_that_dies_says_that_its_data_is_lost(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(engine, "dynoxide", lambda: None)
    with chosen(TableSettings(data_dir=tmp_path)) as place:
        place.ensure_table("heartwood")
        write(place.endpoint)
        os.kill(place.own_engine.child.pid, signal.SIGKILL)
        assert has(lambda: "creating the table" in caplog.text and place.problem is None)
        assert read(place.endpoint) is None
    assert "the engine in memory has lost all data; creating the table heartwood again" in caplog.messages


@needs_dynoxide
@pytest.mark.skipif(sys.platform != "linux", reason="other systems have 127.0.0.1 only")
def test_the_address_of_an_engine_cannot_be_guessed(tmp_path):
    with running(tmp_path / "one") as one, running(tmp_path / "other") as other:
        hosts = {urlsplit(each.endpoint).hostname for each in (one, other)}
        assert len(hosts - {"127.0.0.1"}) == 2
        assert all(provision.is_local(each.endpoint) for each in (one, other))
        assert not answers(f"http://127.0.0.1:{urlsplit(one.endpoint).port}")


@needs_dynoxide
def test_another_program_at_the_address_is_not_taken_for_the_engine(tmp_path, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        addresses = iter([stranger.getsockname(), child.free_address()])
        monkeypatch.setattr(child, "free_address", lambda: next(addresses))
        with running(tmp_path) as started:
            write(started.endpoint)
            assert urlsplit(started.endpoint).port != stranger.getsockname()[1]


@needs_dynoxide
def test_the_data_is_private_to_the_user_and_older_data_becomes_so(tmp_path):
    data_dir = tmp_path / "data"
    data_dir.mkdir(mode=0o755)
    (data_dir / "heartwood.db").touch(mode=0o644)
    with running(data_dir) as started:
        write(started.endpoint)
        modes = {path.name: path.stat().st_mode & 0o777 for path in (data_dir, *data_dir.iterdir())}
    assert modes.pop("data") == 0o700
    assert modes.keys() >= {"heartwood.db", "heartwood.db-wal", "lock"}
    assert set(modes.values()) == {0o600}


def test_a_file_that_another_engine_deletes_meanwhile_is_no_obstacle(tmp_path):
    # It is listed, and it is not there.
    (tmp_path / "heartwood.db-wal").symlink_to(tmp_path / "deleted")

    engine.make_private(tmp_path)

    assert tmp_path.stat().st_mode & 0o777 == 0o700


@needs_dynoxide
def test_a_full_disk_is_said_as_such(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(engine, "FULL", 10**18)
    monkeypatch.setattr(engine, "ALMOST_FULL", 10**18)
    with running(tmp_path) as started:
        assert started.problem == "the disk of DATA_DIR is full"
    assert f"the disk of DATA_DIR ({tmp_path}) is almost full" in caplog.text


@needs_dynoxide
def test_an_engine_in_memory_forgets():
    with engine.in_memory(moto=False) as first:
        assert first.keeps_data is False
        write(first.endpoint)
    with engine.in_memory(moto=False) as second:
        assert provision.describe(provision.connect(second.endpoint, LOCAL_REGION), "heartwood") is None


def test_an_engine_that_does_not_start_is_told_and_frees_the_directory(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "LOCK_WITHIN", 0.1)
    monkeypatch.setattr(engine, "dynoxide", lambda: "/bin/false")
    for _ in range(2):
        with pytest.raises(EngineFailed, match=r"^the local engine ended at once, with status 1$"), running(tmp_path):
            pytest.fail("nothing can have started")


def test_without_the_engine_moto_takes_its_place_and_says_that_it_forgets(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(engine, "dynoxide", lambda: None)
    with running(tmp_path) as started:
        assert not started.keeps_data
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
