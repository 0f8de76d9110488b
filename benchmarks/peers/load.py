"""Load generator in its own process: reads jobs as JSON lines and writes the measurements of each."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import cycle, islice
from statistics import quantiles
from typing import IO

import orjson

from benchmarks.peers.asking import Request
from datastore.client.http import HttpClient
from schema.http import garbage_collection

try:
    from uvloop import new_event_loop
except ImportError:
    new_event_loop = asyncio.new_event_loop


@dataclass(frozen=True)
class Job:
    """Sends `count` requests round-robin, for at most `seconds`."""

    url: str
    requests: list[tuple[dict[str, str], str]]
    count: int
    seconds: float
    concurrency: int
    expected: str

    @classmethod
    def of(
        cls, url: str, requests: list[Request], *, count: int, seconds: float, concurrency: int, expected: str
    ) -> "Job":
        texts = [(headers, body.decode()) for headers, body in requests]
        return cls(url, texts, count, seconds, concurrency, expected)


@dataclass(frozen=True)
class Load:
    """Measurements of a job."""

    count: int
    seconds: float
    p50_ms: float
    p99_ms: float


class Generator:
    """Handle of the load generator process."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._jobs: IO[bytes] = process.stdin
        self._results: IO[bytes] = process.stdout

    def run(self, job: Job) -> Load:
        self._jobs.write(orjson.dumps(asdict(job)) + b"\n")
        self._jobs.flush()
        line = self._results.readline()
        if not line:
            raise SystemExit("the load generator failed")
        return Load(**orjson.loads(line))


@contextmanager
def generator() -> Iterator[Generator]:
    command = [sys.executable, "-m", "benchmarks.peers.load"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        yield Generator(process)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait(10)


async def carry_out(job: Job) -> Load:
    client = HttpClient(job.url)
    expected = job.expected.encode()
    todo = islice(cycle([(headers, body.encode()) for headers, body in job.requests]), job.count)
    latencies: list[float] = []
    began = time.perf_counter()
    until = began + job.seconds

    async def ask() -> None:
        for headers, body in todo:
            sent = time.perf_counter()
            if sent > until:
                return
            status, answer = await client.post(headers, body)
            latencies.append(time.perf_counter() - sent)
            if status != 200 or expected not in answer or b'"errors"' in answer:
                raise SystemExit(f"{job.url} returned {status}: {answer[:2000]!r}")

    await asyncio.gather(*(ask() for _ in range(job.concurrency)))
    seconds = time.perf_counter() - began
    await client.close()
    cuts = quantiles(latencies, n=100, method="inclusive")
    return Load(len(latencies), seconds, cuts[49] * 1000, cuts[98] * 1000)


def main() -> None:
    garbage_collection.settle()
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        for line in sys.stdin.buffer:
            fields = orjson.loads(line)
            print(orjson.dumps(asdict(runner.run(carry_out(Job(**fields))))).decode(), flush=True)


if __name__ == "__main__":
    main()
