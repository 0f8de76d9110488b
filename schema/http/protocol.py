"""The GraphQL over HTTP protocol, independent of the web framework: requests, statuses and media types."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from schema.execution.limits import Limits, OverLimit, check_json

JSON = "application/json"
GRAPHQL_RESPONSE = "application/graphql-response+json"


CODES = {
    400: "BAD_REQUEST",
    401: "UNAUTHENTICATED",
    405: "METHOD_NOT_ALLOWED",
    406: "NOT_ACCEPTABLE",
    408: "TIMEOUT",
    413: "TOO_LARGE",
    414: "URL_TOO_LONG",
    415: "UNSUPPORTED_MEDIA_TYPE",
    429: "RATE_LIMITED",
    431: "HEADERS_TOO_LARGE",
    503: "UNAVAILABLE",
}


class BadRequest(Exception):
    """The body is not a GraphQL request; the message says what to send."""

    def __init__(self, message: str, status: int = 400, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
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

    @classmethod
    def refused(cls, message: str, status: int = 400, code: str | None = None, **more: Any) -> "Answer":
        """Returns the response to a request that is not executed; `more` is added to the error's extensions."""
        extensions = {"code": code or CODES[status], **more}
        return cls({"errors": [{"message": message, "extensions": extensions}]}, request_error=True, status=status)

    def status_as(self, media_type: str) -> int:
        if self.status is not None:
            return self.status
        # Clients of plain JSON read the errors in the body and take any other status for an intermediary's.
        return 400 if self.request_error and media_type == GRAPHQL_RESPONSE else 200


def media_type(accept: str | None) -> str:
    """Returns the media type of the response: the newer one if the client prefers it, else plain JSON."""
    if not accept:
        return JSON
    for name in _by_preference(accept):
        if name in (JSON, GRAPHQL_RESPONSE):
            return name
        if name in ("*/*", "application/*", "text/html"):
            return JSON
    raise BadRequest(f"this answers with {GRAPHQL_RESPONSE} or {JSON}; accept one of them", 406)


def wants_page(accept: str | None) -> bool:
    """Browsers prefer text/html; API clients do not."""
    preferred = [name for name in _by_preference(accept or "") if name in ("text/html", JSON, GRAPHQL_RESPONSE)]
    return preferred[:1] == ["text/html"]


def _by_preference(accept: str) -> list[str]:
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
        raise BadRequest(f"send the request as {JSON}, with that as its content-type", 415)
    if any(part.startswith("charset=") and part.replace('"', "") != "charset=utf-8" for part in parameters):
        raise BadRequest("send the request as UTF-8", 415)
    return _request(_json(body, "the body"), limits)


def from_query(parameters: Mapping[str, str], limits: Limits) -> GraphQLRequest:
    values: dict[str, Any] = dict(parameters)
    for name in ("variables", "extensions"):
        if name in values:
            values[name] = _json(values[name].encode(), f"`{name}`") if values[name] else None
    return _request(values, limits)


def _json(text: bytes, what: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"{what} is not JSON: {error}") from None


def _request(values: Any, limits: Limits) -> GraphQLRequest:
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
        raise BadRequest(str(error), code="OVER_LIMIT") from None
    return GraphQLRequest(query, variables or {}, name or None)
