"""Heartwood over real HTTP: in a thread of the test process, or as a process of its own."""

import asyncio
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import mkdtemp
from typing import IO, Any

import httpx

from datastore.client.budget import Usage
from datastore.client.table import Table
from datastore.client.transport import Transport
from datastore.local.endpoint import LOCAL_REGION
from resolvers.accounts.passwords import Passwords
from schema.http.connection_limits import Connections
from schema.http.process import Server
from schema.http.serve_command import has_demo
from schema.http.services import Services
from schema.http.settings import Settings
from tests.conftest import SECRET
from tests.support.tables import CREDENTIALS, Tables, the_engine_at

ROOT = Path(__file__).parents[2]
GRAPHQL_RESPONSE = "application/graphql-response+json"
PATIENCE = 120.0
CREATE_TENANT = "mutation ($id: String!) { createTenant(input: { databaseId: $id, name: $id }) { problems { code } } }"


@dataclass(frozen=True)
class Served:
    """A server in this process, and a client that does not follow redirects."""

    services: Services
    http: httpx.Client
    connections: Connections

    @property
    def url(self) -> str:
        return str(self.http.base_url).rstrip("/")

    @property
    def address(self) -> tuple[str, int]:
        return self.http.base_url.host, self.http.base_url.port or 80

    def post(self, query: str, headers: Mapping[str, str] | None = None, **body: Any) -> httpx.Response:
        """Sends a request like a modern client; `body` is added to the query."""
        accept = {"accept": GRAPHQL_RESPONSE, **(headers or {})}
        return self.http.post("/graphql", json={"query": query, **body}, headers=accept)

    def add_tenant(self, tenant_id: str) -> None:
        token = self.services.tokens.issue("root", frozenset({"admin"}))
        made = self.post(CREATE_TENANT, {"authorization": f"Bearer {token}"}, variables={"id": tenant_id})
        assert made.json() == {"data": {"createTenant": {"problems": []}}}


@contextmanager
def serving(endpoint: str, table_name: str, *, with_demo: bool = False, **settings: Any) -> Iterator[Served]:
    """Serves the application with uvicorn on a free loopback port."""
    folder = mkdtemp(prefix="heartwood-")
    given = {"auth_secret": SECRET, "data_dir": folder, **settings}
    chosen = Settings(dynamodb_endpoint=endpoint, table_name=table_name, **given)
    services = Services.at(the_engine_at(endpoint), chosen, SECRET, Passwords(rounds=4))
    if with_demo:
        asyncio.run(_load_demo(services))
    listener = socket.create_server(("127.0.0.1", 0))
    server = Server(services, grace=1)
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    until(lambda: server.started or not thread.is_alive())
    assert server.started
    base = f"http://127.0.0.1:{listener.getsockname()[1]}"
    try:
        with httpx.Client(base_url=base, timeout=PATIENCE, trust_env=False) as client:
            yield Served(services, client, server.connections)
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        assert not thread.is_alive(), "the server does not stop"
        listener.close()
        shutil.rmtree(folder, ignore_errors=True)


async def _load_demo(services: Services) -> None:
    """Loads the demo as `heartwood serve` does, through a connection of this event loop."""
    connection = Transport(region=LOCAL_REGION, endpoint=services.place.endpoint, credentials=CREDENTIALS)
    table = Table(connection, services.settings.table_name, Usage.lasting(PATIENCE))
    assert await has_demo(replace(services, table=table), wanted=True, public=False)
    await connection.close()


@contextmanager
def a_table(endpoint: str) -> Iterator[str]:
    """Yields the name of a table for a server that several tests share."""
    with closing(Tables(endpoint)) as tables, tables.a_table() as name:
        yield name


@dataclass
class Process:
    """A server process, its output and log so far, and a client."""

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
    """Returns the environment for a child process, without Heartwood settings."""
    ours = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    return {**ours, "PYTHONDONTWRITEBYTECODE": "1", "AWS_EC2_METADATA_DISABLED": "true", **variables}


def command(*arguments: str) -> list[str]:
    return [sys.executable, "server.py", "serve", *arguments]


@contextmanager
def launched(*arguments: str, cwd: Path = ROOT, **variables: str) -> Iterator[Process]:
    """Starts a server process on a free port and yields it once it listens. Kills it at the end."""
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


@contextmanager
def nobody() -> Iterator[str]:
    """Yields an address that refuses connections. It stays taken, so that no server of a test gets it."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{bound.getsockname()[1]}"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def until(holds: Any) -> None:
    """Waits for a condition; fails the test on a timeout."""
    give_up = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < give_up, "waited in vain"
        time.sleep(0.02)
