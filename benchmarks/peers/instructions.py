"""Counts instructions per request, which vary less than times: with perf, or Heartwood's only with callgrind."""

import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.peers.asking import Asker
from benchmarks.peers.load import Generator, Job, generator
from benchmarks.peers.scenarios import SCENARIOS
from benchmarks.peers.servers import Running, Server, running
from benchmarks.peers.targets import OURS

PERF = "perf stat -e instructions:u"
CALLGRIND = "valgrind --tool=callgrind"
COUNTED = ("1", "8")
WARM_UP = 24
# Requests per query: the same ones in every run, because servers and queries differ by the variables.
REQUESTS = 16
# A server under callgrind is 50 times slower.
WITHIN = 600.0
STARTED_WITHIN = 120.0
ATTACHED_AFTER = 0.3

Counter = Callable[[Running, Callable[[], int]], float]


def measure(servers: list[Server], queries: list[str], asker: Asker, endpoint: str, table: str) -> dict[str, Any]:
    """Returns the tool, and millions of user-space instructions per request by server, scenario and query."""
    if _perf_counts():
        return {"tool": PERF, "by_server": _all(servers, queries, asker, endpoint, table, _with_perf)}
    if not (shutil.which("valgrind") and shutil.which("callgrind_control")):
        return {}
    with tempfile.TemporaryDirectory() as folder:
        count = partial(_with_callgrind, Path(folder))
        options = ("--instr-atstart=no", f"--callgrind-out-file={folder}/out")
        ours = [
            replace(server, command=(*CALLGRIND.split(), *options, *server.command))
            for server in servers
            if server.name == OURS
        ]
        return {"tool": CALLGRIND, "by_server": _all(ours, queries, asker, endpoint, table, count)}


def _all(servers: list[Server], queries: list[str], asker: Asker, endpoint: str, table: str, count: Counter) -> Any:
    by_server: dict[str, Any] = {}
    with generator() as load:
        for server in servers:
            with running(server, endpoint, table, start_within=STARTED_WITHIN) as started:
                by_server[server.name] = _count_all(started, queries, asker, load, count)
            print(f"  {server.title}: instructions counted", flush=True)
    return by_server


def _count_all(started: Running, queries: list[str], asker: Asker, load: Generator, count: Counter) -> dict[str, Any]:
    for query in queries:
        _send(started, query, "8", WARM_UP, asker, load)
    return {
        name: {
            query: round(count(started, lambda q=query, s=name: _send(started, q, s, REQUESTS, asker, load)) / 1e6, 3)
            for query in queries
        }
        for name in COUNTED
    }


def _send(started: Running, query: str, scenario: str, most: int, asker: Asker, load: Generator) -> int:
    plan = asker.plan(query, SCENARIOS[scenario], most)
    assert plan is not None
    concurrency = SCENARIOS[scenario].concurrency
    return load.run(Job.of(started.url, query, plan, seconds=WITHIN, concurrency=concurrency, most=most)).count


def _perf_counts() -> bool:
    if not shutil.which("perf"):
        return False
    found = subprocess.run(["perf", "stat", "-x,", "-e", "instructions:u", "true"], capture_output=True, text=True)
    return found.returncode == 0 and re.match(r"\d", found.stderr.strip()) is not None


def _with_perf(started: Running, send: Callable[[], int]) -> float:
    pids = ",".join(str(pid) for pid in started.pids)
    command = ["perf", "stat", "-x,", "-e", "instructions:u", "-p", pids]
    perf = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    time.sleep(ATTACHED_AFTER)
    requests = send()
    perf.send_signal(signal.SIGINT)
    _, told = perf.communicate()
    found = re.search(r"^(\d+),", told, re.MULTILINE)
    if found is None:
        raise SystemExit(f"perf stat failed: {told}")
    return int(found[1]) / requests


def _with_callgrind(folder: Path, started: Running, send: Callable[[], int]) -> float:
    _control(started, "--zero")
    _control(started, "--instr=on")
    requests = send()
    for file in folder.iterdir():
        file.unlink()
    # A dump after the end of the instrumentation is empty.
    _control(started, "--dump")
    _control(started, "--instr=off")
    found = [re.search(r"^(?:totals|summary): (\d+)", file.read_text(), re.MULTILINE) for file in folder.iterdir()]
    return sum(int(total[1]) for total in found if total) / requests


def _control(started: Running, option: str) -> None:
    command = ["callgrind_control", option, str(started.process.pid)]
    subprocess.run(command, check=True, capture_output=True)
