"""Runs the same queries on Heartwood and comparable servers, checks that the responses are equal, and times them."""

import argparse
import asyncio
import sys
from pathlib import Path
from typing import Any

from benchmarks import history, results
from benchmarks.peers import instructions, report
from benchmarks.peers.asking import TITLES, Asker
from benchmarks.peers.check import Differs, check
from benchmarks.peers.dataset import Dataset, dataset
from benchmarks.peers.plot import plot
from benchmarks.peers.scenarios import SCENARIOS, Scenario
from benchmarks.peers.servers import SERVERS, Server
from benchmarks.peers.timing import Sizes, measure
from datastore.client.budget import Usage
from datastore.client.table import Table
from datastore.client.transport import Transport
from datastore.local import engine, provision
from datastore.local.endpoint import LOCAL_REGION

TABLE = "benchmark"
BATCH = 500
WRITERS = 4
# Scenarios in which the calls of the servers that share reads are counted.
COUNTED = ("8", "64")
FULL = Sizes(rounds=3, seconds=1.2)
QUICK = Sizes(rounds=1, seconds=0.5)


async def load_and_check(
    endpoint: str,
    data: Dataset,
    servers: list[Server],
    queries: list[str],
    asker: Asker,
    counted: tuple[Scenario, ...],
) -> Any:
    transport = Transport(region=LOCAL_REGION, endpoint=endpoint)
    table = Table(transport, TABLE, Usage.lasting(86_400))
    print(f"Loading {data.title} and the benchmark records: {len(data.records):,} items", flush=True)
    batches = iter([data.records[at : at + BATCH] for at in range(0, len(data.records), BATCH)])

    async def write() -> None:
        for batch in batches:
            await table.batch_write(puts=batch)

    await asyncio.gather(*(write() for _ in range(WRITERS)))
    print("Checking that all responses are equal", flush=True)
    calls = await check(servers, queries, asker, table, endpoint, counted=counted)
    await transport.close()
    return calls


def run(arguments: argparse.Namespace, sizes: Sizes) -> None:
    servers = [SERVERS[name] for name in arguments.servers if _is_installed(SERVERS[name])]
    data = dataset(arguments.ldbc)
    asker = Asker(data)
    code = results.fingerprint()
    with engine.in_memory(moto=False) as running:
        provision.connect(running.endpoint, LOCAL_REGION).create_table(**provision.definition(TABLE, stream=False))
        counted = () if arguments.check else tuple(SCENARIOS[name] for name in COUNTED if name in arguments.scenarios)
        calls, calls_under_load = asyncio.run(
            load_and_check(running.endpoint, data, servers, arguments.queries, asker, counted)
        )
        if arguments.check:
            return
        print("Timing", flush=True)
        scenarios = [SCENARIOS[name] for name in arguments.scenarios]
        timing = measure(servers, arguments.queries, scenarios, asker, running.endpoint, TABLE, sizes)
        counts = {} if arguments.quick else count_instructions(servers, arguments.queries, asker, running.endpoint)
    results.must_be(code)
    found = report.figures(data.title, sizes, calls, calls_under_load, timing, counts)
    print(report.render(found))
    if arguments.write:
        results.keep("peers", found)
        results.put_into_docs("peers", report.render(found))
        plot(found, results.DOCS / "performance.svg")
        history.remember(report.main_figures(found))


def count_instructions(servers: list[Server], queries: list[str], asker: Asker, endpoint: str) -> dict[str, Any]:
    print("Counting instructions", flush=True)
    found = instructions.measure(servers, queries, asker, endpoint, TABLE)
    if not found:
        print("  neither perf nor valgrind can count them here")
    return found


def _is_installed(server: Server) -> bool:
    if not server.is_installed:
        print(f"Skipping {server.title}: it is not built, because its language is not installed", flush=True)
    return server.is_installed


def _sizes(arguments: argparse.Namespace) -> Sizes:
    usual = QUICK if arguments.quick else FULL
    given = {name: getattr(arguments, name) for name in ("rounds", "seconds")}
    return Sizes(**{**vars(usual), **{name: value for name, value in given.items() if value is not None}})


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.peers", description=__doc__)
    parser.add_argument("--rounds", type=int, help=f"rounds; every server runs once per round ({FULL.rounds})")
    parser.add_argument("--seconds", type=float, help=f"time per round, query and scenario ({FULL.seconds:g})")
    parser.add_argument(
        "--scenarios", nargs="+", choices=SCENARIOS, default=list(SCENARIOS), metavar="NAME", help="scenarios (all)"
    )
    parser.add_argument(
        "--servers", nargs="+", choices=SERVERS, default=list(SERVERS), metavar="NAME", help="servers (all)"
    )
    parser.add_argument(
        "--queries", nargs="+", choices=TITLES, default=list(TITLES), metavar="NAME", help="queries (all)"
    )
    parser.add_argument("--ldbc", type=Path, help="folder of LDBC's CSV files; defaults to a synthetic network")
    parser.add_argument("--quick", action="store_true", help="one short round")
    parser.add_argument("--check", action="store_true", help="only compare the responses")
    parser.add_argument("--write", action="store_true", help="write results.json, docs/performance.md and its chart")
    arguments = parser.parse_args()
    try:
        run(arguments, _sizes(arguments))
    except (engine.EngineFailed, Differs) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
