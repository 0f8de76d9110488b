"""Renders the figures of a run as Markdown and as a chart."""

from dataclasses import dataclass
from pathlib import Path

from benchmarks.chaos.scenarios import Budget, Figures, Scenario

BEFORE, NOW = "#b8b2a7", "#2f6f4f"


@dataclass(frozen=True)
class Outcome:
    """The figures of one scenario, and those of the earlier code if it was run."""

    scenario: Scenario
    now: Figures
    before: Figures | None

    @property
    def broken(self) -> list[str]:
        """The figures that are over their budget."""
        return [name for name, budget in self.scenario.budgets.items() if not budget.allows(self.now[name])]


def render(outcomes: list[Outcome]) -> str:
    return "\n\n".join(map(_section, outcomes))


def _section(outcome: Outcome) -> str:
    head = ["figure", *(["before"] if outcome.before else []), "now", "budget"]
    lines = [f"| {' | '.join(head)} |", f"| --- |{' ---: |' * (len(head) - 1)}"]
    for name, figure in outcome.now.items():
        cells = [name.replace("_", " ").removesuffix(" ms") + (", ms" if name.endswith("_ms") else "")]
        if outcome.before:
            cells.append(_number(outcome.before[name]))
        budget = outcome.scenario.budgets.get(name)
        verdict = "" if budget is None else f"{budget}, {'met' if budget.allows(figure) else '**not met**'}"
        lines.append(f"| {' | '.join([*cells, _number(figure), verdict])} |")
    return f"**{outcome.scenario.title}** (`{outcome.scenario.name}`)\n\n" + "\n".join(lines)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.2f}"


def plot(outcomes: list[Outcome], path: Path) -> None:
    """Draws each figure with a budget as a multiple of that budget: left of the line is within it."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "heartwood"
    from matplotlib import pyplot as plt

    rows = [
        (f"{outcome.scenario.name.replace('_', ' ')}: {name.replace('_', ' ')}", outcome, name, budget)
        for outcome in outcomes
        for name, budget in outcome.scenario.budgets.items()
        if budget.at_most or budget.at_least
    ]
    with mpl.rc_context({"font.size": 9, "svg.fonttype": "none"}):
        figure, axes = plt.subplots(figsize=(9, 0.34 * len(rows) + 1), layout="constrained")
        for place, (_, outcome, name, budget) in enumerate(reversed(rows)):
            if outcome.before:
                axes.barh(place + 0.2, _share(budget, outcome.before[name]), 0.36, color=BEFORE)
            axes.barh(place - 0.2, _share(budget, outcome.now[name]), 0.36, color=NOW)
        axes.axvline(1, color="#a33", linewidth=1)
        axes.set_xscale("log")
        axes.set_yticks(range(len(rows)), [row[0] for row in reversed(rows)])
        axes.set_xlabel("share of the budget (log): gray before, green now, the line is the budget")
        axes.spines[["top", "right"]].set_visible(False)
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)


def _share(budget: Budget, figure: float) -> float:
    share = figure / budget.at_most if budget.at_most else (budget.at_least or 1) / max(figure, 0.001)
    return min(max(share, 0.01), 1_000)
