"""The benchmarked servers: how to start them and measure their CPU and memory."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil

ROOT = Path(__file__).parents[2]
PEERS = Path(__file__).parent
SECRET = "a secret of the benchmarks, of no worth elsewhere"
START_WITHIN = 30.0
STOP_WITHIN = 10.0


@dataclass(frozen=True)
class Server:
    """A server to benchmark. `is_compiled` servers get a longer warm-up, because they speed up while running.

    `shares_reads` is True if one DynamoDB call can serve several requests.
    """

    name: str
    title: str
    command: tuple[str, ...]
    is_compiled: bool = False
    shares_reads: bool = False

    @property
    def is_node(self) -> bool:
        return self.command[0] == "node"

    @property
    def is_installed(self) -> bool:
        """True if the program exists; `make bench` builds those of the languages that are installed."""
        return shutil.which(self.command[0]) is not None


SERVERS = {
    server.name: server
    for server in (
        Server("heartwood", "Heartwood", (sys.executable, "server.py", "serve", "--no-demo"), shares_reads=True),
        Server("apollo", "Apollo Server", ("node", str(PEERS / "node/apollo.js")), is_compiled=True),
        Server("yoga", "GraphQL Yoga", ("node", str(PEERS / "node/yoga.js")), is_compiled=True),
        Server("mercurius", "Mercurius, jit", ("node", str(PEERS / "node/mercurius.js")), is_compiled=True),
        Server("gqlgen", "gqlgen (Go)", (str(PEERS / "go/build/gqlgen"),)),
        Server("async-graphql", "async-graphql (Rust)", (str(PEERS / "rust/target/release/peer"),), shares_reads=True),
        Server("strawberry", "Strawberry", (sys.executable, "-m", "benchmarks.peers.plain_strawberry")),
    )
}


@dataclass
class Running:
    """A running server at `url`."""

    server: Server
    url: str
    process: psutil.Popen
    startup_seconds: float = 0.0

    @property
    def cpu_seconds(self) -> float:
        """Returns the user and system time of all its threads and children so far, in nanoseconds on Linux."""
        return sum(_cpu_seconds(process) for process in self._processes())

    @property
    def resident_mb(self) -> float:
        return sum(process.memory_info().rss for process in self._processes()) / 1e6

    @property
    def pids(self) -> list[int]:
        return [process.pid for process in self._processes()]

    def _processes(self) -> list[psutil.Process]:
        return [self.process, *self.process.children(recursive=True)]


@contextmanager
def running(
    server: Server, endpoint: str, table: str, errors: IO[str] | None = None, start_within: float = START_WITHIN
) -> Iterator[Running]:
    """Yields the server once its port is open. Discards stdout and writes stderr to `errors`."""
    port = free_port()
    began = time.perf_counter()
    process = psutil.Popen(
        server.command,
        cwd=ROOT,
        env=environment(DYNAMODB_ENDPOINT=endpoint, TABLE_NAME=table, PORT=str(port), AUTH_SECRET=SECRET),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=errors or subprocess.DEVNULL,
    )
    try:
        wait_for(process, port, server.title, start_within)
        yield Running(server, f"http://127.0.0.1:{port}/graphql", process, time.perf_counter() - began)
    finally:
        process.terminate()
        try:
            process.wait(STOP_WITHIN)
        except psutil.TimeoutExpired:
            process.kill()
            process.wait()


def _cpu_seconds(process: psutil.Process) -> float:
    if sys.platform == "linux":
        # The clock of another process, as clock_getcpuclockid(3) returns it. /proc counts in steps of 10 ms.
        return time.clock_gettime((~process.pid << 3) | 2)
    times = process.cpu_times()
    return float(times.user + times.system)


def environment(**variables: str) -> dict[str, str]:
    """Returns a production environment without our own settings."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    return {**kept, "NODE_ENV": "production", "LOG_LEVEL": "INFO", "AWS_EC2_METADATA_DISABLED": "true", **variables}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(process: psutil.Popen, port: int, title: str, within: float = START_WITHIN) -> None:
    give_up = time.monotonic() + within
    while time.monotonic() < give_up and process.poll() is None:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1):
                return
        except OSError:
            time.sleep(0.005)
    raise SystemExit(f"{title} did not start within {within:.0f} s")
