"""Heartwood's server: settings, lifespan, routes and `main()`."""

import argparse
import asyncio
import contextlib
import logging
import os
import secrets
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import orjson
import structlog
import uvicorn
from botocore.exceptions import BotoCoreError, ClientError
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from datastore import memory, place, provision
from datastore.engine import EngineFailed
from datastore.errors import DatastoreError, Denied
from datastore.logs import set_up_logging
from datastore.table import Table
from datastore.transport import Transport
from datastore.usage import Usage
from loaders.loaders import Loaders
from resolvers import demo
from resolvers.jobs import Worker
from resolvers.passwords import Passwords
from resolvers.tokens import BadToken, KeysUnavailable, Tokens
from schema import graphiql, protocol
from schema.build import build
from schema.context import RequestContext
from schema.cursors import Cursors
from schema.execution import Executor
from schema.settings import Settings, explained

try:
    from uvloop import new_event_loop
except ImportError:  # there is none for Windows
    from asyncio import new_event_loop  # type: ignore[assignment]

log = logging.getLogger("heartwood.server")
request_log = structlog.get_logger()

GRACE = 10
HEADERS_WITHIN = 10.0


@dataclass
class Services:
    """What the process has one of."""

    settings: Settings
    table: Table
    tokens: Tokens
    passwords: Passwords
    cursors: Cursors
    executor: Executor

    @classmethod
    def at(cls, where: place.Place, settings: Settings, secret: str) -> "Services":
        transport = Transport(region=where.region, endpoint=where.endpoint, max_in_flight=settings.max_calls_in_flight)
        return cls(
            settings=settings,
            table=Table(transport, settings.table_name, Usage.lasting(settings.request_timeout)),
            tokens=Tokens(settings.tokens(secret)),
            passwords=Passwords(),
            cursors=Cursors(secret),
            executor=Executor(build()._schema, settings.limits, compiled=settings.compile_queries),
        )

    async def context(self, request: Request) -> RequestContext:
        usage = Usage.lasting(self.settings.request_timeout)
        viewer = await self.tokens.viewer(request.headers.get("authorization"))
        return RequestContext(
            load=Loaders(self.table.using(usage), viewer),
            tokens=self.tokens,
            passwords=self.passwords,
            client_address=request.client.host if request.client else "",
            options=self.settings.options,
            cursors=self.cursors,
        )


class Json(Response):
    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return orjson.dumps(content)


async def graphql(request: Request) -> Response:
    """Everything about /graphql that is HTTP; `schema.protocol` and `schema.execution` know the rest."""
    services: Services = request.app.state.services
    accept = request.headers.get("accept")
    if request.method != "POST" and "query" not in request.query_params and protocol.wants_page(accept):
        shown = services.settings.graphiql
        return HTMLResponse(graphiql.page(), headers=graphiql.headers()) if shown else Response(status_code=404)
    request_id = uuid4().hex
    # Every line that is logged on behalf of this request has it.
    structlog.contextvars.bind_contextvars(request_id=request_id)
    media_type = protocol.JSON
    started = time.perf_counter()
    context: RequestContext | None = None
    headers = {"x-request-id": request_id}
    try:
        media_type = protocol.media_type(accept)
        parsed = await _read(request, services.settings)
        context = await services.context(request)
        answer = await services.executor.run(parsed, context, may_mutate=request.method == "POST")
    except protocol.BadRequest as error:
        answer = protocol.Answer.refused(str(error), error.status)
    except BadToken as error:
        answer = protocol.Answer.refused(str(error), 401)
        headers["www-authenticate"] = "Bearer"
    except KeysUnavailable as error:
        answer = protocol.Answer.refused(str(error), 503)
    status = answer.status_as(media_type)
    if status == 405:
        headers["allow"] = "POST"
    _log_request(context, status, answer, time.perf_counter() - started)
    return Json(answer.body, status, headers | {"content-type": f"{media_type}; charset=utf-8"})


async def _read(request: Request, settings: Settings) -> protocol.GraphQLRequest:
    if request.method != "POST":
        return protocol.from_query(request.query_params, settings.max_json_depth)
    try:
        async with asyncio.timeout(settings.request_timeout):
            body = await _body(request, settings.max_body_bytes)
    except TimeoutError:
        raise protocol.BadRequest("the body took too long to arrive", 408) from None
    return protocol.from_body(request.headers.get("content-type"), body, settings.max_json_depth)


async def _body(request: Request, limit: int) -> bytes:
    too_large = protocol.BadRequest(f"the body is over {limit} bytes", 413)
    if int(request.headers.get("content-length") or 0) > limit:
        raise too_large
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            raise too_large
    return bytes(body)


def _log_request(
    context: RequestContext | None,
    status: int,
    answer: protocol.Answer,
    seconds: float,
) -> None:
    usage = context.load.table.usage if context else None
    request_log.info(
        "graphql",
        logger=log.name,
        operation=context.operation if context else None,
        viewer=context.viewer.user_id if context else None,
        status=status,
        compiled=context.compiled if context else False,
        errors=len(answer.body.get("errors", ())),
        ms=round(seconds * 1000, 1),
        calls=dict(usage.calls) if usage else {},
        read_units=usage.read_units if usage else 0,
        write_units=usage.write_units if usage else 0,
        retries=usage.retries if usage else 0,
    )


async def healthz(request: Request) -> Response:
    return Json({"status": "ok"})


