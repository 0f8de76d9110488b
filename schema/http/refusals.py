"""The answers to requests that end before they are executed, or before they are finished. All routes share them."""

from typing import Any

from graphql import GraphQLError

from datastore.client.errors import DatastoreError
from resolvers.accounts.tokens import BadToken, KeysUnavailable
from resolvers.core.allowance import OverRate
from resolvers.core.error_codes import ErrorCode
from schema.declare.context import RequestContext
from schema.declare.errors import masked
from schema.http.protocol import Answer, BadRequest

RETRY_AFTER = 5
"""Seconds after which a database that did not respond may respond again."""

Refusal = BadRequest | BadToken | OverRate | KeysUnavailable | DatastoreError
REFUSALS = (BadRequest, BadToken, OverRate, KeysUnavailable, DatastoreError)


def refusal(error: Refusal) -> Answer:
    match error:
        case BadRequest() | BadToken():
            return Answer.refused(str(error), error.code)
        case OverRate():
            return Answer.refused(str(error), ErrorCode.RATE_LIMITED, error.retry_after)
        case KeysUnavailable():
            return Answer.refused(str(error), ErrorCode.UNAVAILABLE, error.retry_after)
        case DatastoreError():
            return _failed(error)


def _failed(error: DatastoreError) -> Answer:
    formatted = masked(GraphQLError("", original_error=error))
    code: ErrorCode = formatted["extensions"]["code"]
    if code is ErrorCode.UNAVAILABLE:
        return Answer.refused(formatted["message"], code, RETRY_AFTER)
    return Answer({"errors": [formatted]}, request_error=True, status=code.status or ErrorCode.INTERNAL.status)


def ended(message: str, code: ErrorCode, context: RequestContext | None) -> Answer:
    """Returns the answer of a request that was ended, with the outcome of its mutations."""
    return Answer({"errors": [error_of_the_end(message, code, context)], "data": None})


def error_of_the_end(message: str, code: ErrorCode, context: RequestContext | None) -> dict[str, Any]:
    extensions: dict[str, Any] = {"code": code}
    if context is not None and context.command:
        outcome = context.outcome
        message += f". {outcome.advice(keyed=context.idempotency_key is not None)}"
        extensions["outcome"] = outcome.name
    return {"message": message, "extensions": extensions}


def out_of_time(seconds: float, context: RequestContext | None) -> Answer:
    message = f"the request took over {seconds:g} seconds and was ended; ask for less"
    return ended(message, ErrorCode.TIMEOUT, context)
