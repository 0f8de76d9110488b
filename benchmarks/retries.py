"""Measures retries under throttling: calls sent per wanted call, and the time until callers get the error.

A server throttles a share of the calls. `--against DIR` runs the same on another checkout, in turns.
"""

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from statistics import mean, quantiles
from typing import Any

from datastore.accounts import User
from datastore.client.budget import Usage
from datastore.client.errors import Retryable
from datastore.client.table import Table
from datastore.client.transport import Transport
from datastore.local.endpoint import LOCAL_REGION

ROOT = Path(__file__).resolve().parent.parent
THROTTLED = (
    b'{"__type": "x#ProvisionedThroughputExceededException", "message": "The level of throughput was exceeded."}'
)


class Throttling:
    """Answers GetItem with nothing found, or throttles it."""

    def __init__(self, share: float) -> None:
        self.calls = 0
        self._share = share
        self._chance = random.Random(1)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]))
                self.calls += 1
                status, body = (400, THROTTLED) if self._chance.random() < self._share else (200, b"{}")
                writer.write(f"HTTP/1.1 {status} -\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


async def measure(share: float, wanted: int, at_once: int, deadline: float) -> dict[str, float]:
    """Sends the wanted calls, some at once, each with its deadline, and reports in numbers."""
    throttling = Throttling(share)
    server = await asyncio.start_server(throttling.serve, "127.0.0.1", 0)
    transport = Transport(region=LOCAL_REGION, endpoint=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    table = Table(transport, "benchmark", Usage.lasting(1))
    answered, failed = [], []
    waiting = iter(range(wanted))

    async def send_some() -> None:
        for number in waiting:
            began = time.perf_counter()
            try:
                await table.using(Usage.lasting(deadline)).get(User.key(user_id=f"user-{number}"))
                answered.append(time.perf_counter() - began)
            except Retryable:
                failed.append(time.perf_counter() - began)

    await asyncio.gather(*(send_some() for _ in range(at_once)))
    await transport.close()
    server.close()
    return {
        "calls_per_wanted_call": throttling.calls / wanted,
        "answered": len(answered) / wanted,
        "mean_ms_to_error": 1000 * mean(failed) if failed else 0.0,
        "p99_ms_to_error": 1000 * quantiles(failed, n=100)[-1] if len(failed) > 1 else 0.0,
    }


def at(checkout: Path, arguments: argparse.Namespace, share: float) -> dict[str, Any]:
    """Runs one measurement with the code of a checkout, in a process of its own."""
    command = [sys.executable, str(Path(__file__).resolve()), "--one", str(share), *_sizes(arguments)]
    environment = os.environ | {"PYTHONPATH": str(checkout)}
    done = subprocess.run(command, cwd=checkout, env=environment, check=True, capture_output=True, text=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def _sizes(arguments: argparse.Namespace) -> list[str]:
    return [
        text
        for name in ("wanted", "at_once", "deadline")
        for text in (f"--{name.replace('_', '-')}", str(getattr(arguments, name)))
    ]


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.retries", description=__doc__.splitlines()[0])
    parser.add_argument("--wanted", type=int, default=200, help="wanted calls (200)")
    parser.add_argument("--at-once", type=int, default=20, help="callers, each with one call at a time (20)")
    parser.add_argument("--deadline", type=float, default=10.0, help="seconds per call (10)")
    parser.add_argument("--against", type=Path, metavar="DIR", help="another checkout to run the same on")
    parser.add_argument("--one", type=float, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one is not None:
        sizes = arguments.wanted, arguments.at_once, arguments.deadline
        print(json.dumps(asyncio.run(measure(arguments.one, *sizes))))
        return 0
    print(f"{'throttled':<11}{'code':<9}{'calls per wanted':>17}{'answered':>10}{'mean ms to error':>18}{'p99':>9}")
    checkouts = {"before": arguments.against, "now": ROOT} if arguments.against else {"now": ROOT}
    for share in (0.0, 0.1, 0.5, 1.0):
        for name, checkout in checkouts.items():
            found = at(checkout, arguments, share)
            print(
                f"{share:<11.0%}{name:<9}{found['calls_per_wanted_call']:>17.2f}{found['answered']:>10.1%}"
                f"{found['mean_ms_to_error']:>18.1f}{found['p99_ms_to_error']:>9.1f}"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
