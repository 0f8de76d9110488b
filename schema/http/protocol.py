"""The GraphQL over HTTP protocol, independent of the web framework: requests, statuses and media types."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from resolvers.core.error_codes import ErrorCode
from schema.execution.limits import Limits, OverLimit, check_json

JSON = "application/json"
GRAPHQL_RESPONSE = "application/graphql-response+json"


class BadRequest(Exception):
    """The request cannot be executed; the message says what to send."""

    def __init__(self, message: str, code: ErrorCode = ErrorCode.BAD_REQUEST) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class GraphQLRequest:
    query: str
    variables: dict[str, Any] = field(default_factory=dict)
    operation_name: str | None = None


@dataclass(frozen=True)
class Answer:
    """A response. A request error happened before execution, so there is no `data`."""

    body: dict[str, Any]
    request_error: bool = False
    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    """Headers that say the same as the error."""

    @classmethod
    def refused(cls, message: str, code: ErrorCode, retry_after: int | None = None) -> "Answer":
        """Returns the response to a request that is not executed. `retry_after` is in seconds."""
        extensions: dict[str, Any] = {"code": code}
        if code.retryable:
            extensions["retryable"] = True
        headers = _challenge(message, code) if code.status == ErrorCode.UNAUTHENTICATED.status else {}
        if retry_after is not None:
            extensions["retryAfter"] = retry_after
            headers["retry-after"] = str(retry_after)
        body = {"errors": [{"message": message, "extensions": extensions}]}
        return cls(body, request_error=True, status=code.status, headers=headers)

    def status_as(self, media_type: str) -> int:
        if self.status is not None:
            return self.status
        # Clients of plain JSON read the errors in the body and take any other status for an intermediary's.
        return 400 if self.request_error and media_type == GRAPHQL_RESPONSE else 200


def _challenge(message: str, code: ErrorCode) -> dict[str, str]:
    """Returns the header of a response with status 401, as in RFC 6750. Messages about tokens are plain ASCII."""
    if code == ErrorCode.UNAUTHENTICATED:
        return {"www-authenticate": "Bearer"}
    return {"www-authenticate": f'Bearer error="invalid_token", error_description="{message}"'}


def media_type(accept: str | None) -> str:
    """Returns the media type of the response: the newer one if the client prefers it, else plain JSON."""
    if not accept:
        return JSON
    for name in by_preference(accept):
        if name in (JSON, GRAPHQL_RESPONSE):
            return name
        if name in ("*/*", "application/*", "text/html"):
            return JSON
    raise BadRequest(f"this answers with {GRAPHQL_RESPONSE} or {JSON}; accept one of them", ErrorCode.NOT_ACCEPTABLE)


def wants_page(accept: str | None) -> bool:
    """Browsers prefer text/html; API clients do not."""
    preferred = [name for name in by_preference(accept or "") if name in ("text/html", JSON, GRAPHQL_RESPONSE)]
    return preferred[:1] == ["text/html"]


def by_preference(accept: str) -> list[str]:
    """Returns the media types of an `Accept` header, the preferred one first."""
    entries = sorted(map(quality, accept.split(",")), key=lambda entry: -entry[1])
    return [name for name, quality in entries if quality > 0]


def quality(entry: str) -> tuple[str, float]:
    """Returns the name and the weight of an entry of an `Accept…` header."""
    name, *parameters = (part.strip() for part in entry.split(";"))
    for parameter in parameters:
        if parameter.startswith("q="):
            try:
                return name.lower(), float(parameter[2:])
            except ValueError:
                return name.lower(), 0.0
    return name.lower(), 1.0


def from_body(content_type: str | None, body: bytes, limits: Limits) -> GraphQLRequest:
    name, *parameters = (part.strip().lower() for part in (content_type or "").split(";"))
    if name != JSON:
        raise BadRequest(f"send the request as {JSON}, with that as its content-type", ErrorCode.UNSUPPORTED_MEDIA_TYPE)
    if any(part.startswith("charset=") and part.replace('"', "") != "charset=utf-8" for part in parameters):
        raise BadRequest("send the request as UTF-8", ErrorCode.UNSUPPORTED_MEDIA_TYPE)
    return from_values(read_json(body, "the body"), limits)


def from_query(parameters: Mapping[str, str], limits: Limits) -> GraphQLRequest:
    values: dict[str, Any] = dict(parameters)
    for name in ("variables", "extensions"):
        if name in values:
            values[name] = read_json(values[name].encode(), f"`{name}`") if values[name] else None
    return from_values(values, limits)


def read_json(text: bytes, what: str) -> Any:
    """Returns the value; raises BadRequest."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        if "recursion" in error.msg.lower() or "depth" in error.msg:
            raise BadRequest(f"{what} is nested too deeply; send less", ErrorCode.OVER_LIMIT) from None
        raise BadRequest(f"{what} is not JSON: fix line {error.lineno}, column {error.colno}") from None


def from_values(values: Any, limits: Limits) -> GraphQLRequest:
    """Returns the request that an object describes; raises BadRequest."""
    if not isinstance(values, dict):
        raise BadRequest("send one JSON object with `query` and, where needed, `variables` and `operationName`")
    query, variables, name = values.get("query"), values.get("variables"), values.get("operationName")
    if not isinstance(query, str):
        raise BadRequest("`query` is missing; it must be the text of a GraphQL document")
    if not isinstance(variables, dict | None):
        raise BadRequest("`variables` must be a JSON object")
    if not isinstance(name, str | None):
        raise BadRequest("`operationName` must be text")
    if not isinstance(values.get("extensions"), dict | None):
        raise BadRequest("`extensions` must be a JSON object")
    try:
        check_json(variables, limits)
    except OverLimit as error:
        raise BadRequest(str(error), ErrorCode.OVER_LIMIT) from None
    return GraphQLRequest(query, variables or {}, name or None)
