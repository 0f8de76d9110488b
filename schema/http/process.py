"""The server process: listening, timeouts, signals and shutdown."""

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import Callable
from typing import Any

import uvicorn

import resolvers
from schema.declare.field_names import check_field_names
from schema.http import garbage_collection
from schema.http.app import create_app
from schema.http.connection_limits import allowed_connections
from schema.http.http_protocol import HttpProtocol
from schema.http.listening import CannotListen
from schema.http.services import Services
from schema.http.websocket_protocol import PING_INTERVAL, PONG_WITHIN, WebSocketProtocol
from schema.http.worker_process import WorkerProcess

log = logging.getLogger("heartwood.server")

GRACE = 10
TICKS_PER_SECOND = 10
CHECKED_AFTER = 1.0
"""Seconds without it for the first requests, which would share the interpreter with it."""


class Server(uvicorn.Server):
    """Says once that it listens, and watches its connections."""

    def __init__(
        self,
        services: Services,
        announce: Callable[[int], None] | None = None,
        worker: WorkerProcess | None = None,
        grace: int = GRACE,
    ) -> None:
        app = create_app(services, worker)
        self.connections = app.connections
        self._streams = app.streams
        self._announce = announce
        self._worker = worker
        self.mistakes: TypeError | None = None
        super().__init__(
            uvicorn.Config(
                app,
                host=services.settings.host,
                port=services.settings.port,
                log_config=None,
                access_log=False,
                # Idle connections are ended by the limits; a load balancer's idle timeout should be shorter than ours.
                timeout_keep_alive=int(app.connections.limits.idle_within),
                timeout_graceful_shutdown=grace,
                http=HttpProtocol.bound_to(app.connections),
                ws=WebSocketProtocol.bound_to(app.connections),
                ws_max_size=services.settings.max_body_bytes,
                ws_ping_interval=PING_INTERVAL,
                ws_ping_timeout=PONG_WITHIN,
                # A small message could become a large one.
                ws_per_message_deflate=False,
                server_header=False,
                # uvicorn would trust X-Forwarded-For from loopback; TRUSTED_PROXIES decides that here.
                proxy_headers=False,
            )
        )

    def capture_signals(self) -> Any:
        """Leaves signals to `serve`: uvicorn would re-raise the signal and end the process by it."""
        return contextlib.nullcontext()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if not self.started:
            return
        if self._announce:
            self._announce(self.servers[0].sockets[0].getsockname()[1])
        # The parent of workers has done it for all of them.
        if self._worker is None:
            self._checking = asyncio.create_task(self._check_field_names())

    async def _check_field_names(self) -> None:
        """Stops the server if resolvers write to fields that do not exist.

        Requests do not wait for it: without it, such a write would be refused when a request reaches it.
        """
        await asyncio.sleep(CHECKED_AFTER)
        try:
            await asyncio.to_thread(check_field_names, resolvers.__path__)
        except TypeError as mistakes:
            self.mistakes = mistakes
            self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Ends the streams first, which would go on forever, so that their clients connect elsewhere."""
        self._streams.stop()
        await super().shutdown(sockets)
        # What is left belongs to clients that have not read it in the time of grace.
        for connection in list(self.connections):
            connection.end()
        await asyncio.sleep(0)

    async def on_tick(self, counter: int) -> bool:
        if counter % TICKS_PER_SECOND == 0:
            self.connections.sweep()
        return await super().on_tick(counter)


async def serve(services: Services, announce: Callable[[int], None], worker: WorkerProcess | None = None) -> None:
    """Serves until SIGINT or SIGTERM, or the end of its parent, then finishes the requests in progress.

    Calls `announce` with the port once it listens.
    """
    settings = services.settings
    settings.max_connections = allowed_connections(settings.max_connections)
    garbage_collection.settle()
    server = Server(services, announce, worker)
    loop = asyncio.get_running_loop()
    for ending in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(ending, server.handle_exit, ending, None)
    if worker:
        loop.add_reader(worker.post.parent, _parent_ended, worker.post.parent, server)
    # uvicorn logs why it cannot listen and exits.
    with contextlib.suppress(SystemExit):
        await server.serve(list(worker.post.sockets) if worker else None)
    if server.mistakes:
        raise server.mistakes
    if not server.started:
        raise CannotListen(f"cannot listen on {settings.host}:{settings.port}")


def _parent_ended(pipe: int, server: Server) -> None:
    asyncio.get_running_loop().remove_reader(pipe)
    log.error("the parent process has ended, so this worker stops")
    server.handle_exit(signal.SIGTERM, None)
