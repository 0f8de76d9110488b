"""The scene of a scenario: an engine, a fault proxy in front of it, a server process, and people with tokens."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import Any

import psutil

from benchmarks.chaos.client import Client
from datastore.accounts import Unique, User
from datastore.client.budget import Usage
from datastore.client.table import Table
from datastore.client.transport import Transport
from datastore.local import engine, provision
from datastore.local.endpoint import LOCAL_REGION
from datastore.social import Post
from resolvers import demo
from resolvers.accounts.tokens import Tokens, TokenSettings
from tests.support.fault_proxy import Answer, Call, Fault, FaultProxy, nothing_wrong

ROOT = Path(__file__).parents[2]
SECRET = "a secret of the benchmarks, of no worth elsewhere"
TABLE = "chaos"
PEOPLE = 120
START_WITHIN = 60.0


def person(number: int) -> User:
    name = f"person{number:03}"
    return User(user_id=name, username=name, email=f"{name}@example.org")


@dataclass
class Server:
    """A server process from the checkout in `folder`, on a port that stays the same when it is started again."""

    folder: Path
    endpoint: str
    settings: dict[str, str]
    port: int = 0
    process: psutil.Popen | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def start(self) -> None:
        self.port = self.port or _free_port()
        self.process = psutil.Popen(
            [sys.executable, "server.py", "serve", "--no-demo"],
            cwd=self.folder,
            env=_environment(self.endpoint, self.port, self.folder, self.settings),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        async with asyncio.timeout(START_WITHIN):
            while True:
                with suppress(OSError):
                    _, writer = await asyncio.open_connection("127.0.0.1", self.port)
                    writer.close()
                    return
                if self.process.poll() is not None:
                    raise SystemExit(f"the server in {self.folder} ended with {self.process.returncode}")
                await asyncio.sleep(0.02)

    async def stop(self, number: int = signal.SIGTERM) -> int | None:
        """Sends the signal and returns the exit status, or None if the process has to be killed after 20 seconds."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(number)
        for _ in range(1_000):
            if self.process.poll() is not None:
                return int(self.process.returncode)
            await asyncio.sleep(0.02)
        self.process.kill()
        self.process.wait()
        return None

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    @property
    def resident_mb(self) -> float:
        assert self.process is not None
        return float(self.process.memory_info().rss / 1e6) if self.is_running else 0.0


@dataclass
class Scene:
    server: Server
    proxy: FaultProxy
    table: Table
    random: Random = field(default_factory=lambda: Random(20))  # the same faults in every run
    _tokens: dict[str, str] = field(default_factory=dict)

    def client(self, user_id: str | None = None, tenants: Mapping[str, str] = MappingProxyType({})) -> Client:
        if user_id is None:
            return Client(self.server.url)
        if user_id not in self._tokens:
            issued = Tokens(TokenSettings(SECRET, lifetime=86_400)).issue(user_id, tenants=tenants)
            self._tokens[user_id] = issued
        return Client(self.server.url, self._tokens[user_id])

    def sometimes(self, share: float, fault: Fault) -> Fault:
        """Returns a fault that strikes this share of the calls."""

        async def perhaps(call: Call) -> Answer:
            return await (fault if self.random.random() < share else nothing_wrong)(call)

        return perhaps

    async def add_post(self, post_id: str) -> Post:
        post = Post(post_id=post_id, user_id=person(0).user_id, image_url="https://example.org/p.jpg", feed_shard=0)
        await self.table.put(post)
        return post


@asynccontextmanager
async def scene(folder: Path, **settings: str) -> AsyncIterator[Scene]:
    """Yields a server with the demo and 120 people, on an empty engine of its own."""
    with _engine() as endpoint:
        async with FaultProxy(endpoint) as proxy:
            transport = Transport(region=LOCAL_REGION, endpoint=endpoint)
            table = Table(transport, TABLE, Usage.lasting(86_400))
            people = [person(number) for number in range(PEOPLE)]
            guards = [Unique(kind="username", value=user.username, owner_id=user.user_id) for user in people]
            await table.batch_write(puts=[*demo.everything("-"), *people, *guards])
            server = Server(folder, proxy.endpoint, settings)
            await server.start()
            try:
                yield Scene(server, proxy, table)
            finally:
                proxy.recover()
                await server.stop(signal.SIGKILL)
                await transport.close()


@contextmanager
def _engine() -> Iterator[str]:
    with engine.in_memory(moto=False) as running:
        provision.connect(running.endpoint, LOCAL_REGION).create_table(**provision.definition(TABLE, stream=False))
        yield running.endpoint


def _environment(endpoint: str, port: int, folder: Path, settings: dict[str, str]) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    own = {"DYNAMODB_ENDPOINT": endpoint, "TABLE_NAME": TABLE, "PORT": str(port), "AUTH_SECRET": SECRET}
    fixed = {"PYTHONPATH": str(folder), "AWS_EC2_METADATA_DISABLED": "true", "RATE_LIMITS": "off"}
    return {**kept, **fixed, **own, **settings}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def errors_of(body: dict[str, Any]) -> list[dict[str, Any]]:
    return list(body.get("errors", ()))
