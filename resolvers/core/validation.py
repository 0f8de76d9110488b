"""Validation that takes several arguments, records or settings: collects problems, reports all of them at once.

What concerns one argument alone is a constraint in its annotation (`resolvers.core.constraints`).
"""

from typing import Any

from resolvers.core.constraints import Constraint
from resolvers.core.problems import Problem, ProblemCode, Refused


class Checks:
    """Collects problems; `done()` raises them together."""

    def __init__(self) -> None:
        self._problems: list[Problem] = []

    def problem(self, at: str, message: str) -> None:
        """`at` is the name of a parameter of the command."""
        self._problems.append(Problem(ProblemCode.INVALID, message, at=at))

    @property
    def found(self) -> bool:
        return bool(self._problems)

    def done(self) -> None:
        if self._problems:
            raise Refused(*self._problems)

    def satisfies(self, at: str, value: Any, constraint: Constraint) -> Any:
        """The normalized value of an argument whose constraint depends on something else."""
        return constraint.check(value, lambda message: self.problem(at, message))
