"""Keeps the main figures of each commit in results.json, and prints them, so that a regression is seen."""

import argparse
import sys
from typing import Any

from benchmarks import results

PART = "history"
# Ratios vary by this much between runs on a quiet machine.
NOISE = 1.15

Entry = dict[str, Any]


def remember(figures: dict[str, dict[str, float]]) -> None:
    """Adds figures to the entry of the current commit: ratios and instructions, by benchmark and name."""
    measured = results.measured()
    # Results that were just written are a change, too.
    commit = str(measured["commit"]).removesuffix("-dirty")
    entries = results.kept_list(PART)
    if not entries or entries[-1]["commit"] != commit:
        entries.append({"commit": commit, "figures": {}})
    entry = entries[-1]
    entry |= {"date": measured["date"], "code": measured["code"], "figures": {**entry["figures"], **figures}}
    results.keep_list(PART, entries)


def render(entries: list[Entry]) -> str:
    """Returns a table with a column for each entry, the oldest first; marks what has become worse."""
    names = list(dict.fromkeys(name for entry in entries for name in _flat(entry)))
    head = ["", *(f"{entry['date']} {entry['commit']}" for entry in entries)]
    lines = [head, ["---", *("---:" for _ in entries)]]
    for name in names:
        before: float | None = None
        line = [name]
        for entry in entries:
            value = _flat(entry).get(name)
            line.append("–" if value is None else f"{_number(value)}{' ▲' if _is_worse(before, value) else ''}")
            before = value if value is not None else before
        lines.append(line)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _flat(entry: Entry) -> dict[str, float]:
    return {
        f"{benchmark}: {name}": value
        for benchmark, figures in entry["figures"].items()
        for name, value in figures.items()
    }


def _is_worse(before: float | None, now: float) -> bool:
    return before is not None and now > before * NOISE


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.history", description=__doc__)
    parser.add_argument("--last", type=int, default=5, help="number of commits (5)")
    arguments = parser.parse_args()
    entries = results.kept_list(PART)[-arguments.last :]
    print(render(entries) if entries else "No benchmark has been run with --write yet.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
