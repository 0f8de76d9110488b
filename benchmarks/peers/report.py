"""Renders the results and targets as Markdown."""

from dataclasses import asdict
from typing import Any

from benchmarks.peers.asking import TITLES
from benchmarks.peers.servers import SERVERS
from benchmarks.peers.timing import Sizes

OURS, PLAIN = "heartwood", "strawberry"
# Targets: Heartwood's CPU per request divided by the best Node peer's and by plain Strawberry's, at most.
TARGETS = {
    "post_page": (1 / 4, 1 / 10),
    "feed": (1 / 4, 1 / 10),
    "profile": (1 / 4, 1 / 10),
    "people": (1 / 4, 1 / 10),
    "person": (1 / 2, 1 / 3),
    "like": (1 / 2, 1 / 3),
}
SHORT = {
    "GetItem": "Get",
    "BatchGetItem": "BatchGet",
    "TransactWriteItems": "TransactWrite",
}

Figures = dict[str, Any]


def figures(data: str, sizes: Sizes, calls: Figures, timing: Figures) -> Figures:
    return {
        "data": data,
        "sizes": asdict(sizes),
        "calls": calls,
        "timing": timing,
        "targets": [*_cpu_targets(timing), *_call_targets(calls)],
    }


def _cpu_targets(timing: Figures) -> list[Figures]:
    if OURS not in timing:
        return []
    found = []
    node = [name for name in timing if SERVERS[name].is_node]
    for query, ours in timing[OURS]["queries"].items():
        for rivals, target in zip((node, [PLAIN] if PLAIN in timing else []), TARGETS[query], strict=True):
            if rivals:
                best = min(rivals, key=lambda name: timing[name]["queries"][query]["cpu_ms"])
                theirs = timing[best]["queries"][query]["cpu_ms"]
                ratio = ours["cpu_ms"] / theirs
                found.append(_target("cpu", query, best, round(ratio, 3), target))
    return found


def _call_targets(calls: Figures) -> list[Figures]:
    """Target: no more calls than any peer."""
    if OURS not in calls or len(calls) < 2:
        return []
    found = []
    for query, ours in calls[OURS].items():
        totals = {name: sum(by_query[query].values()) for name, by_query in calls.items() if name != OURS}
        best = min(totals, key=lambda name: totals[name])
        found.append(_target("calls", query, best, round(sum(ours.values()) / totals[best], 3), 1.0))
    return found


def _target(what: str, query: str, against: str, ratio: float, target: float) -> Figures:
    return {
        "what": what,
        "query": query,
        "against": against,
        "ratio": ratio,
        "target": round(target, 3),
        "met": ratio <= target,
    }


def render(found: Figures) -> str:
    timing, calls = found["timing"], found["calls"]
    names, queries = list(timing), list(next(iter(timing.values()))["queries"])
    titles = [SERVERS[name].title for name in names]

    def cell(name: str, query: str, *keys: str) -> str:
        return " / ".join(_number(timing[name]["queries"][query][key]) for key in keys)

    def by_query(*keys: str) -> str:
        return _table(["", *titles], [[TITLES[q], *(cell(name, q, *keys) for name in names)] for q in queries])

    def memory(name: str) -> float:
        return float(max(figures["resident_mb"] for figures in timing[name]["queries"].values()))

    sizes = found["sizes"]
    parts = [
        f"Data: {found['data']}; {sizes['concurrency']} concurrent requests; medians of {sizes['rounds']} rounds.",
        "**CPU of the server, ms per request**",
        by_query("cpu_ms"),
        "**Targets**",
        _targets(found["targets"], queries),
        "**DynamoDB calls per request**",
        _table(["", *titles], [[TITLES[q], *(_calls(calls[name][q]) for name in names)] for q in queries]),
        "**Requests per second**",
        by_query("per_second"),
        "**Latency, ms: p50 / p99**",
        by_query("p50_ms", "p99_ms"),
        "**Start-up time to the first response, and memory at the end**",
        _table(
            ["", *titles],
            [
                ["start-up, ms", *(f"{timing[name]['startup_ms']:.0f}" for name in names)],
                ["memory, MB", *(f"{memory(name):.0f}" for name in names)],
            ],
        ),
    ]
    return "\n\n".join(parts)


def _targets(targets: list[Figures], queries: list[str]) -> str:
    rows = []
    for query in queries:
        by_rival = {_rival(target): target for target in targets if target["query"] == query}
        rows.append([TITLES[query], *(_verdict(by_rival.get(rival)) for rival in ("node", "plain", "calls"))])
    return _table(["", "CPU ÷ best Node server", "CPU ÷ Strawberry", "calls ÷ fewest of the peers"], rows)


def _rival(target: Figures) -> str:
    return "calls" if target["what"] == "calls" else "plain" if target["against"] == PLAIN else "node"


def _verdict(target: Figures | None) -> str:
    if target is None:
        return "–"
    ratio = f"{target['ratio']:.3f} (target {target['target']:.3g})"
    return f"{ratio}, met" if target["met"] else f"{ratio}, **not met**"


def _calls(calls: dict[str, int]) -> str:
    detail = ", ".join(f"{count} {SHORT.get(name, name)}" for name, count in sorted(calls.items()))
    return f"{sum(calls.values())} ({detail})"


def _number(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---", *("---:" for _ in head[1:])], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
