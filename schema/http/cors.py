"""Cross-origin requests: which web pages may call the server, with which headers, and what they see of an answer."""

import re
from collections.abc import Iterable

from starlette.responses import PlainTextResponse, Response
from starlette.types import Scope

METHODS = "GET, POST, PUT, DELETE"
REQUEST_HEADERS = (
    "accept",
    "apollo-require-preflight",
    "apollographql-client-name",
    "apollographql-client-version",
    "authorization",
    "baggage",
    "cache-control",
    "content-type",
    "graphql-client-name",
    "graphql-client-version",
    "idempotency-key",
    "if-none-match",
    "sentry-trace",
    "traceparent",
    "tracestate",
    "x-apollo-operation-id",
    "x-apollo-operation-name",
    "x-apollo-operation-type",
    "x-graphql-client-name",
    "x-graphql-client-version",
    "x-graphql-event-stream-token",
    "x-request-id",
    "x-requested-with",
    "x-tenant-id",
)
"""Headers that pages may send: ours, and those that GraphQL clients and tracing libraries add."""
ANSWER_HEADERS = ("etag", "ratelimit", "ratelimit-policy", "retry-after", "x-request-id")
"""Headers that pages may read, besides those that every page may."""
MAX_AGE = 7_200
"""Seconds that a browser keeps the answer to a preflight request; Chromium allows no more."""
LOCAL = re.compile(rb"https?://(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?")
REFUSED = "pages of this origin may not call this server; its operator can add the origin to CORS_ORIGINS"

RawHeaders = list[tuple[bytes, bytes]]


class Cors:
    """The allowed origins. Nothing is allowed with cookies, because there are none."""

    def __init__(self, origins: Iterable[str], *, local: bool) -> None:
        """`local` allows all pages of this machine."""
        self._origins = {origin.encode() for origin in origins}
        self._local = local

    def headers(self, scope: Scope) -> RawHeaders:
        """Returns the headers with which a page may read the answer to its request."""
        origin = _header(scope, b"origin")
        if origin is None or not self._allows(origin):
            return []
        return [
            (b"access-control-allow-origin", origin),
            (b"access-control-expose-headers", ", ".join(ANSWER_HEADERS).encode()),
        ]

    def preflight(self, scope: Scope) -> Response | None:
        """Returns the answer to a browser that asks ahead of a page's request; None for any other request."""
        origin = _header(scope, b"origin")
        if scope["method"] != "OPTIONS" or not origin or _header(scope, b"access-control-request-method") is None:
            return None
        if not self._allows(origin):
            return PlainTextResponse(REFUSED, 403)
        # The browser compares them with the request and tells the developer what is missing.
        allowed = {
            "access-control-allow-methods": METHODS,
            "access-control-allow-headers": ", ".join(REQUEST_HEADERS),
            "access-control-max-age": str(MAX_AGE),
        }
        return Response(status_code=204, headers=allowed)

    def allows_websocket(self, scope: Scope) -> bool:
        """Returns True for pages that may connect: those of this server too, and clients that are not browsers.

        Browsers send no preflight request before they connect, so it is checked here.
        """
        origin = _header(scope, b"origin")
        host = _header(scope, b"host")
        is_own = origin is not None and host is not None and origin.partition(b"://")[2].lower() == host.lower()
        return origin is None or is_own or self._allows(origin)

    def _allows(self, origin: bytes) -> bool:
        return origin in self._origins or (self._local and LOCAL.fullmatch(origin) is not None)


def _header(scope: Scope, wanted: bytes) -> bytes | None:
    return next((value for name, value in scope["headers"] if name == wanted), None)
