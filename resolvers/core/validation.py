"""Validation that takes several arguments, records or settings: collects problems, reports all of them at once.

What concerns one argument alone is a constraint in its annotation (`resolvers.core.constraints`).
"""

from collections.abc import Sequence
from typing import Any, TypeVar

from datastore.model.codec import JSON
from resolvers.core.constraints import (
    MAX_URL,
    Constraint,
    Each,
    Email,
    HostName,
    HttpsUrl,
    JsonList,
    JsonObject,
    Name,
    Number,
    Text,
)
from resolvers.core.problems import Problem, ProblemCode, Refused

__all__ = ["MAX_URL", "Checks"]

T = TypeVar("T")


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

    # What follows is for commands whose constraints are not in their annotations yet.

    def email(self, path: str, value: str) -> str:
        return str(self.satisfies(path, value, Email()))

    def text(self, path: str, value: str | None, *, at_most: int) -> str | None:
        text: str | None = self.satisfies(path, value or "", Text(at_most))
        return text

    def required_text(self, path: str, value: str, *, at_most: int) -> str:
        text = self.text(path, value, at_most=at_most)
        if text is None:
            self.problem(path, "this needs at least one character")
        return text or ""

    def texts(self, path: str, values: Sequence[str] | None, *, at_most: int, each_at_most: int) -> list[str]:
        texts: list[str] = self.satisfies(path, values or (), Each(Text(each_at_most), at_most=at_most))
        return texts

    def number(self, path: str, value: int | None, *, at_most: int) -> int | None:
        return value if value is None else int(self.satisfies(path, value, Number(at_most)))

    def given(self, path: str, value: T | None) -> T | None:
        if value is None:
            self.problem(path, "this cannot be null; leave it out to keep it as it is")
        return value

    def name(self, path: str, value: str) -> str:
        return str(self.satisfies(path, value, Name()))

    def host_name(self, path: str, value: str) -> str:
        return str(self.satisfies(path, value, HostName()))

    def json_object(self, path: str, value: Any, *, at_most: int) -> JSON:
        return JSON(self.satisfies(path, value, JsonObject(at_most)))

    def json_list(self, path: str, value: Any, *, at_most: int) -> JSON:
        return JSON(self.satisfies(path, value, JsonList(at_most)))

    def https_url(self, path: str, value: str) -> str:
        return str(self.satisfies(path, value, HttpsUrl()))
