"""The parameters with which a client opens a connection: browsers cannot send headers with it."""

from collections.abc import Mapping
from typing import Any

from starlette.requests import HTTPConnection

from schema.declare import idempotency
from schema.http.protocol import BadRequest
from schema.http.services import TENANT

AUTHORIZATION = "authorization"
HEADERS = {"authorization": AUTHORIZATION, "tenantid": TENANT, "xtenantid": TENANT}
"""Headers, by the names of their parameters without case, dashes and underscores."""
TOKENS = frozenset({"authtoken", "accesstoken", "token"})
"""Names under which clients pass a token alone."""
# A key is for one mutation, and a connection has many.
PER_OPERATION = idempotency.HEADER.lower()


def caller(connection: HTTPConnection, parameters: Mapping[str, Any]) -> HTTPConnection:
    """Returns the connection as if its parameters were headers. They replace headers of the same name.

    Raises BadRequest.
    """
    given = _headers(parameters)
    if isinstance(nested := parameters.get("headers"), dict):
        given = _headers(nested) | given
    kept = [(name, value) for name, value in connection.scope["headers"] if name.decode() not in given]
    kept = [(name, value) for name, value in kept if name.decode() != PER_OPERATION]
    added = [(name.encode(), value.encode("latin-1", "replace")) for name, value in given.items()]
    return HTTPConnection({**connection.scope, "headers": kept + added})


def for_operation(caller: HTTPConnection, extensions: Mapping[str, Any]) -> HTTPConnection:
    """Returns the caller of one operation, with the `idempotencyKey` of its extensions. Raises BadRequest."""
    key = extensions.get("idempotencyKey")
    if key is None:
        return caller
    if not isinstance(key, str) or not key.isascii():
        raise BadRequest("`extensions.idempotencyKey` must be a text of ASCII characters")
    header = (PER_OPERATION.encode(), key.encode())
    return HTTPConnection({**caller.scope, "headers": [*caller.scope["headers"], header]})


def _headers(parameters: Mapping[str, Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in parameters.items():
        plain = name.lower().replace("-", "").replace("_", "")
        header = AUTHORIZATION if plain in TOKENS else HEADERS.get(plain)
        # Clients send null, or nothing, for a viewer who is not signed in.
        if header is None or value is None or value == "":
            continue
        if not isinstance(value, str):
            raise BadRequest(f"the connection parameter {name[:40]!r} must be a text")
        is_bare = plain in TOKENS and not value.lower().startswith("bearer ")
        found[header] = f"Bearer {value}" if is_bare else value
    return found
