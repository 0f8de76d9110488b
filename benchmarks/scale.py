"""Measures how CPU grows with the records of a response and with the size of the table, in one process."""

import argparse
import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from itertools import chain, count, islice
from statistics import median
from typing import Any, NamedTuple

from benchmarks import bulk, results
from benchmarks.peers.asking import FOLDER
from benchmarks.transport import new_event_loop, person
from datastore.client.budget import Usage
from datastore.local import engine
from datastore.local.endpoint import LOCAL_REGION, Place
from datastore.model.entity import Entity
from datastore.social import Comment, Post
from loaders.viewer import ANONYMOUS
from schema.declare.ids import global_id
from schema.http import garbage_collection
from schema.http.protocol import GraphQLRequest
from schema.http.services import Services
from schema.http.settings import Settings

SECRET = "a secret of the benchmarks, of no worth elsewhere"
RECORDS = (10, 100, 1_000)
IDS_A_FIELD = 100
# Enough per round that the CPU time is far above the clock's noise.
RECORDS_A_ROUND = 4_000
GROWTH_ALLOWED = 1.25
DIFFERENCE_ALLOWED = 1.1

PEOPLE = [person(number) for number in range(RECORDS[-1])]
POST = Post(post_id="measured", user_id=PEOPLE[0].user_id, image_url="https://example.org/measured.jpg", feed_shard=0)

Ask = Callable[[], Awaitable[dict[str, int]]]


class Case(NamedTuple):
    """A measured operation: the number of records, and a function that runs it and returns its calls."""

    name: str
    records: int
    ask: Ask


@dataclass(frozen=True)
class Measured:
    cpu_ms: float
    calls: dict[str, int]


def core() -> Iterator[Entity]:
    """Returns the records that the queries read, the same in every table."""
    yield POST
    yield from PEOPLE
    for number in range(RECORDS[-1]):
        yield _comment(POST.post_id, number)


def filling() -> Iterator[Entity]:
    """Returns filler records that no query reads."""
    for number in count():
        yield _comment(f"other{number // 50:06}", number)


def _comment(post_id: str, number: int) -> Comment:
    return Comment(
        post_id=post_id,
        comment_id=f"{number:08}",
        user_id=PEOPLE[number % len(PEOPLE)].user_id,
        content="I had one just like it, and the hinge went first. Is it oak?",
    )


def items(size: int) -> Iterator[Entity]:
    return islice(chain(core(), filling()), size)


def graph_case(services: Services, name: str, records: int, query: str, **variables: Any) -> Case:
    request = GraphQLRequest(query, variables)

    async def ask() -> dict[str, int]:
        context = services.context_of(ANONYMOUS)
        answer = await services.executor.run(request, context, may_mutate=False)
        assert "errors" not in answer.body, answer.body["errors"]
        return dict(context.load.table.usage.calls)

    return Case(name, records, ask)


def people_case(services: Services, records: int) -> Case:
    """Reads records with `nodes`, a hundred per alias."""
    ids = [global_id(user) for user in PEOPLE[:records]]
    variables = {f"ids{at}": ids[at : at + IDS_A_FIELD] for at in range(0, records, IDS_A_FIELD)}
    declared = " ".join(f"${name}: [ID!]!" for name in variables)
    fields = " ".join(f"{name}: nodes(ids: ${name}) {{ ...Person }}" for name in variables)
    person = "fragment Person on User { id username displayName followerCount }"
    query = f"query ({declared}) {{ {fields} }} {person}"
    return graph_case(services, f"nodes, {records:,}", records, query, **variables)


def range_case(services: Services, records: int) -> Case:
    """Reads records with the table client only."""

    async def ask() -> dict[str, int]:
        usage = Usage.lasting(60)
        page = await services.table.using(usage).query(Comment.within(post_id=POST.post_id), limit=records)
        assert len(page.records) == records
        return dict(usage.calls)

    return Case(f"Table.query, {records:,}", records, ask)


def page_cases(services: Services) -> list[Case]:
    """Returns the operations to run on the small and on the large table."""
    texts = {name: (FOLDER / f"{name}.graphql").read_text() for name in ("post_page", "person")}
    return [
        graph_case(services, "post page", 41, texts["post_page"], id=global_id(POST)),
        people_case(services, 100),
        graph_case(services, "one person", 1, texts["person"], id=global_id(PEOPLE[0])),
        range_case(services, 100),
    ]


