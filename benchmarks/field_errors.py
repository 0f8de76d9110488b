"""Measures the CPU of queries over thousands of records in which a field fails, without a database.

40 posts with 50 comments each, by 1,000 people. Each case runs as a plan and on graphql-core, in alternating rounds.
"""

import argparse
import asyncio
import sys
from collections.abc import Callable
from statistics import median
from typing import Any

from benchmarks.execution import MemoryTable, Ours, Society, measure
from datastore.accounts import User
from datastore.client.errors import CorruptItem
from schema.http import garbage_collection

QUERY = """{{ feed(first: 40) {{ nodes {{ id caption
    comments(first: 50) {{ nodes {{ id content createdAt author {{ id username {author} }} }} }} }} }} {root} }}"""
WRONG = 'posts(first: 1, after: "x") { totalCount }'
CASES = {
    "no error": QUERY.format(author="", root=""),
    "one wrong ID at the root": QUERY.format(author="", root='user(by: {id: "x"}) { id }'),
    "one damaged author": QUERY.format(author="displayName", root=""),
    "a wrong cursor in each of 2,000 authors": QUERY.format(author=WRONG, root=""),
}


def damaged(society: Society) -> MemoryTable:
    """Returns a table with damage in place of one author."""
    table = MemoryTable(society)
    (first, *_), *_ = society.comments.values()
    table.items[User.key(user_id=first.user_id)] = CorruptItem("damaged")
    return table


def compare(rounds: int) -> dict[str, dict[str, float]]:
    """Returns milliseconds of CPU per case, of plans and of graphql-core: medians of alternating rounds."""
    society = Society(posts=40, comments=50, people=1_000)
    found: dict[str, dict[str, float]] = {}
    with asyncio.Runner() as runner:
        for case, query in CASES.items():
            table = damaged(society) if "damaged" in case else MemoryTable(society)
            executors: dict[str, Callable[[], Any]] = {
                "plan": Ours(table, compiled=True, query=query).run,
                "graphql-core": Ours(table, compiled=False, query=query).run,
            }
            answers = {name: measure(runner, run, 1)[1] for name, run in executors.items()}
            if answers["plan"].get("data") != answers["graphql-core"].get("data"):
                raise AssertionError(f"{case}: the responses differ")
            garbage_collection.settle()
            times: dict[str, list[float]] = {name: [] for name in executors}
            for _ in range(rounds):
                for name, run in executors.items():
                    times[name].append(measure(runner, run, 1)[0])
            found[case] = {name: median(each) for name, each in times.items()}
    return found


def render(found: dict[str, dict[str, float]]) -> str:
    lines = ["| | plan, ms | graphql-core, ms | ratio |", "|---|---:|---:|---:|"]
    for case, times in found.items():
        plan, core = times["plan"], times["graphql-core"]
        lines.append(f"| {case} | {plan:.0f} | {core:.0f} | {core / plan:.1f} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.field_errors", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="alternating rounds of each (5)")
    print(render(compare(parser.parse_args().rounds)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
