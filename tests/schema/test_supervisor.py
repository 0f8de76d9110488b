"""Several workers: started, replaced and stopped together."""

import os
import signal
import socket
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import httpx
import pytest

from datastore.local import engine
from tests.conftest import SECRET
from tests.support.serving import ROOT, Process, command, environment, launched, until

HEAD = """
import os, signal, sys, time
from schema.http.supervisor import Supervisor, WorkersFailed

def say(text):
    os.write(1, f"{text}\\n".encode())

def run(serve, workers=2):
    try:
        status = Supervisor([[] for _ in range(workers)], serve, lambda: say("all are ready")).run()
        say(f"status {status}")
    except WorkersFailed as error:
        say(error)

"""


def script(source: str) -> "subprocess.Popen[str]":
    """Starts a supervisor of the workers in `source`, which serve nothing."""
    text = HEAD + textwrap.dedent(source)
    return subprocess.Popen(
        [sys.executable, "-c", text],
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def line(stream: IO[str] | None) -> str:
    assert stream is not None
    return stream.readline().rstrip("\n")


def test_workers_stop_when_their_parent_is_told_to() -> None:
    with script("""
        def serve(post):
            signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
            post.is_ready()
            while True:
                time.sleep(0.01)
        run(serve)
    """) as parent:
        assert line(parent.stdout) == "all are ready"
        parent.send_signal(signal.SIGTERM)
        assert parent.communicate()[0] == "status 0\n"
        assert parent.returncode == 0


def test_a_second_signal_is_passed_on_as_an_interrupt() -> None:
    with script("""
        def serve(post):
            signal.signal(signal.SIGTERM, lambda *_: say("finishing"))
            signal.signal(signal.SIGINT, lambda *_: os._exit(0))
            post.is_ready()
            while True:
                time.sleep(0.01)
        run(serve, 1)
    """) as parent:
        assert line(parent.stdout) == "all are ready"
        parent.send_signal(signal.SIGTERM)
        assert line(parent.stdout) == "finishing"
        parent.send_signal(signal.SIGTERM)
        assert parent.communicate()[0] == "status 0\n"


def test_a_worker_that_cannot_start_stops_all() -> None:
    with script("""
        def serve(post):
            if post.number == 2:
                return 3
            signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
            post.is_ready()
            while True:
                time.sleep(0.01)
        run(serve)
    """) as parent:
        assert parent.communicate()[0] == "worker 2 could not start: it ended with status 3; see its messages above\n"


def test_a_worker_that_keeps_dying_before_it_serves_is_given_up() -> None:
    with script("""
        import schema.http.supervisor as supervisor
        supervisor.FIRST_PAUSE = 0.001
        starts = os.memfd_create("starts")

        def serve(post):
            os.write(starts, b"x")
            if os.fstat(starts).st_size == 1:
                post.is_ready()
                os.read(0, 1)
            return 1
        sys.stdin.close()
        run(serve, 1)
        say(f"{os.fstat(starts).st_size} starts")
    """) as parent:
        said = parent.communicate()[0].splitlines()

    assert said == [
        "all are ready",
        "worker 1 could not start: it ended with status 1; see its messages above",
        "6 starts",
    ]


def test_workers_end_with_a_parent_that_is_killed() -> None:
    with script("""
        def serve(post):
            post.is_ready()
            os.read(post.parent, 1)
            say("the parent has ended")
            return 0
        run(serve, 1)
    """) as parent:
        assert line(parent.stdout) == "all are ready"
        parent.kill()
        assert parent.communicate()[0] == "the parent has ended\n"


@pytest.fixture(scope="module")
def place(endpoint: str) -> dict[str, str]:
    name = f"workers-{os.getpid()}"
    return {"DYNAMODB_ENDPOINT": endpoint, "TABLE_NAME": name, "AUTH_SECRET": SECRET, "WORKERS": "2"}


@pytest.fixture(scope="module")
def served(place: dict[str, str]) -> Iterator[Process]:
    with launched("--no-demo", **place) as process:
        yield process


def ask_anew(process: Process) -> httpx.Response:
    """Sends a request through a new connection, which may lead to any worker."""
    return httpx.post(f"{process.http.base_url}/graphql", json={"query": "{ __typename }"}, trust_env=False)


def pids(process: Process) -> dict[int, int]:
    """Returns the process of each worker that has answered a request; the latest if it was replaced."""
    assert ask_anew(process).status_code == 200
    return {line["worker"]: line["pid"] for line in process.logged_by("heartwood.server")}


def test_all_workers_answer_on_one_port_with_ids_of_their_own(served: Process) -> None:
    until(lambda: set(pids(served)) == {1, 2})

    lines = served.logged_by("heartwood.server")
    assert served.process.pid not in pids(served).values()
    assert len({line["pid"] for line in lines}) == 2
    assert len({line["request_id"] for line in lines}) == len(lines)
    assert len(served.printed) == 2


def test_one_scrape_has_the_metrics_of_all_workers(served: Process) -> None:
    until(lambda: set(pids(served)) == {1, 2})

    def answered() -> set[str]:
        text = served.http.get("/metrics").text
        return {line.partition("} ")[0] for line in text.splitlines() if 'route="/graphql"' in line}

    head = 'heartwood_requests_total{route="/graphql",status="200"'
    until(lambda: answered() == {f'{head},worker="1"', f'{head},worker="2"'})


def test_a_killed_worker_is_replaced(served: Process) -> None:
    until(lambda: set(pids(served)) == {1, 2})
    before = pids(served)

    os.kill(before[1], signal.SIGKILL)

    until(lambda: pids(served)[1] != before[1])
    assert pids(served)[2] == before[2]
    (said,) = served.logged_by("heartwood.workers")
    assert said["message"] == f"worker 1 (process {before[1]}) ended by SIGKILL; starting another in 0.0 s"


def test_stopping_finishes_the_requests_in_progress(place: dict[str, str]) -> None:
    body = b'{"query": "{ __typename }"}'
    head = f"POST /graphql HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    with launched("--no-demo", **place) as process:
        address = process.http.base_url.host, process.http.base_url.port or 0
        with socket.create_connection(address) as client:
            client.sendall(head.encode() + body[:-1])
            until(lambda: connections(process) == 2)
            process.process.send_signal(signal.SIGTERM)
            until(lambda: _refuses(address))
            client.sendall(body[-1:])
            answer = client.makefile("rb").read()

        assert process.process.wait(60) == 0
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.endswith(b'{"data":{"__typename":"Query"}}')


def connections(process: Process) -> float:
    """Returns the open connections of all workers, with the one that asks."""
    lines = process.http.get("/metrics").text.splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith("heartwood_connections{"))


