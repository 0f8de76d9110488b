"""Measures the start of a server up to its first answer: wall, CPU, and instructions where valgrind is installed.

The servers of two checkouts are started in turn, because times on a busy machine compare only within one run.
"""

import argparse
import asyncio
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import httpx
import psutil

from benchmarks.peers.servers import ROOT, SECRET, environment, free_port
from datastore.local import engine
from datastore.local.endpoint import LOCAL_REGION, Place

TABLE = "heartwood"
QUERY = "{ users(first: 1) { nodes { username } } }"
ANSWER = {"data": {"users": {"nodes": []}}}
WITHIN = 300.0
COUNTED = ("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null")


@dataclass(frozen=True)
class Start:
    """From the start of the process to its first answer."""

    wall: float
    cpu: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", type=Path, help="another checkout to compare with")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--no-instructions", action="store_true", help="do not count instructions: it takes a minute")
    arguments = parser.parse_args()
    checkouts = [ROOT, *([arguments.against.resolve()] if arguments.against else [])]
    counts = shutil.which("valgrind") is not None and not arguments.no_instructions
    with engine.in_memory(moto=False) as running:
        Place(running.endpoint, LOCAL_REGION, keeps_data=False, has_own_engine=True).ensure_table(TABLE)
        for checkout in checkouts:  # Writes the byte code.
            start(checkout, running.endpoint)
        starts: dict[Path, list[Start]] = {checkout: [] for checkout in checkouts}
        for _ in range(arguments.rounds):
            for checkout in checkouts:
                starts[checkout].append(start(checkout, running.endpoint))
        counted = {checkout: instructions(checkout, running.endpoint) for checkout in checkouts} if counts else {}
    for checkout in checkouts:
        report(checkout, starts[checkout], counted.get(checkout))
    if arguments.against:
        pairs = zip(starts[checkouts[0]], starts[checkouts[1]], strict=True)
        wall, cpu = zip(*((own.wall / other.wall, own.cpu / other.cpu) for own, other in pairs), strict=True)
        more = f", instructions {counted[checkouts[0]] / counted[checkouts[1]]:.2f}" if counted else ""
        print(f"ratio: wall {median(wall):.2f}, CPU {median(cpu):.2f}{more}")


def report(checkout: Path, starts: list[Start], counted: int | None) -> None:
    wall, cpu = median(each.wall for each in starts), median(each.cpu for each in starts)
    more = f", {counted / 1e9:.2f} billion instructions" if counted else ""
    print(f"{checkout}: {wall * 1000:.0f} ms, {cpu * 1000:.0f} ms of CPU{more}")


def start(checkout: Path, endpoint: str) -> Start:
    began = time.perf_counter()
    with launched(checkout, endpoint) as (process, port):
        asyncio.run(first_answer(port))
        wall = time.perf_counter() - began
        times = process.cpu_times()
        return Start(wall, times.user + times.system)


def instructions(checkout: Path, endpoint: str) -> int:
    """Returns the instructions up to the first answer and of the shutdown, which is short."""
    with tempfile.NamedTemporaryFile("r") as errors:
        with launched(checkout, endpoint, *COUNTED, errors=errors.name) as (_, port):
            asyncio.run(first_answer(port))
        found = re.search(r"I +refs: +([\d,]+)", errors.read())
    if found is None:
        raise SystemExit("valgrind has not counted the instructions")
    return int(found[1].replace(",", ""))


@contextmanager
def launched(
    checkout: Path, endpoint: str, *under: str, errors: str = "/dev/null"
) -> Iterator[tuple[psutil.Popen, int]]:
    port = free_port()
    settings = {"DYNAMODB_ENDPOINT": endpoint, "TABLE_NAME": TABLE, "PORT": str(port), "AUTH_SECRET": SECRET}
    with open(errors, "w") as log:
        process = psutil.Popen(
            (*under, str(checkout / ".venv/bin/python"), "server.py", "serve", "--no-demo"),
            cwd=checkout,
            env=environment(**settings),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
        )
        try:
            yield process, port
        finally:
            process.terminate()
            process.wait()


async def first_answer(port: int) -> None:
    give_up = time.monotonic() + WITHIN
    async with httpx.AsyncClient(trust_env=False, timeout=WITHIN) as client:
        while time.monotonic() < give_up:
            try:
                answer = await client.post(f"http://127.0.0.1:{port}/graphql", json={"query": QUERY})
            except httpx.ConnectError:
                await asyncio.sleep(0.005)
                continue
            if answer.json() != ANSWER:
                raise SystemExit(f"the server answers {answer.text[:500]}")
            return
    raise SystemExit(f"there was no answer within {WITHIN:.0f} s")


if __name__ == "__main__":
    main()
