"""Plots CPU per request, by query and server, at two levels of concurrency."""

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")
import matplotlib.pyplot as plt

from benchmarks.peers.asking import TITLES
from benchmarks.peers.scenarios import SCENARIOS
from benchmarks.peers.servers import SERVERS

COLORS = {
    "heartwood": "#1b7f4b",
    "apollo": "#9db4d3",
    "yoga": "#7393bf",
    "mercurius": "#486fa3",
    "gqlgen": "#3fb0b5",
    "async-graphql": "#c46a4a",
    "strawberry": "#c9a27c",
}
PANELS = ("8", "64")
# Keeps text as text, and makes the output reproducible.
STYLE = {"svg.fonttype": "none", "svg.hashsalt": "heartwood", "font.family": "sans-serif", "font.size": 10}


def plot(found: dict[str, Any], path: Path) -> None:
    timing = found["timing"]
    shown = [name for name in PANELS if all(name in server["scenarios"] for server in timing.values())]
    with plt.rc_context(STYLE):
        figure, panels = plt.subplots(len(shown), figsize=(10, 3.6 * len(shown)), layout="constrained", squeeze=False)
        for (axes,), scenario in zip(panels, shown, strict=True):
            _panel(axes, {name: server["scenarios"][scenario] for name, server in timing.items()})
            axes.set_title(SCENARIOS[scenario].title, fontsize=10)
        handles, labels = panels[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False)
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)


def _panel(axes: Any, by_server: dict[str, Any]) -> None:
    queries = list(next(iter(by_server.values())))
    width = 0.84 / len(by_server)
    for place, (name, by_query) in enumerate(by_server.items()):
        heights = [by_query[query]["cpu_ms"] for query in queries]
        at = [number + (place - (len(by_server) - 1) / 2) * width for number in range(len(queries))]
        bars = axes.bar(at, heights, width * 0.94, label=SERVERS[name].title, color=COLORS[name])
        axes.bar_label(bars, [_label(height) for height in heights], padding=2, fontsize=6.5, color="#444444")
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_ylabel("CPU, ms per request (log)")
    axes.set_xticks(range(len(queries)), [TITLES[query] for query in queries])
    axes.tick_params(axis="x", length=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#e4e4e4", linewidth=0.8)
    axes.set_axisbelow(True)


def _label(value: float) -> str:
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"
