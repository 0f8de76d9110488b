"""Expected refusals: data for the client, not errors."""

import re
from dataclasses import dataclass
from math import ceil
from typing import Any

from datastore.model.entity import Entity
from datastore.model.enums import Choice
from datastore.model.keys import Key
from resolvers.core.error_codes import ErrorCode


class ProblemCode(Choice):
    """Kind of problem."""

    INVALID = ErrorCode.INVALID.choice
    TAKEN = ErrorCode.TAKEN.choice
    NOT_FOUND = ErrorCode.NOT_FOUND.choice
    UNAUTHENTICATED = ErrorCode.UNAUTHENTICATED.choice
    TOKEN_EXPIRED = ErrorCode.TOKEN_EXPIRED.choice
    FORBIDDEN = ErrorCode.FORBIDDEN.choice
    CONFLICT = ErrorCode.CONFLICT.choice
    WARNING = ErrorCode.WARNING.choice
    RATE_LIMITED = ErrorCode.RATE_LIMITED.choice
    UNAVAILABLE = ErrorCode.UNAVAILABLE.choice
    IDEMPOTENCY_KEY_REUSED = ErrorCode.IDEMPOTENCY_KEY_REUSED.choice


INPUT = "input"
"""A problem of the input as a whole."""

At = str | Key[Any] | None


@dataclass(frozen=True)
class Problem:
    """Why a command was refused.

    `at` is what is wrong: the name of one of the command's parameters, a key that was passed as one of its arguments,
    or INPUT. The command makes the `path` of it that the client sees.
    """

    code: ProblemCode
    message: str
    path: tuple[str, ...] = ()
    current_version: int | None = None
    at: At = None
    retry_after: int | None = None


class Refused(Exception):
    """Raised by a command that refuses; its payload lists the problems."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__("; ".join(problem.message for problem in problems))
        self.problems = problems


def refused(code: ProblemCode, message: str, *, at: At = None) -> Refused:
    return Refused(Problem(code, message, at=at))


def too_many(message: str, seconds: float, *, at: At = None) -> Refused:
    """Over a rate limit; `seconds` is the time until the next attempt may succeed."""
    wait = max(1, ceil(seconds))
    told = f"{message}; try again in {wait} seconds"
    return Refused(Problem(ProblemCode.RATE_LIMITED, told, at=at, retry_after=wait))


def not_found(key: Key[Any]) -> Refused:
    """There is no record at this key, or none the viewer may see."""
    return refused(ProblemCode.NOT_FOUND, f"there is no such {noun_of(key.entity)}", at=key)


def noun_of(entity: type[Entity]) -> str:
    """Returns the name of an entity in plain English: `page comment` for PageComment."""
    return re.sub("(?<=[a-z])(?=[A-Z])", " ", entity.__name__).lower()


def outdated(current_version: int) -> Refused:
    """The command's `expected_version` is stale."""
    message = f"the current version is {current_version}; read it again"
    return Refused(Problem(ProblemCode.CONFLICT, message, current_version=current_version, at="expected_version"))
