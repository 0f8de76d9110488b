"""Declaration of scenarios: a function that returns figures, and the budgets they must keep."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

Figures = dict[str, float]


class Budget(NamedTuple):
    """A limit of one figure."""

    at_most: float | None = None
    at_least: float | None = None

    def allows(self, figure: float) -> bool:
        return (self.at_most is None or figure <= self.at_most) and (self.at_least is None or figure >= self.at_least)

    def __str__(self) -> str:
        return f"≤ {self.at_most:g}" if self.at_most is not None else f"≥ {self.at_least:g}"


def at_most(limit: float) -> Budget:
    return Budget(at_most=limit)


def at_least(limit: float) -> Budget:
    return Budget(at_least=limit)


@dataclass(frozen=True)
class Scale:
    """Size of a run: `full` multiplies counts and durations."""

    full: bool

    def of(self, quick: int, full: int) -> int:
        return full if self.full else quick


Run = Callable[[Path, Scale], Awaitable[Figures]]


@dataclass(frozen=True)
class Scenario:
    name: str
    title: str
    budgets: dict[str, Budget]
    run: Run


SCENARIOS: dict[str, Scenario] = {}


def scenario(title: str, **budgets: Budget) -> Callable[[Run], Run]:
    """Declares a scenario. A figure without a budget is reported only."""

    def declare(run: Run) -> Run:
        name = run.__name__
        SCENARIOS[name] = Scenario(name, title, budgets, run)
        return run

    return declare
