"""Errors that clients may read; all others are masked."""

import logging
from enum import Enum
from traceback import walk_tb
from typing import Any
from uuid import uuid4

from graphql import GraphQLError
from graphql.execution.values import get_argument_values

from datastore.client.damage import report
from datastore.client.errors import CircuitOpen, CorruptItem, InvalidKey, Retryable, TooLarge, WritesPaused
from loaders.threads import Busy
from resolvers.core.error_codes import ErrorCode
from resolvers.core.problems import Problem, Refused
from resolvers.search.engine import SearchUnavailable
from schema.declare.wording import in_our_words

log = logging.getLogger("heartwood.errors")

BUSY = "The database is busy or out of reach; nothing is wrong with the request."
READ_ONLY = "The data is read-only for a moment, because operators move or restore it. Try again."
PAUSE_SECONDS = 5
INTERNAL = "Something went wrong on our side. Please report the id of this error."
TOO_LARGE = "the input is too large to be stored; send less"
DAMAGED = (
    "A stored record is damaged and cannot be returned. It was reported to the operators; nothing is wrong with the "
    "request, and trying again will not help."
)


class BadInput(GraphQLError):
    """The client can fix it: the message says how."""

    def __init__(self, message: str) -> None:
        super().__init__(message, extensions={"code": ErrorCode.INVALID})


class Outcome(Enum):
    """The effect of a mutation that ended with an error."""

    APPLIED = "Only the payload could not be read in full."
    NOT_APPLIED = "No change was made."
    UNKNOWN = "It is not known whether the change was applied."

    def advice(self, *, keyed: bool) -> str:
        """Says what to do. `keyed` is True if the request has an Idempotency-Key."""
        if self is Outcome.NOT_APPLIED:
            return "No change was made. Try again."
        known = "The change was applied" if self is Outcome.APPLIED else "The change may have been applied"
        if keyed:
            return f"{known}. Repeat the request with the same Idempotency-Key: that applies it only once."
        return f"{known}: check before you repeat it. Send an Idempotency-Key next time, then repeating is safe."


def masked(error: GraphQLError, outcome: Outcome | None = None, *, keyed: bool = False) -> dict[str, Any]:
    """Returns the error as the client sees it. Internal errors are logged, under an ID that the response has.

    `outcome` is that of the mutation the error ended; `keyed` is True if the request has an Idempotency-Key.
    """
    formatted = _masked(error)
    if outcome is None:
        return formatted
    extensions = formatted["extensions"] = {**formatted["extensions"], "outcome": outcome.name}
    if extensions["code"] == ErrorCode.UNAVAILABLE:
        why = formatted["message"].partition(" Try again")[0]
        formatted["message"] = f"{why} {outcome.advice(keyed=keyed)}"
        extensions["retryable"] = keyed or outcome is Outcome.NOT_APPLIED
    elif outcome is not Outcome.NOT_APPLIED:
        formatted["message"] = f"{formatted['message'].removesuffix('.')}. {outcome.advice(keyed=keyed)}"
    return formatted


def _masked(error: GraphQLError) -> dict[str, Any]:
    formatted: dict[str, Any] = dict(error.formatted)
    cause = error.original_error
    if _is_about_the_request(error):
        formatted["message"] = in_our_words(error.message)
        formatted.setdefault("extensions", {"code": ErrorCode.INVALID})
        return formatted
    if isinstance(cause, Retryable):
        formatted["message"] = str(cause) if isinstance(cause, Busy | SearchUnavailable) else f"{BUSY} Try again."
        formatted["extensions"] = {"code": ErrorCode.UNAVAILABLE, "retryable": True}
        if isinstance(cause, WritesPaused):
            formatted["message"] = READ_ONLY
            formatted["extensions"]["retryAfter"] = PAUSE_SECONDS
        # The breaker logs when it opens; its refusals may be thousands a second.
        level = logging.DEBUG if isinstance(cause, CircuitOpen | WritesPaused) else logging.WARNING
        log.log(level, "%s: %s", type(cause).__name__, cause)
    elif damage := _damage(error):
        report(damage)
        formatted["message"] = DAMAGED
        formatted["extensions"] = {"code": ErrorCode.DAMAGED}
    elif isinstance(cause, Refused):
        formatted["message"] = str(cause)
        formatted["extensions"] = _extensions(cause.problems[0])
    elif isinstance(cause, InvalidKey | TooLarge):
        formatted["message"] = cause.reason if isinstance(cause, InvalidKey) else TOO_LARGE
        formatted["extensions"] = {"code": ErrorCode.INVALID}
        log.info("%s at %s: %s", type(cause).__name__, error.path, cause)
    else:
        error_id = uuid4().hex
        formatted["message"] = INTERNAL
        formatted["extensions"] = {"code": ErrorCode.INTERNAL, "id": error_id}
        log.error("error %s at %s", error_id, error.path, exc_info=cause or error)
    return formatted


def _extensions(problem: Problem) -> dict[str, Any]:
    extensions: dict[str, Any] = {"code": ErrorCode[problem.code.name]}
    return extensions if problem.retry_after is None else {**extensions, "retryAfter": problem.retry_after}


def _damage(error: GraphQLError) -> CorruptItem | None:
    """Returns the damage that caused an error: of an item, or of a value that its GraphQL type does not allow."""
    cause = error.original_error
    if isinstance(cause, CorruptItem):
        return cause
    if isinstance(cause, GraphQLError):
        path = ".".join(part for part in error.path or () if isinstance(part, str))
        return CorruptItem(f"a value at {path} cannot be returned: {cause.message:.300}")
    return None


def _is_about_the_request(error: GraphQLError) -> bool:
    """False for errors of the server: what graphql-core says of a stored value that its type does not allow, too."""
    cause = error.original_error
    if error.path is None:
        # Found before any field was executed: in the variables or in the operation.
        return cause is None or isinstance(cause, GraphQLError)
    return isinstance(cause, BadInput) or (isinstance(cause, GraphQLError) and _comes_from_arguments(cause))


def _comes_from_arguments(error: GraphQLError) -> bool:
    """graphql-core raises the same class for arguments and for values; the module that raised it tells them apart."""
    modules = (frame.f_globals["__name__"] for frame, _ in walk_tb(error.__traceback__))
    return get_argument_values.__module__ in modules
