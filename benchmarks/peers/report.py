"""Renders the results and targets as Markdown."""

from dataclasses import asdict
from typing import Any

from benchmarks.peers.asking import TITLES
from benchmarks.peers.popularity import EXPONENT
from benchmarks.peers.scenarios import SCENARIOS
from benchmarks.peers.servers import SERVERS
from benchmarks.peers.targets import AHEAD_OF_GO, OURS, ahead_of_go, targets
from benchmarks.peers.timing import Sizes

COLUMNS = {
    "64 ÷ Node": "at 64 ÷ best Node server",
    "8 ÷ Node": "at 8 ÷ best Node server",
    "8 ÷ Strawberry": "at 8 ÷ Strawberry",
    "8 ÷ Go": "at 8 ÷ Go",
    "64 ÷ Go": "at 64 ÷ Go",
    "64 ÷ 1": "at 64 ÷ at 1",
    "calls": "calls ÷ fewest of the peers",
}
LATENCIES = ("8", "64")
SHORT = {
    "GetItem": "Get",
    "BatchGetItem": "BatchGet",
    "TransactWriteItems": "TransactWrite",
}

Figures = dict[str, Any]


def figures(
    data: str, sizes: Sizes, calls: Figures, calls_under_load: Figures, timing: Figures, instructions: Figures
) -> Figures:
    return {
        "data": data,
        "sizes": {**asdict(sizes), "zipf_exponent": EXPONENT},
        "calls": calls,
        "calls_under_load": calls_under_load,
        "timing": timing,
        "instructions": instructions,
        "targets": targets(timing, calls),
    }


def main_figures(found: Figures) -> dict[str, dict[str, float]]:
    """Returns the ratios of the targets and the instructions per request, for the history."""
    ratios: dict[str, dict[str, float]] = {}
    for target in found["targets"]:
        ratios.setdefault(f"peers, {target['column']}", {})[target["query"]] = target["ratio"]
    for scenario, by_query in found["instructions"].get("by_server", {}).get(OURS, {}).items():
        ratios[f"instructions at {scenario}"] = by_query
    return ratios


def render(found: Figures) -> str:
    timing, calls, sizes = found["timing"], found["calls"], found["sizes"]
    names = list(timing)
    titles = [SERVERS[name].title for name in names]

    def by_query(scenario: str, *keys: str) -> str:
        rows = [
            [TITLES[query], *(_cell(timing[name]["scenarios"][scenario].get(query), keys) for name in names)]
            for query in timing[names[0]]["scenarios"][scenario]
        ]
        return _table(["", *titles], rows)

    scenarios = list(timing[names[0]]["scenarios"])
    parts = [
        f"Data: {found['data']}; medians of {_rounds(sizes['rounds'])} of {sizes['seconds']:g} s for each cell.",
    ]
    for scenario in scenarios:
        parts += [f"**CPU of the server, ms per request, {SCENARIOS[scenario].title}**", by_query(scenario, "cpu_ms")]
    parts += [
        "**Targets, as ratios of CPU per request**",
        _targets(found["targets"]),
        *_go(found["targets"]),
        "**DynamoDB calls of one request alone**",
        _table(["", *titles], [[TITLES[q], *(_calls(calls[name][q]) for name in names)] for q in calls[names[0]]]),
    ]
    if found["calls_under_load"]:
        parts += ["**DynamoDB calls per request under load**", _by_server_and_scenario(found["calls_under_load"])]
    for scenario in (name for name in scenarios if name in LATENCIES):
        title = SCENARIOS[scenario].title
        parts += [f"**Requests per second, {title}**", by_query(scenario, "per_second")]
        parts += [f"**Latency, ms: p50 / p99, {title}**", by_query(scenario, "p50_ms", "p99_ms")]
    parts += _refused(timing)
    if found["instructions"]:
        title = f"**Instructions per request, millions, in user space (`{found['instructions']['tool']}`)**"
        parts += [title, _by_server_and_scenario(found["instructions"]["by_server"])]
    parts += [
        "**Start-up time to the first response, and memory at the end**",
        _table(
            ["", *titles],
            [
                ["start-up, ms", *(f"{timing[name]['startup_ms']:.0f}" for name in names)],
                ["memory, MB", *(f"{timing[name]['resident_mb']:.0f}" for name in names)],
            ],
        ),
    ]
    return "\n\n".join(parts)


def _rounds(count: int) -> str:
    return f"{count} rounds" if count > 1 else "one round"


def _cell(figures: Figures | None, keys: tuple[str, ...]) -> str:
    return " / ".join(_number(figures[key]) for key in keys) if figures else "–"


def _targets(found: list[Figures]) -> str:
    columns = [column for column in COLUMNS if any(target["column"] == column for target in found)]
    by_place = {(target["query"], target["column"]): target for target in found}
    rows = [
        [title, *(_verdict(by_place.get((query, column))) for column in columns)]
        for query, title in TITLES.items()
        if any(target["query"] == query for target in found)
    ]
    return _table(["", *(COLUMNS[column] for column in columns)], rows)


def _verdict(target: Figures | None) -> str:
    if target is None:
        return "–"
    ratio, most = target["ratio"], target["target"]
    if target["met"]:
        return f"{ratio:.3g} ≤ {most:.3g}"
    return f"**{ratio:.3g}** > {most:.3g}, by {(ratio / most - 1) * 100:.0f} %"


def _go(found: list[Figures]) -> list[str]:
    """Says for how many queries Heartwood needs at most as much CPU as the Go server."""
    told = []
    for column, at in (("8 ÷ Go", 8), ("64 ÷ Go", 64)):
        count = ahead_of_go(found, column)
        if any(target["column"] == column for target in found):
            verdict = "met" if count >= AHEAD_OF_GO else "**not met**"
            told.append(f"{count} queries at {at} at a time (target {AHEAD_OF_GO}), {verdict}")
    return [f"Queries for which Heartwood needs at most as much CPU as Go: {'; '.join(told)}."] if told else []


def _calls(calls: dict[str, int]) -> str:
    detail = ", ".join(f"{count} {SHORT.get(name, name)}" for name, count in sorted(calls.items()))
    return f"{sum(calls.values())} ({detail})"


def _by_server_and_scenario(found: Figures) -> str:
    names = [(server, scenario) for server, by_scenario in found.items() for scenario in by_scenario]
    head = ["", *(f"{SERVERS[server].title}, {SCENARIOS[scenario].title}" for server, scenario in names)]
    queries = next(iter(found[names[0][0]].values()))
    rows = [[TITLES[q], *(f"{found[server][scenario][q]:.2f}" for server, scenario in names)] for q in queries]
    return _table(head, rows)


def _refused(timing: Figures) -> list[str]:
    """Says how many requests Heartwood refused as overloaded."""
    shares = {
        scenario: max((cell["refused"] for cell in by_query.values()), default=0)
        for scenario, by_query in timing.get(OURS, {}).get("scenarios", {}).items()
    }
    told = [f"{share:.2f} at {scenario} at a time" for scenario, share in shares.items() if share]
    return [f"Requests that Heartwood refused as overloaded, per answered one, at most: {', '.join(told)}."] * bool(
        told
    )


def _number(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---", *("---:" for _ in head[1:])], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
