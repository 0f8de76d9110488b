"""The HTTP application and its routes."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from uuid import uuid4

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from resolvers.background.jobs import Worker
from schema.build import build
from schema.http import graphiql
from schema.http.graphql_route import graphql
from schema.http.health import healthz, readyz
from schema.http.responses import Json
from schema.http.services import Services
from schema.http.tree_chart import tree_svg

log = logging.getLogger("heartwood.server")


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
