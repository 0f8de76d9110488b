"""Measures a server under overload: goodput, refusals, latency, health checks and memory at multiples of its capacity.

The load is open-loop: requests arrive at random times at a fixed mean rate, whether or not earlier ones were answered,
and latency counts from the arrival. Server and load generator run on different cores.
"""

import argparse
import asyncio
import contextlib
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

HERE = Path(__file__).parents[1]
QUERY = """{ feed(first: 20) { nodes { id caption likeCount author { id username displayName }
  comments(first: 5) { nodes { id content author { username } } } } pageInfo { hasNextPage } } }"""
GIVE_UP = 10.0
"""Seconds after which a client no longer waits: such an answer is no goodput."""
MOST_SOCKETS = 4_000


@dataclass
class Target:
    """A server under test."""

    host: str
    port: int
    pid: int
    new_connections: bool

    def request(self) -> bytes:
        body = json.dumps({"query": QUERY}).encode()
        closing = "connection: close\r\n" if self.new_connections else ""
        head = f"POST /graphql HTTP/1.1\r\nhost: {self.host}\r\ncontent-type: application/json\r\n{closing}"
        return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body

    def cpu(self) -> float:
        """CPU seconds used so far."""
        user, system = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> float:
        """Resident memory in MB."""
        text = Path(f"/proc/{self.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+)", text)
        return int(found[1]) / 1024 if found else 0.0


@dataclass
class Measured:
    seconds: float
    latencies: dict[int, list[float]] = field(default_factory=dict)
    failed: Counter[str] = field(default_factory=Counter)
    began: float = field(default_factory=time.perf_counter)
    good: int = 0
    health: list[float] = field(default_factory=list)
    late: list[float] = field(default_factory=list)
    """How late the generator itself was; if it is high, the machine was busy with something else."""
    peak: float = 0.0
    cpu: float = 0.0
    """CPU seconds of the server. On a busy machine, compare goodput per CPU second."""

    def answered(self, status: int, latency: float) -> None:
        if latency > GIVE_UP:
            self.failed["late"] += 1
        else:
            self.latencies.setdefault(status, []).append(latency)
            self.good += status == 200 and time.perf_counter() < self.began + self.seconds

    @property
    def goodput(self) -> float:
        """Successful answers per second, without those that came after the load had ended."""
        return self.good / self.seconds

    def row(self, name: str, capacity: float) -> str:
        good, refused = self.latencies.get(200, []), self.latencies.get(503, [])
        failed = sum(self.failed.values()) + sum(len(v) for k, v in self.latencies.items() if k not in (200, 503))
        share = self.goodput / capacity
        p50, p99, refused_p99 = percentile(good, 50), percentile(good, 99), percentile(refused, 99)
        health_p99, health_max = percentile(self.health, 99), percentile(self.health, 100)
        return (
            f"{name:>9} | {self.goodput:7.0f}/s {share:8.0%} | {len(refused) / self.seconds:6.0f}/s | "
            f"{failed / self.seconds:6.0f}/s | {p50:7.0f} {p99:7.0f} | {refused_p99:7.0f} | "
            f"{health_p99:7.0f} {health_max:8.0f} | {self.peak:7.0f} | {percentile(self.late, 99):6.0f} | "
            f"{self.cpu / self.seconds:4.0%}, {self.good / self.cpu:4.0f} per s"
        )


HEADER = (
    "     load |   goodput, of cap. |   503    | failed   | p50, p99 (ms)   | 503 p99 | healthz p99, max | peak MB | "
    "gen. p99 | CPU, goodput per CPU s\n"
    "----------|--------------------|----------|----------|-----------------|---------|------------------|---------|"
    "---------|----------------------"
)


