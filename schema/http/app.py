"""The HTTP application and its routes."""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import orjson
import structlog
from graphql import GraphQLError
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from datastore.client.budget import Usage
from datastore.client.errors import DatastoreError
from resolvers.accounts.tokens import BadToken, KeysUnavailable
from resolvers.background.jobs import Worker
from schema.build import build
from schema.declare.context import RequestContext
from schema.declare.errors import masked
from schema.http import graphiql, protocol
from schema.http.services import Services
from schema.http.settings import Settings
from schema.http.tree_chart import tree_svg

log = logging.getLogger("heartwood.server")
request_log = structlog.get_logger()


class Json(Response):
    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return orjson.dumps(content)


async def graphql(request: Request) -> Response:
    """Handles a request to /graphql. The protocol and the executor do everything that is not HTTP."""
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
    except DatastoreError as error:
        answer = protocol.Answer({"data": None, "errors": [masked(GraphQLError("", original_error=error))]})
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
        plan_failure=context.plan_failure if context else None,
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
    """Returns the SDL, for code generators."""
    return PlainTextResponse(build().as_str() + "\n")


async def home(request: Request) -> Response:
    return RedirectResponse("/graphql")


async def asset(request: Request) -> Response:
    path = graphiql.asset(request.path_params["name"])
    if path is None:
        return Response(status_code=404)
    return FileResponse(path, headers={"cache-control": "public, max-age=3600"})


async def client_disconnected(request: Request, error: Exception) -> Response:
    """Returns an empty response: the client disconnected while sending."""
    return Response(status_code=400)


async def unexpected_error(request: Request, error: Exception) -> Response:
    """Logs an unexpected error and returns a masked one."""
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
        later = (services.audit, services.views)
        running = (Worker(services.table), services.hidden_accounts, *later)
        tasks = [asyncio.create_task(each.run()) for each in running]
        yield
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        await asyncio.gather(*(each.drain() for each in later))
        await services.table.transport.close()
        services.passwords.close()
        services.mail.close()

    app = Starlette(
        routes=[
            Route("/", home),
            Route("/graphql", graphql, methods=["GET", "POST"]),
            Route("/graphiql/{name}", asset),
            Route("/schema.graphql", schema_text),
            Route("/trees/{tree_id}.svg", tree_svg),
            Route("/healthz", healthz),
            Route("/readyz", readyz),
        ],
        middleware=[
            Middleware(
                CORSMiddleware,
                allow_origins=services.settings.cors_origins,
                allow_methods=["GET", "POST"],
                allow_headers=["authorization", "content-type", "x-tenant-id"],
                expose_headers=["x-request-id"],
            )
        ]
        if services.settings.cors_origins
        else [],
        exception_handlers={ClientDisconnect: client_disconnected, Exception: unexpected_error},
        lifespan=lifespan,
    )
    app.state.services = services
    return app