def measure(runner: asyncio.Runner, cases: list[Case], rounds: int) -> list[Measured]:
    """Returns CPU milliseconds per request: medians of alternating rounds."""
    repeats = [max(4, RECORDS_A_ROUND // max(case.records, 10)) for case in cases]
    calls = [runner.run(_once(case)) for case in cases]
    for case, times in zip(cases, repeats, strict=True):
        runner.run(_repeated(case, times))
    garbage_collection.settle()
    samples: list[list[float]] = [[] for _ in cases]
    for _ in range(rounds):
        for case, times, sample in zip(cases, repeats, samples, strict=True):
            began = time.process_time()
            runner.run(_repeated(case, times))
            sample.append((time.process_time() - began) * 1000 / times)
    return [Measured(median(sample), counted) for sample, counted in zip(samples, calls, strict=True)]


async def _once(case: Case) -> dict[str, int]:
    return await case.ask()


async def _repeated(case: Case, times: int) -> None:
    for _ in range(times):
        await case.ask()


def by_records(runner: asyncio.Runner, services: Services, rounds: int) -> list[dict[str, Any]]:
    rows = []
    for make in (people_case, range_case):
        cases = [make(services, records) for records in RECORDS]
        measured = measure(runner, cases, rounds)
        each = [found.cpu_ms * 1000 / case.records for case, found in zip(cases, measured, strict=True)]
        growth = each[-1] / min(each[:-1])
        rows.append(
            {
                "what": cases[0].name.partition(",")[0],
                "us_per_record": {str(case.records): round(us, 2) for case, us in zip(cases, each, strict=True)},
                "calls": {str(c.records): found.calls for c, found in zip(cases, measured, strict=True)},
                "growth": round(growth, 3),
                "met": growth <= GROWTH_ALLOWED,
            }
        )
    return rows


def by_size(runner: asyncio.Runner, small: Services, large: Services, rounds: int) -> list[dict[str, Any]]:
    # Alternates between the tables, so that noise affects both.
    pairs = list(zip(page_cases(small), page_cases(large), strict=True))
    measured = measure(runner, [case for pair in pairs for case in pair], rounds)
    rows = []
    for (case, _), one, other in zip(pairs, measured[::2], measured[1::2], strict=True):
        ratio = other.cpu_ms / one.cpu_ms
        rows.append(
            {
                "what": case.name,
                "small_ms": round(one.cpu_ms, 3),
                "large_ms": round(other.cpu_ms, 3),
                "calls": one.calls,
                "ratio": round(ratio, 3),
                "met": one.calls == other.calls and ratio <= DIFFERENCE_ALLOWED,
            }
        )
    return rows


def render(found: dict[str, Any]) -> str:
    small, large = found["sizes"]
    lines = ["**CPU per record, µs**", ""]
    lines += [f"| records | {' | '.join(f'{n:,}' for n in RECORDS)} | last ÷ lowest before | |"]
    lines += ["|---|" + "---:|" * (len(RECORDS) + 1) + "---|"]
    for row in found["by_records"]:
        figures = " | ".join(f"{row['us_per_record'][str(n)]:.1f}" for n in RECORDS)
        lines.append(f"| {row['what']} | {figures} | {row['growth']:.2f} (target {GROWTH_ALLOWED}) | {_met(row)} |")
    lines += ["", "**CPU per request, ms, by the size of the table**", ""]
    lines += [f"| items | {small:,} | {large:,} | ratio | calls | |", "|---|---:|---:|---:|---|---|"]
    for row in found["by_size"]:
        calls = ", ".join(f"{count} {name}" for name, count in sorted(row["calls"].items()))
        figures = f"{row['small_ms']:.2f} | {row['large_ms']:.2f} | {row['ratio']:.2f} (target {DIFFERENCE_ALLOWED})"
        lines.append(f"| {row['what']} | {figures} | {calls} in both | {_met(row)} |")
    return "\n".join(lines)


def _met(row: dict[str, Any]) -> str:
    return "met" if row["met"] else "**not met**"


def table_name(size: int) -> str:
    return f"items-{size}"


def services_at(endpoint: str, table: str) -> Services:
    settings = Settings(dynamodb_endpoint=endpoint, table_name=table, auth_secret=SECRET, request_timeout=300)
    return Services.at(Place(endpoint, LOCAL_REGION, keeps_data=False), settings, SECRET)


def run(endpoint: str, arguments: argparse.Namespace) -> dict[str, Any]:
    sizes = (arguments.small, arguments.large)
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        small, large = (services_at(endpoint, table_name(size)) for size in sizes)
        found = {
            "sizes": sizes,
            "rounds": arguments.rounds,
            "by_records": by_records(runner, small, arguments.rounds),
            "by_size": by_size(runner, small, large, arguments.rounds),
        }
        for services in (small, large):
            runner.run(services.table.transport.close())
            services.passwords.close()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.scale", description=__doc__)
    parser.add_argument("--small", type=int, default=5_000, help="items in the small table (5000)")
    parser.add_argument("--large", type=int, default=500_000, help="items in the large table (500000)")
    parser.add_argument("--rounds", type=int, default=9, help="alternating rounds (9)")
    parser.add_argument("--write", action="store_true", help="write results.json and docs/performance.md")
    arguments = parser.parse_args()
    try:
        print(f"Filling tables of {arguments.small:,} and {arguments.large:,} items", flush=True)
        sizes, code = (arguments.small, arguments.large), results.fingerprint()
        with bulk.filled({table_name(size): items(size) for size in sizes}) as running:
            print("Measuring", flush=True)
            found = run(running.endpoint, arguments)
    except engine.EngineFailed as error:
        print(error, file=sys.stderr)
        return 1
    results.must_be(code)
    print(render(found))
    if arguments.write:
        results.keep("scale", found)
        results.put_into_docs("scale", render(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
