"""Targets of the comparison, as ratios, and whether they are met."""

from typing import Any

from benchmarks.peers.servers import SERVERS

OURS, PLAIN, GO = "heartwood", "strawberry", "gqlgen"
PAGES = ("post_page", "feed", "profile", "people")
SINGLES = ("person", "like")
QUERIES = (*PAGES, *SINGLES)
# Heartwood must need at most as much CPU as the Go server for this many of the queries.
AHEAD_OF_GO = 4

Figures = dict[str, Any]


def targets(timing: Figures, calls: Figures) -> list[Figures]:
    """Returns the ratio and the target by query and column of the table."""
    node = [name for name in timing if SERVERS[name].is_node]
    return [
        *_against("64 ÷ Node", timing, "64", node, dict.fromkeys(PAGES, 1 / 6)),
        *_against("8 ÷ Node", timing, "8", node, dict.fromkeys(PAGES, 1 / 4) | dict.fromkeys(SINGLES, 0.4)),
        *_against("8 ÷ Strawberry", timing, "8", [PLAIN], dict.fromkeys(QUERIES, 1 / 12)),
        *_against("8 ÷ Go", timing, "8", [GO], dict.fromkeys(QUERIES, 1.0)),
        *_against("64 ÷ Go", timing, "64", [GO], dict.fromkeys(QUERIES, 1.0)),
        *_load(timing),
        *_calls(calls),
    ]


def ahead_of_go(found: list[Figures], column: str) -> int:
    return sum(target["met"] for target in found if target["column"] == column)


def _against(column: str, timing: Figures, scenario: str, rivals: list[str], wanted: dict[str, float]) -> list[Figures]:
    """Returns Heartwood's CPU divided by that of the best rival."""
    found = []
    for query, target in wanted.items():
        ours = _cpu(timing, OURS, scenario, query)
        theirs = {name: cpu for name in rivals if (cpu := _cpu(timing, name, scenario, query))}
        if ours and theirs:
            best = min(theirs, key=lambda name: theirs[name])
            found.append(_target(column, query, best, ours / theirs[best], target))
    return found


def _load(timing: Figures) -> list[Figures]:
    """Returns Heartwood's CPU at 64 requests at a time divided by that at one."""
    found = []
    for query in QUERIES:
        many, one = _cpu(timing, OURS, "64", query), _cpu(timing, OURS, "1", query)
        if many and one:
            found.append(_target("64 ÷ 1", query, OURS, many / one, 1.0))
    return found


def _calls(calls: Figures) -> list[Figures]:
    """Returns Heartwood's calls divided by the fewest of a peer, for one request alone."""
    if OURS not in calls or len(calls) < 2:
        return []
    found = []
    for query, ours in calls[OURS].items():
        totals = {name: sum(by_query[query].values()) for name, by_query in calls.items() if name != OURS}
        best = min(totals, key=lambda name: totals[name])
        found.append(_target("calls", query, best, sum(ours.values()) / totals[best], 1.0))
    return found


def _cpu(timing: Figures, server: str, scenario: str, query: str) -> float | None:
    found = timing.get(server, {}).get("scenarios", {}).get(scenario, {}).get(query)
    return float(found["cpu_ms"]) if found else None


def _target(column: str, query: str, against: str, ratio: float, target: float) -> Figures:
    ratio, target = round(ratio, 3), round(target, 3)
    found = {"column": column, "query": query, "against": against, "ratio": ratio, "target": target}
    return {**found, "met": ratio <= target}
