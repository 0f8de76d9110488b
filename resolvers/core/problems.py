"""Expected refusals: data for the client, not accidents."""

from dataclasses import dataclass

from datastore.model.enums import Choice


class ProblemCode(Choice):
    """What kind of refusal it is."""

    INVALID = "INVALID", "Something in the input is not as it must be."
    TAKEN = "TAKEN", "Somebody else has it."
    NOT_FOUND = "NOT_FOUND", "There is no such thing, or none you may see."
    UNAUTHENTICATED = "UNAUTHENTICATED", "It takes a bearer token."
    FORBIDDEN = "FORBIDDEN", "You may see it, but not do this to it."
    CONFLICT = "CONFLICT", "It changed in the meantime; read it again."
    WARNING = "WARNING", "It looks wrong; it can be done anyway, as the message says."
    TOO_MANY_ATTEMPTS = "TOO_MANY_ATTEMPTS", "Too often in too short a time; wait."
    UNAVAILABLE = "UNAVAILABLE", "Nothing is wrong with the input, but something else does not work; try again later."


@dataclass(frozen=True)
class Problem:
    """Why a command did nothing."""

    code: ProblemCode
    message: str
    path: tuple[str, ...] = ()
    current_version: int | None = None


class Refused(Exception):
    """Raised by a command that will not do what was asked; its payload lists the problems."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__("; ".join(problem.message for problem in problems))
        self.problems = problems


def refused(code: ProblemCode, message: str, *path: str) -> Refused:
    return Refused(Problem(code, message, path))


def outdated(current_version: int) -> Refused:
    """Somebody else changed it first."""
    message = f"it is at version {current_version} by now; read it again"
    return Refused(Problem(ProblemCode.CONFLICT, message, ("input", "expectedVersion"), current_version))
