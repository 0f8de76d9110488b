"""The figures of a run as a table and as a chart."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import quantiles

GREEN, BLUE, GRAY = "#1b7f4b", "#486fa3", "#b8b2a7"
MS = 1000


@dataclass(frozen=True)
class Figure:
    """One measured figure, with its target if there is one."""

    title: str
    value: float
    unit: str
    at_most: float | None = None

    @property
    def target(self) -> str:
        if self.at_most is None:
            return ""
        verdict = "met" if self.value <= self.at_most else "**not met**"
        return f"{_number(self.at_most)} {self.unit}, {verdict}"

    def __str__(self) -> str:
        return f"{self.title}: {_number(self.value)} {self.unit}"


@dataclass
class Report:
    """Everything that a run has measured. Each figure is printed when it is added."""

    figures: list[Figure] = field(default_factory=list)
    lags: dict[str, list[float]] = field(default_factory=dict)
    cpu: dict[str, float] = field(default_factory=dict)

    def add(self, title: str, value: float, unit: str, at_most: float | None = None) -> None:
        figure = Figure(title, value, unit, at_most)
        self.figures.append(figure)
        print(f"  {figure}", flush=True)

    def add_lags(self, place: str, seconds: Sequence[float]) -> None:
        """Adds the times from a write to the client on a server."""
        self.lags[place] = [MS * each for each in sorted(seconds)]
        cuts = quantiles(self.lags[place], n=100)
        self.add(f"from a write to a client of {place}, p50", cuts[49], "ms", 150)
        self.add(f"from a write to a client of {place}, p99", cuts[98], "ms", 600)

    def add_cpu(self, title: str, share: float, at_most: float | None = None) -> None:
        self.cpu[title] = 100 * share
        self.add(f"CPU of {title}", 100 * share, "% of a core", at_most)

    @property
    def table(self) -> str:
        lines = ["| | measured | target |", "| --- | ---: | ---: |"]
        lines += [f"| {each.title} | {_number(each.value)} {each.unit} | {each.target} |" for each in self.figures]
        return "\n".join(lines)

    def plot(self, path: Path) -> None:
        """Draws how soon answers come, and the CPU of what was followed."""
        import matplotlib as mpl

        mpl.use("svg")
        from matplotlib import pyplot as plt

        style = {"svg.fonttype": "none", "svg.hashsalt": "heartwood", "font.family": "sans-serif", "font.size": 9}
        with plt.rc_context(style):
            figure, (above, below) = plt.subplots(2, figsize=(9, 5.4), layout="constrained")
            for color, (place, lags) in zip((GREEN, BLUE), self.lags.items(), strict=False):
                shares = [100 * (number + 1) / len(lags) for number in range(len(lags))]
                above.step(lags, shares, where="post", label=place, color=color)
            above.set_xlabel("ms from the acknowledged write to the new answer at the client")
            above.set_ylabel("% of the writes")
            above.set_xlim(left=0)
            above.legend(frameon=False, loc="lower right")
            titles = [*reversed(self.cpu)]
            colors = [GRAY if "polling" in title else GREEN for title in titles]
            bars = below.barh(titles, [self.cpu[title] for title in titles], color=colors)
            below.bar_label(bars, [f"{self.cpu[title]:.0f} %" for title in titles], padding=3)
            below.set_xlabel("CPU of the server, % of a core")
            for axes in (above, below):
                axes.spines[["top", "right"]].set_visible(False)
            figure.savefig(path, metadata={"Date": None})
            plt.close(figure)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.1f}"
