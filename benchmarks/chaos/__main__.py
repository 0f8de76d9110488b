"""Runs a real server through faults, attacks and overload, and checks the budgets. Exits with 1 if one is not met."""

import argparse
import asyncio
import sys
from pathlib import Path

from benchmarks import results
from benchmarks.chaos import database_faults, hostile_clients, lost_responses, overload, process_faults
from benchmarks.chaos.report import Outcome, plot, render
from benchmarks.chaos.scenarios import SCENARIOS, Figures, Scale
from benchmarks.chaos.scene import ROOT
from datastore.local import engine

MODULES = (lost_responses, database_faults, hostile_clients, process_faults, overload)
"""Importing them declares the scenarios."""


def run(name: str, folder: Path, scale: Scale, label: str) -> Figures:
    figures = asyncio.run(SCENARIOS[name].run(folder.resolve(), scale))
    print(f"{name}, {label}: " + ", ".join(f"{key} {value:g}" for key, value in figures.items()), flush=True)
    return figures


def write(outcomes: list[Outcome]) -> None:
    """Stores the figures, and keeps those of scenarios that were not run now."""
    stored = results.kept("chaos")
    stored |= {each.scenario.name: {"now": each.now, "before": each.before} for each in outcomes}
    results.keep("chaos", stored)
    known = [Outcome(each, **stored[each.name]) for each in SCENARIOS.values() if each.name in stored]
    results.put_into_docs("chaos", render(known), results.DOCS / "reliability.md")
    plot(known, results.DOCS / "reliability.svg")


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.chaos", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=SCENARIOS, default=list(SCENARIOS), metavar="NAME", help="(all)")
    parser.add_argument("--quick", action="store_true", help="fewer requests and shorter durations")
    parser.add_argument("--against", type=Path, help="another checkout: runs the same scenarios on its server first")
    parser.add_argument("--write", action="store_true", help="update results.json, docs/reliability.md and its chart")
    arguments = parser.parse_args()
    scale, outcomes = Scale(full=not arguments.quick), []
    try:
        for name in arguments.only:
            before = run(name, arguments.against, scale, "before") if arguments.against else None
            outcomes.append(Outcome(SCENARIOS[name], run(name, ROOT, scale, "now"), before))
    except engine.EngineFailed as error:
        print(error, file=sys.stderr)
        return 1
    print(render(outcomes))
    if arguments.write:
        write(outcomes)
    broken = [f"{each.scenario.name}: {name}" for each in outcomes for name in each.broken]
    print("\n".join(["Budgets not met:", *broken]) if broken else "All budgets are met.")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
