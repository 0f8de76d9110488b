"""Health checks."""

from starlette.requests import Request
from starlette.responses import Response

from datastore.client.budget import Usage
from datastore.client.errors import DatastoreError
from schema.http.responses import Json
from schema.http.services import Services


async def healthz(request: Request) -> Response:
    return Json({"status": "ok"})


async def readyz(request: Request) -> Response:
    services: Services = request.app.state.services
    try:
        ready = await services.table.using(Usage.lasting(2.0)).answers()
        return Json({"status": "ok" if ready else "the table is not active"}, 200 if ready else 503)
    except DatastoreError as error:
        return Json({"status": f"{type(error).__name__}: {error}"}, 503)
