"""Scenarios with more requests than the server can answer, and with documents that are all different."""

import os
from pathlib import Path

from benchmarks.chaos.client import Tally
from benchmarks.chaos.scenarios import Figures, Scale, at_least, at_most, scenario
from benchmarks.chaos.scene import scene
from benchmarks.overload import Load, percentile, running

CLIENTS = 16


@scenario(
    "Twice and five times the requests that the server can answer",
    goodput_at_2x=at_least(0.85),
    goodput_at_5x=at_least(0.7),
    p99_at_2x_over_normal=at_most(3),
    healthz_p99_ms=at_most(100),
    memory_growth_mb=at_most(150),
)
async def overload(folder: Path, scale: Scale) -> Figures:
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})  # the server has the first core to itself
    try:
        with running(folder, new_connections=False) as target:
            await Load(target, 2).closed_loop(CLIENTS)
            idle = target.memory()
            capacity = (await Load(target, scale.of(4, 8)).closed_loop(CLIENTS)).goodput
            normal = await Load(target, scale.of(4, 10)).arrivals(capacity * 0.8)
            twice = await Load(target, scale.of(10, 120)).arrivals(capacity * 2)
            five = await Load(target, scale.of(10, 60)).arrivals(capacity * 5)
    finally:
        os.sched_setaffinity(0, cores)
    normal_p99 = percentile(normal.latencies.get(200, []), 99)
    return {
        "capacity_per_second": capacity,
        "goodput_at_2x": twice.goodput / capacity,
        "goodput_at_5x": five.goodput / capacity,
        "normal_p99_ms": normal_p99,
        "p99_at_2x_over_normal": percentile(twice.latencies.get(200, []), 99) / normal_p99,
        "refused_at_2x_per_second": len(twice.latencies.get(503, [])) / twice.seconds,
        "healthz_p99_ms": max(percentile(each.health, 99) for each in (twice, five)),
        "memory_growth_mb": max(twice.peak, five.peak) - idle,
    }


@scenario("Documents that are all different", memory_growth_mb=at_most(60), failed=at_most(0))
async def unique_documents(folder: Path, scale: Scale) -> Figures:
    count, tally = scale.of(2_000, 10_000), Tally()
    async with scene(folder) as on:
        client = on.client()
        for number in range(200):
            tally.add(await client.ask(_document(f"warm{number}")))
        before = on.server.resident_mb
        for number in range(count):
            tally.add(await client.ask(_document(f"n{number}")))
        after = on.server.resident_mb
        await client.close()
    return {"documents": count, "failed": len(tally.failures), "memory_growth_mb": after - before}


def _document(name: str) -> str:
    return (
        f"query {name} {{ {name}: feed(first: 3) {{ nodes {{ {name}: caption author {{ {name}: username id }} }} }} }}"
    )
