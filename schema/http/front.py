"""The outermost application: request ID, admission, headers, metrics and the log line of every request."""

import os
import re
import time
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import count
from typing import Any

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from schema.http import https_only, overload, request_log
from schema.http.admission import Admission
from schema.http.client_address import Network, address_in, is_trusted, parsed, peer
from schema.http.connection_limits import Connections
from schema.http.cors import REFUSED, Cors
from schema.http.https_only import HttpsOnly
from schema.http.metrics import Metrics
from schema.http.structured_log import structlog
from schema.http.tracing import Tracing
from schema.live.open_streams import OpenStreams

STARTS = frozenset({"http.response.start", "websocket.http.response.start", "websocket.accept"})
ALWAYS_ADMITTED = frozenset({"/healthz", "/readyz", "/metrics"})
NOSNIFF = (b"x-content-type-options", b"nosniff")
NO_STORE = (b"cache-control", b"no-store")
VARY = (b"vary", b"accept, accept-encoding, authorization, origin, x-tenant-id")
"""What the answers of this server depend on, besides the URL: for all routes the same, so that none forgets one."""
ALWAYS_SET = frozenset({VARY[0], NOSNIFF[0], b"x-request-id"})
REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{8,64}")

_PROCESS = os.urandom(8).hex()
_NUMBERS = count(1)

Headers = Iterable[tuple[bytes, bytes]]


class Front:
    """Wraps the application."""

    def __init__(
        self,
        app: ASGIApp,
        admission: Admission,
        connections: Connections,
        metrics: Metrics | None,
        proxies: Sequence[Network],
        cors: Cors,
        streams: OpenStreams,
        tracing: Tracing | None = None,
        https: HttpsOnly | None = None,
    ) -> None:
        self._https = https
        self._tracing = tracing
        self._app = app
        self.connections = connections
        self.streams = streams
        self.admission = admission
        self._metrics = metrics
        self._proxies = proxies
        self._cors = cors

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._https and scope["type"] != "lifespan" and not self._is_secure(scope):
            await https_only.refuse(scope, send)
        elif scope["type"] == "websocket":
            await self._connect(scope, receive, send)
        elif scope["type"] != "http":
            await self._app(scope, receive, send)
        elif preflight := self._cors.preflight(scope):
            await self._answer(preflight, scope, receive, send)
        elif scope["path"] not in ALWAYS_ADMITTED and self.admission.refuses():
            await self._refuse(scope, send)
        else:
            await self._answer(self._app, scope, receive, send)

    def _is_secure(self, scope: Scope) -> bool:
        """Load balancers check the health of a server over plain http."""
        assert self._https
        return scope["path"] in ALWAYS_ADMITTED or self._https.allows(scope)

    async def _connect(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A connection for many operations. Its log line is written when it ends."""
        if not self._cors.allows_websocket(scope):
            await self._answer(PlainTextResponse(REFUSED, 403), scope, receive, send)
        elif self.admission.refuses():
            await self._refuse(scope, send)
        else:
            await self._answer(self._app, scope, receive, send)

    async def _answer(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        started = time.perf_counter()
        request_id, address = _request_id(scope, self._proxies), address_in(scope, self._proxies)
        state: dict[str, Any] = scope.setdefault("state", {})
        state |= {"request_id": request_id, "client_address": address, "log": {}, "shed": False}
        trace = state["trace"] = self._tracing.begin(scope) if self._tracing else None
        # Every line that is logged on behalf of this request has these.
        structlog.contextvars.bind_contextvars(request_id=request_id, client=address)
        if trace:
            structlog.contextvars.bind_contextvars(trace_id=trace.trace_id)
        status = sent = 0

        async def answer(message: Message) -> None:
            nonlocal status, sent
            if message["type"] in STARTS:
                status = message.get("status", 101)
                message["headers"] = self._complete(scope, message.get("headers", ()), request_id)
            else:
                sent += len(message.get("body", b"") or message.get("text", ""))
            await send(message)

        try:
            await app(scope, receive, answer)
        except Exception:
            # Starlette raises an error again after it was logged and answered.
            if not status:
                raise
        finally:
            if trace:
                trace.end(status, state["log"])
            if pushed := state.get("pushed"):
                # The response goes on without this task.
                pushed.on_end = partial(self._answered, scope, status, started)
            elif not state["shed"]:
                self._answered(scope, status, started, sent)

    def _answered(self, scope: Scope, status: int, started: float, sent: int) -> None:
        seconds = time.perf_counter() - started
        fields: dict[str, Any] = scope["state"]["log"]
        if self._metrics:
            self._metrics.answered(scope["path"], status, seconds, fields)
        request_log.write(scope, status, seconds, sent, fields)

    async def _refuse(self, scope: Scope, send: Send) -> None:
        """Refuses before anything is built for the request. It is counted, not logged."""
        start, body = overload.messages(scope)
        if scope["type"] == "websocket":
            start, body = ({**message, "type": f"websocket.{message['type']}"} for message in (start, body))
        await send({**start, "headers": self._complete(scope, start["headers"], _request_id(scope, self._proxies))})
        await send(body)

    def _complete(self, scope: Scope, headers: Headers, request_id: str) -> list[tuple[bytes, bytes]]:
        hsts = [https_only.HSTS] if self._https else []
        return complete([*headers, *self._cors.headers(scope), *hsts], request_id)


def complete(headers: Headers, request_id: str) -> list[tuple[bytes, bytes]]:
    """Adds what every answer has."""
    given = [(name, value) for name, value in headers if name not in ALWAYS_SET]
    missing = [] if any(name == NO_STORE[0] for name, _ in given) else [NO_STORE]
    return [*given, *missing, VARY, NOSNIFF, (b"x-request-id", request_id.encode())]


def _tell_apart() -> None:
    """Gives the requests of a forked process IDs of their own."""
    global _PROCESS
    _PROCESS = os.urandom(8).hex()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_tell_apart)


def new_request_id() -> str:
    """Returns a unique ID. It is no secret: a refusal under overload must not cost a system call for it."""
    return f"{_PROCESS}{next(_NUMBERS):016x}"


def _request_id(scope: Scope, proxies: Sequence[Network]) -> str:
    """Returns the ID that a trusted proxy gave the request, or a new one."""
    if proxies:
        given = next((value for name, value in scope["headers"] if name == b"x-request-id"), b"")
        proxy = parsed(peer(scope))
        if REQUEST_ID.fullmatch(given) and proxy is not None and is_trusted(proxy, proxies):
            return given.decode()
    return new_request_id()
