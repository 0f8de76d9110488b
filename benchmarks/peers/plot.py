"""Plots CPU per request, by query and server."""

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")
import matplotlib.pyplot as plt

from benchmarks.peers.asking import TITLES
from benchmarks.peers.servers import SERVERS

COLORS = {
    "heartwood": "#1b7f4b",
    "apollo": "#9db4d3",
    "yoga": "#7393bf",
    "mercurius": "#486fa3",
    "strawberry": "#c9a27c",
}
# Keeps text as text, and makes the output reproducible.
STYLE = {"svg.fonttype": "none", "svg.hashsalt": "heartwood", "font.family": "sans-serif", "font.size": 10}


def plot(found: dict[str, Any], path: Path) -> None:
    timing = found["timing"]
    queries = list(next(iter(timing.values()))["queries"])
    width = 0.84 / len(timing)
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(10, 4.6), layout="constrained")
        for place, name in enumerate(timing):
            heights = [timing[name]["queries"][query]["cpu_ms"] for query in queries]
            at = [number + (place - (len(timing) - 1) / 2) * width for number in range(len(queries))]
            bars = axes.bar(at, heights, width * 0.94, label=SERVERS[name].title, color=COLORS[name])
            axes.bar_label(bars, [_label(height) for height in heights], padding=2, fontsize=7, color="#444444")
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.set_ylabel("CPU of the server, ms per request (log)")
        axes.set_xticks(range(len(queries)), [TITLES[query] for query in queries])
        axes.tick_params(axis="x", length=0)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color="#e4e4e4", linewidth=0.8)
        axes.set_axisbelow(True)
        figure.legend(loc="outside upper center", ncols=len(timing), frameon=False)
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)


def _label(value: float) -> str:
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"
