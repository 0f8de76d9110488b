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

from benchmarks.peers.asking import LIKE, Plan
from datastore.client.http import HttpClient
from schema.http import garbage_collection

try:
    from uvloop import new_event_loop
except ImportError:
    new_event_loop = asyncio.new_event_loop

# Heartwood refuses requests while its CPU is saturated, and asks clients to wait for a second.
OVERLOADED = 503
AGAIN_AFTER = 1.0


@dataclass(frozen=True)
class Job:
    """Sends requests for `seconds`, at least one per client, at most `most` per lane. Only likes are not repeated."""

    url: str
    requests: list[tuple[dict[str, str], str]]
    lanes: list[list[int]]
    seconds: float
    concurrency: int
    expected: str
    is_repeated: bool
    most: int | None = None

    @classmethod
    def of(
        cls, url: str, query: str, plan: Plan, *, seconds: float, concurrency: int, most: int | None = None
    ) -> "Job":
        texts = [(headers, body.decode()) for headers, body in plan.requests]
        is_like = query == LIKE
        expected = '"viewerHasLiked":true' if is_like else '"data"'
        return cls(url, texts, plan.lanes, seconds, concurrency, expected, not is_like, most)


@dataclass(frozen=True)
class Load:
    """Measurements of a job. `refused` requests were sent again, and their CPU counts."""

    count: int
    refused: int
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
    requests = [(headers, body.encode()) for headers, body in job.requests]
    lanes = [islice(cycle(lane) if job.is_repeated else lane, job.most) for lane in job.lanes]
    latencies: list[float] = []
    refused = 0
    began = time.perf_counter()
    until = began + job.seconds

    async def ask(lane: Iterator[int]) -> None:
        for place in lane:
            headers, body = requests[place]
            sent = time.perf_counter()
            status, answer = await client.post(headers, body)
            while status == OVERLOADED:
                nonlocal refused
                refused += 1
                await asyncio.sleep(AGAIN_AFTER)
                status, answer = await client.post(headers, body)
            now = time.perf_counter()
            latencies.append(now - sent)
            if status != 200 or expected not in answer or b'"errors"' in answer:
                raise SystemExit(f"{job.url} returned {status}: {answer[:2000]!r}")
            if now > until:
                return

    await asyncio.gather(*(ask(lanes[number % len(lanes)]) for number in range(job.concurrency)))
    seconds = time.perf_counter() - began
    await client.close()
    cuts = quantiles(latencies, n=100, method="inclusive") if len(latencies) > 1 else latencies * 100
    return Load(len(latencies), refused, seconds, cuts[49] * 1000, cuts[98] * 1000)


def main() -> None:
    garbage_collection.settle()
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        for line in sys.stdin.buffer:
            fields = orjson.loads(line)
            print(orjson.dumps(asdict(runner.run(carry_out(Job(**fields))))).decode(), flush=True)


if __name__ == "__main__":
    main()
