"""Health checks. They read what is known already, so they answer while the server or the database is overloaded."""

import asyncio
import logging
import time

from starlette.requests import Request
from starlette.responses import Response

from datastore.client.budget import Usage
from datastore.client.errors import CircuitOpen, Denied, DiskFull, Retryable, TableMissing, Throttled
from datastore.client.table import Table
from datastore.local.endpoint import Place
from schema.http.responses import Json

log = logging.getLogger("heartwood.health")

EVERY = 1.0
WITHIN = 2.0
STALE = 3 * (EVERY + WITHIN)
"""Seconds after which a result says nothing about now."""
UNCHECKED = "the table has not been checked yet"
REASONS: dict[type, str] = {
    TableMissing: "the table does not exist",
    Denied: "no permission to use the table",
    Throttled: "the table is over its capacity",
    Retryable: "the table does not answer",
    CircuitOpen: "nearly all calls to the database fail, so none are sent",
    DiskFull: "the disk of DATA_DIR is full",
    Exception: "the table cannot be used",
}
"""The public description of an error. Its text can name accounts, addresses and paths, so it is only logged."""


class Probe:
    """Checks in the background whether the table answers."""

    def __init__(self, table: Table, place: Place) -> None:
        self._table = table
        self._place = place
        self._problem: str | None = UNCHECKED
        self._checked_at = time.monotonic()

    @property
    def problem(self) -> str | None:
        """Why the server is not ready, or None."""
        age = time.monotonic() - self._checked_at
        return self._problem if age < STALE else f"the last check of the table was {age:.0f} s ago"

    async def run(self) -> None:
        while True:
            await self.check()
            await asyncio.sleep(EVERY)

    async def check(self) -> None:
        """Finds the problem of now; logs a change of it."""
        problem, details = await self._found()
        if problem is not None and problem != self._problem:
            log.warning("not ready: %s (%s)", problem, details)
        elif problem is None and self._problem not in (None, UNCHECKED):
            log.info("ready again")
        self._problem = problem
        self._checked_at = time.monotonic()

    async def _found(self) -> tuple[str | None, str]:
        """Returns the problem, and details for the log."""
        try:
            if problem := self._place.problem:
                return problem, "the local engine"
            ready = await self._table.using(Usage.lasting(WITHIN)).answers()
        except Exception as error:
            reason = next(REASONS[kind] for kind in type(error).__mro__ if kind in REASONS)
            return reason, f"{type(error).__name__}: {error}"
        return (None, "") if ready else ("the table is not active", "its status is not ACTIVE")


async def healthz(request: Request) -> Response:
    return Json({"status": "ok"})


async def readyz(request: Request) -> Response:
    problem = request.app.state.probe.problem
    return Json({"status": problem or "ok"}, 503 if problem else 200)