async def readyz(request: Request) -> Response:
    services: Services = request.app.state.services
    try:
        ready = await services.table.using(Usage.lasting(2.0)).answers()
        return Json({"status": "ok" if ready else "the table is not active"}, 200 if ready else 503)
    except DatastoreError as error:
        return Json({"status": f"{type(error).__name__}: {error}"}, 503)


async def schema_text(request: Request) -> Response:
    """For code generators."""
    return PlainTextResponse(build().as_str() + "\n")


async def home(request: Request) -> Response:
    return RedirectResponse("/graphql")


async def asset(request: Request) -> Response:
    path = graphiql.asset(request.path_params["name"])
    if path is None:
        return Response(status_code=404)
    return FileResponse(path, headers={"cache-control": "public, max-age=3600"})


async def too_far_gone(request: Request, error: Exception) -> Response:
    """The client left while it was sending: nobody reads this."""
    return Response(status_code=400)


async def accident(request: Request, error: Exception) -> Response:
    """Nothing should come here; if something does, it is logged in full and says nothing."""
    error_id = uuid4().hex
    log.error("error %s outside of execution", error_id, exc_info=error)
    return Json(
        {
            "errors": [
                {"message": "Something went wrong on our side.", "extensions": {"code": "INTERNAL", "id": error_id}}
            ]
        },
        500,
    )


def create_app(services: Services) -> Starlette:
    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        working = asyncio.create_task(Worker(services.table).run())
        yield
        working.cancel()
        await asyncio.wait([working])
        await services.table.transport.close()
        services.passwords.close()

    app = Starlette(
        routes=[
            Route("/", home),
            Route("/graphql", graphql, methods=["GET", "POST"]),
            Route("/graphiql/{name}", asset),
            Route("/schema.graphql", schema_text),
            Route("/healthz", healthz),
            Route("/readyz", readyz),
        ],
        middleware=[
            Middleware(
                CORSMiddleware,
                allow_origins=services.settings.cors_origins,
                allow_methods=["GET", "POST"],
                allow_headers=["authorization", "content-type"],
                expose_headers=["x-request-id"],
            )
        ]
        if services.settings.cors_origins
        else [],
        exception_handlers={ClientDisconnect: too_far_gone, Exception: accident},
        lifespan=lifespan,
    )
    app.state.services = services
    return app


def secret_for(settings: Settings, where: place.Place) -> str:
    """AUTH_SECRET, or one made on the first start at home. Elsewhere it is asked for: all servers share it."""
    if settings.auth_secret:
        return settings.auth_secret
    if not where.is_local:
        raise Denied("set AUTH_SECRET (32 characters or more): it signs tokens and cursors, the same on every server")
    return _kept_secret(settings.data_dir / "secret")


def _kept_secret(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(48))
    return path.read_text()


class Impatient(HttpToolsProtocol):
    """Ends connections that are opened, or begin a request, and then keep silent."""

    silence: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._wait()

    def on_headers_complete(self) -> None:
        self._stop_waiting()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._stop_waiting()
        self.silence = self.loop.call_later(HEADERS_WITHIN, self.transport.close)

    def _stop_waiting(self) -> None:
        if self.silence is not None:
            self.silence.cancel()


class Server(uvicorn.Server):
    """Says where it is once it is there."""

    banner: Callable[[int], str]

    def capture_signals(self) -> Any:
        """`_serve` does that: uvicorn would end the process by the signal it caught, as if it had not been handled."""
        return contextlib.nullcontext()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            print(self.banner(self.servers[0].sockets[0].getsockname()[1]), flush=True)


async def _serve(settings: Settings, where: place.Place, *, with_demo: bool) -> None:
    services = Services.at(where, settings, secret_for(settings, where))
    with_demo = with_demo and where.is_local
    if with_demo:
        await demo.load(services.table, services.passwords)
    config = uvicorn.Config(
        create_app(services),
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=GRACE,
        http=Impatient,
        server_header=False,
    )
    memory.settle()
    server = Server(config)
    server.banner = lambda port: _banner(services, where, port, with_demo=with_demo)
    for ending in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(ending, server.handle_exit, ending, None)
    await server.serve()
    if not server.started:
        raise EngineFailed(f"nothing listens at {settings.host}:{settings.port}")


def _banner(services: Services, where: place.Place, port: int, *, with_demo: bool) -> str:
    host = "localhost" if services.settings.host in ("127.0.0.1", "::1", "0.0.0.0") else services.settings.host  # noqa: S104
    lines = [
        f"Heartwood   http://{host}:{port}/graphql  (open it in a browser for GraphiQL)",
        f"Table       {services.settings.table_name} at {where}{'' if where.keeps_data else ', in memory'}",
    ]
    if with_demo and services.tokens.are_ours:
        token = services.tokens.issue(demo.MAYA)
        lines.append(f'Demo        to be Maya, put this into Headers: {{"Authorization": "Bearer {token}"}}')
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="heartwood", description="One GraphQL API over one DynamoDB table.")
    parser.add_argument("--no-demo", action="store_true", help="do not load demo data into an empty local table")
    arguments = parser.parse_args()
    try:
        settings = Settings()
        set_up_logging(settings.log_level, settings.log_format)
        with place.chosen(settings) as where:
            if where.is_local:
                provision.ensure(provision.connect(where.endpoint, where.region), settings.table_name, backups=False)
            with asyncio.Runner(loop_factory=new_event_loop) as runner:
                runner.run(_serve(settings, where, with_demo=not arguments.no_demo))
    except ValidationError as error:
        print(explained(error), file=sys.stderr)
        return 2
    except (EngineFailed, provision.TableDiffers, DatastoreError, BotoCoreError, ClientError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
