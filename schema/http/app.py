"""The HTTP application and its routes."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route, WebSocketRoute

from datastore.client.errors import DatastoreError
from datastore.maintenance.operations import OperationWatch
from datastore.maintenance.schedule import DailyBackup
from datastore.maintenance.sweeping import Sweeper
from loaders.threads import FILES, KINSHIP
from resolvers.background.job_stats import JobStats
from resolvers.background.jobs import Worker
from resolvers.core.error_codes import ErrorCode
from resolvers.search.edges import HIGHLIGHTS
from schema.declare.errors import INTERNAL
from schema.http import compression, error_pages, graphiql, overload, request_log
from schema.http.admission import Admission, Overloaded
from schema.http.analytics_chart import analytics_svg
from schema.http.compression import Compression
from schema.http.connection_limits import Connections
from schema.http.cors import Cors
from schema.http.front import Front
from schema.http.graphql_route import graphql
from schema.http.health import Probe, healthz, readyz
from schema.http.https_only import HttpsOnly
from schema.http.metrics import Metrics, metrics
from schema.http.request_body import Bodies
from schema.http.responses import Json
from schema.http.schema_text import schema_text
from schema.http.services import Services
from schema.http.shared_metrics import Published
from schema.http.tracing import tracing
from schema.http.tree_chart import tree_svg
from schema.http.worker_process import WorkerProcess
from schema.live import websocket
from schema.live.open_streams import OpenStreams
from schema.live.sse_channel import Channels

log = logging.getLogger("heartwood.server")

TIME_TO_LOOK = 3.0
TIME_TO_END = 10.0


async def home(request: Request) -> Response:
    return RedirectResponse("/graphql")


async def asset(request: Request) -> Response:
    document = graphiql.document(request.path_params["name"])
    if document is None:
        raise error_pages.not_found()
    return await document.response(request, {"cache-control": "public, no-cache"})


async def client_disconnected(request: Request, error: Exception) -> Response:
    """Returns an empty response: the client disconnected while sending."""
    return Response(status_code=400)


async def unexpected_error(request: Request, error: Exception) -> Response:
    """Logs an unexpected error and returns a masked one."""
    error_id = uuid4().hex
    log.error("error %s outside of execution", error_id, exc_info=error)
    extensions = {"code": ErrorCode.INTERNAL, "id": error_id}
    return Json({"errors": [{"message": INTERNAL, "extensions": extensions}]}, ErrorCode.INTERNAL.status)


def create_app(services: Services, worker: WorkerProcess | None = None) -> Front:
    """Creates the application, in a process of its own or in one of several workers."""
    settings = services.settings
    transport = services.table.transport
    admission = Admission(settings.max_requests_in_flight, calls_wait=lambda: transport.slot_wait)
    connections = Connections(settings.connection_limits, settings.trusted_proxies)
    streams = OpenStreams(settings.max_streams, settings.max_streams_per_client)
    jobs = JobStats()
    counted = Metrics(
        admission,
        connections,
        transport,
        services.changes,
        streams,
        services.shared_reads,
        services.executor,
        jobs,
        services.search_index,
    )
    probe = Probe(services.table, services.place)
    traces = tracing()
    published = Published(worker.board, worker.number, counted.text) if worker and settings.metrics else None

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        later = (services.security_counts, services.views, services.usage_sharing)
        live = services.operations.live
        watch = OperationWatch(services.table, services.changes.stream)
        running: list[Any] = [services.hidden_accounts, admission, probe, watch, live, *later, *services.changes.tails]
        running.append(services.index_keeper)
        if worker is None or worker.runs_jobs:
            running += [Worker(services.table, services.tools, stats=jobs), *services.changes.in_one_worker]
            if not services.place.needs_stream:
                running.append(Sweeper(services.table, services.changes.leases))
            running.append(DailyBackup(services.table, services.place, settings))
        if published:
            running.append(published)
        # A server that starts during a pause of writes must know of it before its first write.
        with contextlib.suppress(DatastoreError, TimeoutError):
            async with asyncio.timeout(TIME_TO_LOOK):
                await watch.look()
        tasks = [asyncio.create_task(each.run()) for each in running]
        tasks.append(asyncio.create_task(request_log.write_shed(admission)))
        yield
        for task in tasks:
            task.cancel()
        _, late = await asyncio.wait(tasks, timeout=TIME_TO_END)
        for task in late:
            log.error("the server stops without waiting any longer for %r", task)
        await asyncio.gather(*(each.drain() for each in later))
        await services.close()
        if traces:
            await asyncio.to_thread(traces.close)
        for lane in (KINSHIP, FILES, HIGHLIGHTS, compression.LANE):
            lane.close()

    app = Starlette(
        routes=[
            Route("/", home),
            Route("/graphql", graphql, methods=["GET", "POST", "PUT", "DELETE"]),
            WebSocketRoute("/graphql", websocket.serve),
            Route("/graphiql/{name}", asset),
            Route("/schema.graphql", schema_text),
            Route("/trees/{tree_id}.svg", tree_svg),
            Route("/analytics/{id}.svg", analytics_svg),
            Route("/healthz", healthz),
            Route("/readyz", readyz),
            *([Route("/metrics", metrics)] if settings.metrics else []),
        ],
        middleware=[Middleware(Compression)],
        exception_handlers={
            ClientDisconnect: client_disconnected,
            Overloaded: overload.refused,
            HTTPException: error_pages.http_error,
            Exception: unexpected_error,
        },
        lifespan=lifespan,
    )
    app.state.services = services
    app.state.admission = admission
    app.state.metrics_text = published.all if published else counted.text
    app.state.bodies = Bodies(settings.max_body_bytes, settings.request_timeout)
    app.state.probe = probe
    app.state.streams = streams
    app.state.channels = Channels(streams)
    app.state.metrics = counted
    cors = Cors(settings.cors_origins, local=settings.allows_local_origins)
    https = HttpsOnly(settings.trusted_proxies) if settings.is_production else None
    kept = counted if settings.metrics else None
    return Front(app, admission, connections, kept, settings.trusted_proxies, cors, streams, traces, https)
