"""The answers to requests that end before they are executed. All routes share them."""

from graphql import GraphQLError

from datastore.client.errors import DatastoreError
from resolvers.accounts.tokens import BadToken, KeysUnavailable
from resolvers.core.allowance import OverRate
from resolvers.core.error_codes import ErrorCode
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
