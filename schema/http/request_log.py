"""The log line of each request, and of the requests that were refused under overload."""

import asyncio
import logging
from typing import Any

from starlette.types import Scope

from schema.declare.context import RequestContext
from schema.http.admission import Admission
from schema.http.structured_log import structlog

LOGGER = "heartwood.server"
QUIET = frozenset({"/healthz", "/readyz", "/metrics"})
"""Paths that programs read every few seconds: logged at DEBUG."""

log = structlog.get_logger()


def write(scope: Scope, status: int, seconds: float, sent: int, fields: dict[str, Any]) -> None:
    """Logs a request. The route has put what it knows into `fields`; `event` is its kind."""
    level = logging.DEBUG if scope["path"] in QUIET else logging.INFO
    agent = next((value for name, value in scope["headers"] if name == b"user-agent"), b"")
    log.log(
        level,
        fields.pop("event", "request"),
        logger=LOGGER,
        method=scope.get("method", "GET"),
        path=scope["path"],
        status=status,
        ms=round(seconds * 1000, 1),
        bytes=sent,
        user_agent=agent[:1000].decode("latin-1"),
        **fields,
    )


def of_operation(context: RequestContext | None, errors: int) -> dict[str, Any]:
    """Returns what the log line of an operation says besides what every line says."""
    return {
        "event": "graphql",
        "operation": context.operation if context else None,
        "viewer": context.viewer.user_id if context else None,
        "compiled": context.compiled if context else False,
        "plan_failure": context.plan_failure if context else None,
        "outcome": "refused" if errors else "ok",
        "cost": context.cost if context else 0,
        "errors": errors,
        **usage_of(context),
    }


def usage_of(context: RequestContext | None) -> dict[str, Any]:
    """Returns what an operation has used of DynamoDB so far."""
    usage = context.load.table.usage if context else None
    return {
        "calls": dict(usage.calls) if usage else {},
        "saved": {name: round(count, 3) for name, count in usage.saved.items()} if usage else {},
        "cached": usage.cached if usage else 0,
        "read_units": usage.read_units if usage else 0,
        "write_units": usage.write_units if usage else 0,
        "retries": usage.retries if usage else 0,
    }


def write_operation(seconds: float, fields: dict[str, Any]) -> None:
    """Logs an operation of a connection that has many."""
    log.info(fields.pop("event"), logger=LOGGER, ms=round(seconds * 1000, 1), **fields)


def write_refused(client: str, request_id: str, status: int) -> None:
    """Logs a request that could not be parsed."""
    log.info("request", logger=LOGGER, client=client, request_id=request_id, status=status)


async def write_shed(admission: Admission) -> None:
    """Logs the number of refused requests once a second: a line for each would make the overload worse."""
    seen = admission.shed
    while True:
        await asyncio.sleep(1)
        shed, seen = admission.shed - seen, admission.shed
        if shed:
            log.warning(
                "overloaded",
                logger=LOGGER,
                shed=shed,
                running=admission.running,
                limit=round(admission.limit),
                lag_ms=round(admission.lag * 1000, 1),
            )
