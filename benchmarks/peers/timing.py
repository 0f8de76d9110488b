"""Times the servers one at a time, in several rounds, and computes the medians."""

import asyncio
import time
from collections import defaultdict
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.peers.asking import LIKE, TITLES, Asker
from benchmarks.peers.load import Generator, Job, generator
from benchmarks.peers.servers import Running, Server, running

# Small requests are repeated more often, because the CPU time of a process has a resolution of 10 ms.
LIGHT = {"person": 6, LIKE: 4, "people": 2}
STARTED = "person"

Figures = dict[str, float]
Samples = dict[tuple[str, str], list[Figures]]


@dataclass(frozen=True)
class Sizes:
    """Number and size of the rounds."""

    rounds: int
    requests: int
    seconds: float
    warm_up: int
    warm_up_compiled: int
    concurrency: int


def measure(servers: list[Server], queries: list[str], asker: Asker, endpoint: str, table: str, sizes: Sizes) -> Any:
    """Returns the start-up time of each server, and per query the medians of CPU, throughput, latency and memory."""
    samples: Samples = defaultdict(list)
    with generator() as load:
        for number in range(sizes.rounds):
            # Rotates the order, so that no server is always first or always after the same one.
            turn = number % len(servers)
            for server in servers[turn:] + servers[:turn]:
                with running(server, endpoint, table) as started:
                    samples[server.name, "startup"].append({"ms": _first_answer(started, asker)})
                    _warm_up(started, queries, asker, load, sizes)
                    for query in queries:
                        samples[server.name, query].append(_measure_one(started, query, asker, load, sizes))
                print(f"  round {number + 1}: {server.title} {_brief(samples, server, queries)}", flush=True)
    return {
        server.name: {
            "startup_ms": _median(samples[server.name, "startup"])["ms"],
            "queries": {query: _median(samples[server.name, query]) for query in queries},
        }
        for server in servers
    }


def _first_answer(started: Running, asker: Asker) -> float:
    """Returns milliseconds from the start to the first response."""
    began = time.perf_counter()
    asyncio.run(asker.ask(started, asker.requests(STARTED)[0]))
    return (started.startup_seconds + time.perf_counter() - began) * 1000


def _warm_up(started: Running, queries: list[str], asker: Asker, load: Generator, sizes: Sizes) -> None:
    """Runs all queries before any is timed, so that shared code is compiled for all of them."""
    count = sizes.warm_up_compiled if started.server.is_compiled else sizes.warm_up
    for query in queries:
        load.run(_job(started, query, asker, sizes, count=count, seconds=600))


def _job(started: Running, query: str, asker: Asker, sizes: Sizes, *, count: int, seconds: float) -> Job:
    return Job.of(
        started.url,
        asker.requests(query, count),
        count=count,
        seconds=seconds,
        concurrency=sizes.concurrency,
        expected='"viewerHasLiked":true' if query == LIKE else '"data"',
    )


def _measure_one(started: Running, query: str, asker: Asker, load: Generator, sizes: Sizes) -> Figures:
    load.run(_job(started, query, asker, sizes, count=sizes.warm_up, seconds=600))
    count = sizes.requests * LIGHT.get(query, 1)
    measured = _job(started, query, asker, sizes, count=count, seconds=sizes.seconds)
    before = started.cpu_seconds
    result = load.run(measured)
    cpu = started.cpu_seconds - before
    return {
        "cpu_ms": cpu * 1000 / result.count,
        "per_second": result.count / result.seconds,
        "p50_ms": result.p50_ms,
        "p99_ms": result.p99_ms,
        "resident_mb": started.resident_mb,
        "requests": result.count,
    }


def _median(samples: list[Figures]) -> Figures:
    return {name: round(median(sample[name] for sample in samples), 3) for name in samples[0]}


def _brief(samples: Samples, server: Server, queries: list[str]) -> str:
    return ", ".join(f"{TITLES[query]} {samples[server.name, query][-1]['cpu_ms']:.2f} ms" for query in queries)