def percentile(values: list[float], percent: int) -> float:
    """In milliseconds."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)] * 1000 if ordered else float("nan")


class Client(asyncio.Protocol):
    """One connection that sends one request at a time."""

    def __init__(self) -> None:
        self.buffer = bytearray()
        self.answer: asyncio.Future[int] | None = None
        self.transport: asyncio.Transport | None = None
        self.reusable = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def send(self, request: bytes) -> asyncio.Future[int]:
        assert self.transport is not None
        self.answer = asyncio.get_running_loop().create_future()
        if self.transport.is_closing():
            self.answer.set_exception(ConnectionResetError())
        else:
            self.transport.write(request)
        return self.answer

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head, found, body = bytes(self.buffer).partition(b"\r\n\r\n")
        if not found:
            return
        lower = head.lower()
        length = re.search(rb"content-length: (\d+)", lower)
        if length and len(body) >= int(length[1]) and self.answer and not self.answer.done():
            self.reusable = b"connection: close" not in lower
            self.buffer.clear()
            self.answer.set_result(int(head[9:12]))

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self.reusable = False
        if self.answer and not self.answer.done():
            self.answer.set_exception(ConnectionResetError())


class Load:
    """Sends requests to a target and measures the answers."""

    def __init__(self, target: Target, seconds: float) -> None:
        self.target = target
        self.measured = Measured(seconds)
        self.idle: list[Client] = []
        self.open = 0
        self.request = target.request()

    async def one(self, arrived: float) -> None:
        client = None
        try:
            async with asyncio.timeout(GIVE_UP):
                client = await self.connection()
                status = await client.send(self.request)
            self.measured.answered(status, time.perf_counter() - arrived)
        except (OSError, TimeoutError) as error:
            self.measured.failed[type(error).__name__] += 1
            if client is not None:
                client.reusable = False
        if client is not None:
            self.give_back(client)

    async def connection(self) -> Client:
        while self.idle:
            client = self.idle.pop()
            if client.reusable:
                return client
            self.open -= 1
        if self.open >= MOST_SOCKETS:
            raise OSError("too many sockets")
        self.open += 1
        try:
            loop = asyncio.get_running_loop()
            _, client = await loop.create_connection(Client, self.target.host, self.target.port)
        except BaseException:
            self.open -= 1
            raise
        return client

    def give_back(self, client: Client) -> None:
        assert client.transport is not None
        if client.reusable:
            self.idle.append(client)
        else:
            client.transport.close()
            self.open -= 1

    async def arrivals(self, rate: float) -> Measured:
        """Open loop: Poisson arrivals at this mean rate."""
        chance, tasks, started = random.Random(1), set(), time.perf_counter()
        due = started
        used = self.target.cpu()
        watching = asyncio.create_task(self.watch())
        while due - started < self.measured.seconds:
            if (wait := due - time.perf_counter()) > 0:
                await asyncio.sleep(wait)
            self.measured.late.append(time.perf_counter() - due)
            task = asyncio.create_task(self.one(due))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
            due += chance.expovariate(rate)
        self.measured.cpu = self.target.cpu() - used
        if tasks:
            await asyncio.wait(tasks)
        watching.cancel()
        self.close()
        return self.measured

    async def closed_loop(self, clients: int) -> Measured:
        """As fast as this many clients can: finds the capacity."""
        ends = time.perf_counter() + self.measured.seconds
        used = self.target.cpu()

        async def client() -> None:
            while time.perf_counter() < ends:
                await self.one(time.perf_counter())

        await asyncio.gather(*(client() for _ in range(clients)))
        self.measured.cpu = self.target.cpu() - used
        self.close()
        return self.measured

    async def watch(self) -> None:
        """Asks for the health and the memory ten times a second, each on a connection of its own."""
        while True:
            self.measured.peak = max(self.measured.peak, self.target.memory())
            asked = time.perf_counter()
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(GIVE_UP):
                    reader, writer = await asyncio.open_connection(self.target.host, self.target.port)
                    writer.write(b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
                    await reader.read()
                    writer.close()
            self.measured.health.append(time.perf_counter() - asked)
            await asyncio.sleep(0.1)

    def close(self) -> None:
        for client in self.idle:
            assert client.transport is not None
            client.transport.close()


@contextlib.contextmanager
def running(code: Path, new_connections: bool) -> Iterator[Target]:
    """A server of the code in this folder, with demo data, on the first core; its engine is on the second."""
    with tempfile.TemporaryDirectory() as data:
        environment = {**os.environ, "PYTHONPATH": str(code), "PORT": "0", "DATA_DIR": data, "LOG_FORMAT": "json"}
        with open(Path(data) / "log", "w") as log:
            process = subprocess.Popen(
                [sys.executable, "server.py", "serve"],
                cwd=code,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        try:
            assert process.stdout is not None
            url = urlsplit(process.stdout.readline().split()[1])
            for thread in os.listdir(f"/proc/{process.pid}/task"):
                os.sched_setaffinity(int(thread), {0})
            for child in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
                os.sched_setaffinity(int(child), {1})
            yield Target("127.0.0.1", url.port or 0, process.pid, new_connections)
        finally:
            process.terminate()
            process.wait(30)


async def measure(target: Target, seconds: float, levels: list[float]) -> None:
    await Load(target, 2).closed_loop(16)
    idle = target.memory()
    measured = await Load(target, 8).closed_loop(16)
    capacity, per_cpu = measured.goodput, measured.good / measured.cpu
    print(f"capacity {capacity:.0f}/s, {per_cpu:.0f} per CPU second, memory {idle:.0f} MB\n{HEADER}", flush=True)
    for level in levels:
        measured = await Load(target, seconds).arrivals(capacity * level)
        print(measured.row(f"{level}x", capacity), *(dict(measured.failed),) if measured.failed else (), flush=True)
        await asyncio.sleep(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20, help="duration of each level; defaults to 20")
    parser.add_argument("--levels", default="0.5,1,2,5", help="multiples of the capacity")
    parser.add_argument("--against", type=Path, help="another checkout to measure first, in the same run")
    parser.add_argument("--new-connections", action="store_true", help="a connection for each request")
    arguments = parser.parse_args()
    os.sched_setaffinity(0, {1} if (os.cpu_count() or 1) > 1 else {0})
    for code in (arguments.against, HERE):
        if code is not None:
            print(f"\n{code.name}", flush=True)
            with running(code.resolve(), arguments.new_connections) as target:
                asyncio.run(measure(target, arguments.seconds, [float(x) for x in arguments.levels.split(",")]))


if __name__ == "__main__":
    main()
