"""Heartwood over real HTTP: in a thread of the test's process, or as the process `python server.py`."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import httpx
import uvicorn

from resolvers.accounts.passwords import Passwords
from schema.http.app import create_app
from schema.http.services import Services
from schema.http.settings import Settings
from tests.conftest import SECRET
from tests.support.tables import Tables, the_engine_at

ROOT = Path(__file__).parents[2]
GRAPHQL_RESPONSE = "application/graphql-response+json"
PATIENCE = 120.0


@dataclass(frozen=True)
class Served:
    """A server in this process, and a client of it that follows no redirects."""

    services: Services
    http: httpx.Client

    @property
    def url(self) -> str:
        return str(self.http.base_url).rstrip("/")

    @property
    def address(self) -> tuple[str, int]:
        return self.http.base_url.host, self.http.base_url.port or 80

    def post(self, query: str, headers: Mapping[str, str] | None = None, **body: Any) -> httpx.Response:
        """As a client of today asks; `body` is what goes beside the query."""
        accept = {"accept": GRAPHQL_RESPONSE, **(headers or {})}
        return self.http.post("/graphql", json={"query": query, **body}, headers=accept)


@contextmanager
def serving(endpoint: str, table_name: str, **settings: Any) -> Iterator[Served]:
    """The whole application behind uvicorn on a free loopback port."""
    chosen = Settings(dynamodb_endpoint=endpoint, table_name=table_name, **{"auth_secret": SECRET, **settings})
    services = Services.at(the_engine_at(endpoint), chosen, SECRET, Passwords(rounds=4))
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(
        uvicorn.Config(create_app(services), log_config=None, access_log=False, timeout_graceful_shutdown=1)
    )
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    until(lambda: server.started or not thread.is_alive())
    assert server.started
    base = f"http://127.0.0.1:{listener.getsockname()[1]}"
    try:
        with httpx.Client(base_url=base, timeout=PATIENCE, trust_env=False) as client:
            yield Served(services, client)
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        listener.close()


@contextmanager
def a_table(endpoint: str) -> Iterator[str]:
    """For servers that outlive a single test."""
    with closing(Tables(endpoint)) as tables, tables.a_table() as name:
        yield name


@dataclass
class Process:
    """`python server.py`, what it printed and logged so far, and a client of it."""

    process: subprocess.Popen[str]
    printed: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    http: httpx.Client = field(default_factory=lambda: httpx.Client(timeout=PATIENCE, trust_env=False))

    def logged_by(self, logger: str) -> list[dict[str, Any]]:
        return [line for line in map(json.loads, list(self.lines)) if line["logger"] == logger]

    def ask(self, query: str, headers: Mapping[str, str] | None = None, **body: Any) -> dict[str, Any]:
        answer = self.http.post("/graphql", json={"query": query, **body}, headers=headers).json()
        assert "errors" not in answer, answer
        data: dict[str, Any] = answer["data"]
        return data

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)


def environment(**variables: str) -> dict[str, str]:
    """What a process needs of ours, and nothing that would set Heartwood up."""
    ours = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    return {**ours, "PYTHONDONTWRITEBYTECODE": "1", "AWS_EC2_METADATA_DISABLED": "true", **variables}


def command(*arguments: str) -> list[str]:
    return [sys.executable, "server.py", *arguments]


@contextmanager
def launched(*arguments: str, cwd: Path = ROOT, **variables: str) -> Iterator[Process]:
    """`python server.py` on a free port, from when it says where it is; killed at the end unless it was stopped."""
    process = subprocess.Popen(
        command(*arguments),
        cwd=cwd,
        env=environment(**{"PORT": "0", "LOG_FORMAT": "json", **variables}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    running = Process(process)
    readers = [
        threading.Thread(target=_collect, args=(process.stdout, running.printed), daemon=True),
        threading.Thread(target=_collect, args=(process.stderr, running.lines), daemon=True),
    ]
    for reader in readers:
        reader.start()
    try:
        with running.http:
            until(lambda: running.printed or process.poll() is not None)
            assert process.poll() is None, "".join(running.lines)
            found = re.search(r":(\d+)/graphql", running.printed[0])
            assert found, running.printed
            running.http.base_url = f"http://127.0.0.1:{found[1]}"
            yield running
    finally:
        process.kill()
        process.wait()
        for reader in readers:
            reader.join(PATIENCE)


def _collect(stream: IO[str], into: list[str]) -> None:
    with stream:
        into.extend(iter(stream.readline, ""))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def until(holds: Any) -> None:
    """Wait for it; a test that waits in vain fails."""
    give_up = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < give_up, "waited in vain"
        time.sleep(0.02)
