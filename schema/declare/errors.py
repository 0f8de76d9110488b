"""Errors that clients may read; all others are masked."""

import logging
from typing import Any
from uuid import uuid4

from graphql import GraphQLError

from datastore.client.errors import InvalidKey, Retryable, TooLarge
from resolvers.core.problems import Refused

log = logging.getLogger("heartwood.errors")


class BadInput(GraphQLError):
    """The client can fix it: the message says how."""

    def __init__(self, message: str) -> None:
        super().__init__(message, extensions={"code": "BAD_INPUT"})


def masked(error: GraphQLError) -> dict[str, Any]:
    """Returns the error as the client sees it. Internal errors are logged, under an ID that the response has."""
    formatted: dict[str, Any] = dict(error.formatted)
    cause = error.original_error
    # Raised on purpose, or found before any field was executed: meant for the client.
    if isinstance(cause, GraphQLError) or error.path is None:
        formatted.setdefault("extensions", {"code": "BAD_INPUT"})
        return formatted
    if isinstance(cause, Retryable):
        formatted["message"] = "The database is busy or out of reach; nothing is wrong with the request. Try again."
        formatted["extensions"] = {"code": "UNAVAILABLE", "retryable": True}
        log.warning("%s: %s", type(cause).__name__, cause)
    elif isinstance(cause, Refused):
        formatted["message"] = str(cause)
        formatted["extensions"] = {"code": cause.problems[0].code.value}
    elif isinstance(cause, InvalidKey | TooLarge):
        formatted["message"] = str(cause)
        formatted["extensions"] = {"code": "BAD_INPUT"}
    else:
        error_id = uuid4().hex
        formatted["message"] = "Something went wrong on our side. Please report the id of this error."
        formatted["extensions"] = {"code": "INTERNAL", "id": error_id}
        log.error("error %s at %s", error_id, error.path, exc_info=cause or error)
    return formatted