def _refuses(address: tuple[str, int]) -> bool:
    try:
        socket.create_connection(address).close()
    except ConnectionError:
        return True
    return False


def test_a_taken_port_is_one_clear_error(place: dict[str, str], served: Process, tmp_path: Path) -> None:
    """Also if its owner is another server with workers, whose sockets would share it."""
    port = str(served.http.base_url.port)
    chosen = environment(**{**place, "PORT": port, "DATA_DIR": str(tmp_path)})

    stopped = subprocess.run(command(), cwd=ROOT, env=chosen, capture_output=True, text=True, timeout=120)

    assert (stopped.returncode, stopped.stdout) == (1, "")
    assert stopped.stderr == f"cannot listen on 127.0.0.1:{port}: Address already in use\n"


@pytest.mark.skipif(engine.dynoxide() is None, reason="the local engine is not installed: npm install")
def test_the_local_engine_is_restarted_below_workers(tmp_path: Path) -> None:
    """Workers must not keep the pipe open that ends the old engine."""
    with launched("--no-demo", DATA_DIR=str(tmp_path), WORKERS="2") as process:
        guard, *_ = subprocess.run(["pgrep", "-f", str(tmp_path)], capture_output=True, text=True).stdout.split()
        os.kill(int(guard), signal.SIGKILL)
        until(lambda: process.logged_by("heartwood.engine"))

        assert process.ask("{ users { nodes { username } } }") == {"users": {"nodes": []}}
        assert process.stop() == 0

    messages = [line["message"] for line in process.logged_by("heartwood.engine")]
    assert messages == ["the local engine died with status -9; restarting it"]
