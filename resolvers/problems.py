"""Expected refusals: data for the client, not accidents."""

from dataclasses import dataclass
from enum import Enum


class ProblemCode(Enum):
    """What kind of refusal it is."""

    INVALID = "INVALID"
    TAKEN = "TAKEN"
    NOT_FOUND = "NOT_FOUND"
    UNAUTHENTICATED = "UNAUTHENTICATED"
    FORBIDDEN = "FORBIDDEN"
    CONFLICT = "CONFLICT"
    TOO_MANY_ATTEMPTS = "TOO_MANY_ATTEMPTS"


@dataclass(frozen=True)
class Problem:
    """Why a command did nothing."""

    code: ProblemCode
    message: str
    path: tuple[str, ...] = ()


class Refused(Exception):
    """Raised by a command that will not do what was asked; its payload lists the problems."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__("; ".join(problem.message for problem in problems))
        self.problems = problems


def refused(code: ProblemCode, message: str, *path: str) -> Refused:
    return Refused(Problem(code, message, path))
