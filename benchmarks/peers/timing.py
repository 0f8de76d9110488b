"""Times the servers one at a time, in several rounds, and computes the medians."""

import asyncio
import time
from collections import defaultdict
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.peers.asking import TITLES, Asker
from benchmarks.peers.load import Generator, Job, Load, generator
from benchmarks.peers.scenarios import SCENARIOS, Scenario
from benchmarks.peers.servers import Running, Server, running

STARTED = "person"
# Time before the measurements, compared to that of one of them.
WARM_UP, WARM_UP_COMPILED = 0.4, 1.6
# More likes than any server can handle in a second.
LIKES_A_SECOND = 1_500

Figures = dict[str, float]
# Measurements by server, scenario and query.
Samples = dict[tuple[str, str, str], list[Figures]]


@dataclass(frozen=True)
class Sizes:
    """Number of rounds, and seconds for each query and scenario."""

    rounds: int
    seconds: float


def measure(
    servers: list[Server],
    queries: list[str],
    scenarios: list[Scenario],
    asker: Asker,
    endpoint: str,
    table: str,
    sizes: Sizes,
) -> Any:
    """Returns start-up time and memory of each server, and by scenario and query the medians of CPU and latency."""
    samples: Samples = defaultdict(list)
    startups: dict[str, list[Figures]] = defaultdict(list)
    with generator() as load:
        for number in range(sizes.rounds):
            # Rotates the order, so that no server is always first or always after the same one.
            turn = number % len(servers)
            for server in servers[turn:] + servers[:turn]:
                with running(server, endpoint, table) as started:
                    first = _first_answer(started, asker)
                    _warm_up(started, queries, asker, load, sizes)
                    for query in queries:
                        for scenario in scenarios:
                            found = _measure_one(started, query, scenario, asker, load, sizes.seconds)
                            if found:
                                samples[server.name, scenario.name, query].append(found)
                    startups[server.name].append({"startup_ms": first, "resident_mb": started.resident_mb})
                print(f"  round {number + 1}: {server.title} {_brief(samples, server)}", flush=True)
    return {
        server.name: {
            **_median(startups[server.name]),
            "scenarios": {
                scenario.name: {
                    query: _median(samples[server.name, scenario.name, query])
                    for query in queries
                    if samples[server.name, scenario.name, query]
                }
                for scenario in scenarios
            },
        }
        for server in servers
    }


def _first_answer(started: Running, asker: Asker) -> float:
    """Returns milliseconds from the start to the first response."""
    began = time.perf_counter()
    asyncio.run(asker.ask(started, asker.compared(STARTED)[0]))
    return (started.startup_seconds + time.perf_counter() - began) * 1000


def _warm_up(started: Running, queries: list[str], asker: Asker, load: Generator, sizes: Sizes) -> None:
    """Runs all queries before any is timed, so that shared code is compiled for all of them."""
    share = WARM_UP_COMPILED if started.server.is_compiled else WARM_UP
    for query in queries:
        _run(started, query, SCENARIOS["8"], asker, load, sizes.seconds * share)


def _run(
    started: Running, query: str, scenario: Scenario, asker: Asker, load: Generator, seconds: float
) -> tuple[Load, float] | None:
    """Returns the measurements and the CPU seconds of the server."""
    plan = asker.plan(query, scenario, scenario.concurrency + int(seconds * LIKES_A_SECOND))
    if plan is None:
        return None
    job = Job.of(started.url, query, plan, seconds=seconds, concurrency=scenario.concurrency)
    before = started.cpu_seconds
    result = load.run(job)
    return result, started.cpu_seconds - before


def _measure_one(
    started: Running, query: str, scenario: Scenario, asker: Asker, load: Generator, seconds: float
) -> Figures | None:
    measured = _run(started, query, scenario, asker, load, seconds)
    if measured is None:
        return None
    result, cpu = measured
    return {
        "cpu_ms": cpu * 1000 / result.count,
        "per_second": result.count / result.seconds,
        "p50_ms": result.p50_ms,
        "p99_ms": result.p99_ms,
        "requests": result.count,
        "refused": result.refused / result.count,
    }


def _median(samples: list[Figures]) -> Figures:
    return {name: round(median(sample[name] for sample in samples), 3) for name in samples[0]}


def _brief(samples: Samples, server: Server) -> str:
    by_query: dict[str, list[str]] = defaultdict(list)
    for (name, _, query), found in samples.items():
        if name == server.name:
            by_query[query].append(f"{found[-1]['cpu_ms']:.2f}")
    return "; ".join(f"{TITLES[query]} {' '.join(each)}" for query, each in by_query.items())
