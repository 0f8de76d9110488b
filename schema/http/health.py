"""Health checks. They read what is known already, so they answer while the server or the database is overloaded."""

import asyncio
import time

from starlette.requests import Request
from starlette.responses import Response

from datastore.client.budget import Usage
from datastore.client.errors import DatastoreError
from datastore.client.table import Table
from datastore.local.endpoint import Place
from schema.http.responses import Json

EVERY = 1.0
WITHIN = 2.0
STALE = 3 * (EVERY + WITHIN)
"""Seconds after which a result says nothing about now."""


class Probe:
    """Checks in the background whether the table answers."""

    def __init__(self, table: Table, place: Place) -> None:
        self._table = table
        self._place = place
        self._problem: str | None = "the table has not been checked yet"
        self._checked_at = time.monotonic()

    @property
    def problem(self) -> str | None:
        """Why the server is not ready, or None."""
        age = time.monotonic() - self._checked_at
        return self._problem if age < STALE else f"the last check of the table was {age:.0f} s ago"

    async def run(self) -> None:
        while True:
            self._problem = await self._check()
            self._checked_at = time.monotonic()
            await asyncio.sleep(EVERY)

    async def _check(self) -> str | None:
        if problem := self._place.problem:
            return problem
        try:
            ready = await self._table.using(Usage.lasting(WITHIN)).answers()
        except DatastoreError as error:
            return f"{type(error).__name__}: {error}"
        return None if ready else "the table is not active"


async def healthz(request: Request) -> Response:
    return Json({"status": "ok"})


async def readyz(request: Request) -> Response:
    problem = request.app.state.probe.problem
    return Json({"status": problem or "ok"}, 503 if problem else 200)
