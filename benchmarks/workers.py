"""Measures the throughput of one and of several workers, with a stub of DynamoDB that answers from memory.

The stub forwards a request that it has not seen to the local engine, and answers it from memory ever after, so the
measured requests wait for nothing else. Stub, load generator and workers share the cores of this machine: `others` is
the CPU per request of the first two. With at least as many free cores as workers, throughput would be the number of
workers divided by their CPU per request; the last column is that, relative to one worker.
"""

import argparse
import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any

import httptools
import psutil
from uvloop import new_event_loop

from benchmarks.overload import QUERY
from benchmarks.peers.asking import Plan, Request
from benchmarks.peers.load import Generator, Job, generator
from benchmarks.peers.servers import ROOT as CHECKOUT
from benchmarks.peers.servers import SECRET, Running, Server, environment, free_port, wait_for
from datastore.client.budget import Usage
from datastore.client.http import HttpClient
from datastore.client.table import Table
from datastore.client.transport import Transport
from datastore.local import engine
from datastore.local.endpoint import LOCAL_REGION, Place
from resolvers import demo
from resolvers.accounts.passwords import Passwords

TABLE = "heartwood"
PATIENCE = 120.0
WARM_UP = 400
# The engine does not check that the signature is for its own address.
FORWARDED = (b"X-Amz-Target", b"X-Amz-Date", b"Content-Type", b"Authorization")


class Stub(asyncio.Protocol):
    """A connection of a server to the stub."""

    known: dict[tuple[bytes, bytes], bytes] = {}  # noqa: RUF012
    engine: HttpClient

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._parser = httptools.HttpRequestParser(self)
        self._headers: dict[bytes, bytes] = {}
        self._body = b""

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_header(self, name: bytes, value: bytes) -> None:
        if name in FORWARDED:
            self._headers[name] = value

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        asked = self._headers[b"X-Amz-Target"], self._body
        self._body = b""
        if asked in self.known:
            self._transport.write(self.known[asked])
        else:
            headers = {name.decode(): value.decode() for name, value in self._headers.items()}
            self._asking = asyncio.create_task(self._ask(asked, headers))

    async def _ask(self, asked: tuple[bytes, bytes], headers: dict[str, str]) -> None:
        status, content = await self.engine.post(headers, asked[1])
        head = f"HTTP/1.1 {status} -\r\nContent-Length: {len(content)}\r\n\r\n"
        self.known[asked] = head.encode() + content
        self._transport.write(self.known[asked])


async def run_stub(port: int, endpoint: str) -> None:
    Stub.engine = HttpClient(endpoint)
    server = await asyncio.get_running_loop().create_server(Stub, "127.0.0.1", port)
    await server.serve_forever()


@dataclass(frozen=True)
class Measured:
    """Requests per second, and milliseconds of CPU per request."""

    per_second: float
    workers_ms: float
    others_ms: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--concurrency", type=int, default=32)
    parser.add_argument("--stub", nargs=2, metavar=("PORT", "ENGINE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.stub:
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            runner.run(run_stub(int(arguments.stub[0]), arguments.stub[1]))
    samples: dict[int, list[Measured]] = {count: [] for count in arguments.workers}
    with a_stub() as stub, generator() as load:
        for _ in range(arguments.rounds):
            for count in arguments.workers:
                samples[count].append(measure(count, stub, load, arguments))
    report(samples)


def report(samples: dict[int, list[Measured]]) -> None:
    medians = {
        count: Measured(*(median(getattr(each, name) for each in found) for name in Measured.__annotations__))
        for count, found in samples.items()
    }
    first_count, first = next(iter(medians.items()))
    print(f"{'workers':>8} {'requests/s':>11} {'ratio':>6} {'CPU ms':>7} {'others ms':>10} {'with free cores':>16}")
    for count, each in medians.items():
        free = count / each.workers_ms / (first_count / first.workers_ms)
        ratio = each.per_second / first.per_second
        times = f"{each.workers_ms:>7.2f} {each.others_ms:>10.2f}"
        print(f"{count:>8} {each.per_second:>11.0f} {ratio:>6.2f} {times} {free:>16.2f}")


@contextmanager
def a_stub() -> Iterator[tuple[psutil.Popen, str]]:
    """Yields the process and the address of a stub in front of an engine with demo data."""
    with engine.in_memory(moto=False) as running:
        place = Place(running.endpoint, LOCAL_REGION, keeps_data=False, has_own_engine=True)
        place.ensure_table(TABLE)
        asyncio.run(load_demo(place))
        port = free_port()
        command = (sys.executable, "-m", "benchmarks.workers", "--stub", str(port), running.endpoint)
        process = psutil.Popen(command, cwd=CHECKOUT)
        try:
            wait_for(process, port, "the stub")
            yield process, f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait()


async def load_demo(place: Place) -> None:
    transport = Transport(region=LOCAL_REGION, endpoint=place.endpoint, credentials=place.credentials)
    passwords = Passwords(rounds=4)
    await demo.load(Table(transport, TABLE, Usage.lasting(PATIENCE)), passwords)
    passwords.close()
    await transport.close()


def measure(count: int, stub: tuple[psutil.Popen, str], load: Generator, arguments: argparse.Namespace) -> Measured:
    with serving(count, stub[1]) as started:
        plan = Plan([Request({"content-type": "application/json"}, _body())], [[0]])
        concurrency = arguments.concurrency
        load.run(Job.of(started.url, "page", plan, seconds=60, concurrency=concurrency, most=WARM_UP * count))
        generating = next(each for each in psutil.Process().children() if "benchmarks.peers.load" in each.cmdline())
        before = started.cpu_seconds, _cpu(stub[0]) + _cpu(generating)
        done = load.run(Job.of(started.url, "page", plan, seconds=arguments.seconds, concurrency=concurrency))
        after = started.cpu_seconds, _cpu(stub[0]) + _cpu(generating)
    workers, others = ((now - then) * 1000 / done.count for then, now in zip(before, after, strict=True))
    return Measured(done.count / done.seconds, workers, others)


@contextmanager
def serving(count: int, endpoint: str) -> Iterator[Running]:
    port = free_port()
    settings = {"DYNAMODB_ENDPOINT": endpoint, "TABLE_NAME": TABLE, "PORT": str(port), "AUTH_SECRET": SECRET}
    process = psutil.Popen(
        (sys.executable, "server.py", "serve", "--no-demo"),
        cwd=CHECKOUT,
        env=environment(WORKERS=str(count), **settings),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(process, port, "Heartwood")
        yield Running(Server("heartwood", "Heartwood", ()), f"http://127.0.0.1:{port}/graphql", process)
    finally:
        process.terminate()
        process.wait()


def _body() -> bytes:
    return b'{"query": "%s"}' % QUERY.replace("\n", " ").encode()


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


if __name__ == "__main__":
    main()
