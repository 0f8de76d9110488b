"""The server process: listening, timeouts, signals and shutdown."""

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from schema.http import garbage_collection
from schema.http.app import create_app
from schema.http.services import Services

GRACE = 10
HEADERS_WITHIN = 10.0


class CannotListen(OSError):
    """The address or port is not available."""


class HeaderTimeoutProtocol(HttpToolsProtocol):
    """Closes a connection whose request headers do not arrive in time. uvicorn waits forever."""

    timeout: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_timeout()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._start_timeout()

    def on_headers_complete(self) -> None:
        self._cancel_timeout()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_timeout()
        super().connection_lost(exc)

    def _start_timeout(self) -> None:
        self._cancel_timeout()
        self.timeout = self.loop.call_later(HEADERS_WITHIN, self.transport.close)

    def _cancel_timeout(self) -> None:
        if self.timeout is not None:
            self.timeout.cancel()


class Server(uvicorn.Server):
    """Prints a banner once it listens."""

    banner: Callable[[int], str]

    def capture_signals(self) -> Any:
        """Leaves signals to `serve`: uvicorn would re-raise the signal and end the process by it."""
        return contextlib.nullcontext()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            print(self.banner(self.servers[0].sockets[0].getsockname()[1]), flush=True)


async def serve(services: Services, banner: Callable[[int], str]) -> None:
    """Serves until SIGINT or SIGTERM, then finishes the requests in progress. `banner` gets the port."""
    settings = services.settings
    config = uvicorn.Config(
        create_app(services),
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=GRACE,
        http=HeaderTimeoutProtocol,
        server_header=False,
        # uvicorn would trust X-Forwarded-For from loopback; TRUSTED_PROXIES decides that here.
        proxy_headers=False,
    )
    garbage_collection.settle()
    server = Server(config)
    server.banner = banner
    for ending in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(ending, server.handle_exit, ending, None)
    # uvicorn logs why it cannot listen and exits.
    with contextlib.suppress(SystemExit):
        await server.serve()
    if not server.started:
        raise CannotListen(f"cannot listen on {settings.host}:{settings.port}")
