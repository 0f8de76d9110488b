"""The route /graphql: reads a request, runs it, answers and logs it."""

from typing import Any

from graphql import GraphQLError
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from datastore.client.errors import DatastoreError
from resolvers.accounts.tokens import BadToken, KeysUnavailable
from resolvers.core.allowance import REFUSED_COST, OverRate
from schema.declare.context import RequestContext
from schema.declare.errors import masked
from schema.http import graphiql, protocol
from schema.http.request_body import Bodies
from schema.http.responses import Json
from schema.http.services import Services


async def graphql(request: Request) -> Response:
    """Handles a request to /graphql. The protocol and the executor do everything that is not HTTP."""
    services: Services = request.app.state.services
    accept = request.headers.get("accept")
    if request.method != "POST" and "query" not in request.query_params and protocol.wants_page(accept):
        shown = services.settings.graphiql
        return HTMLResponse(graphiql.page(), headers=graphiql.headers()) if shown else Response(status_code=404)
    media_type = protocol.JSON
    context: RequestContext | None = None
    headers = {"vary": "accept, authorization, x-tenant-id"}
    try:
        media_type = protocol.media_type(accept)
        # A client that sends slowly holds no place among the requests that run.
        body = await _body(request)
        async with request.app.state.admission:
            parsed = _parsed(request, body, services.settings.max_json_depth)
            context = await services.context(request)
            context.allowance.check()
            answer = await services.executor.run(parsed, context, may_mutate=request.method == "POST")
    except protocol.BadRequest as error:
        answer = protocol.Answer.refused(str(error), error.status)
    except BadToken as error:
        answer = protocol.Answer.refused(str(error), 401)
        headers["www-authenticate"] = "Bearer"
    except OverRate as error:
        answer = protocol.Answer.refused(str(error), 429, retryAfter=error.retry_after)
        headers["retry-after"] = str(error.retry_after)
    except KeysUnavailable as error:
        answer = protocol.Answer.refused(str(error), 503)
    except DatastoreError as error:
        answer = protocol.Answer({"data": None, "errors": [masked(GraphQLError("", original_error=error))]})
    status = answer.status_as(media_type)
    if context is not None:
        if answer.request_error and status != 429:
            context.allowance.owe(REFUSED_COST)
        headers |= context.allowance.headers()
    if status == 405:
        headers["allow"] = "POST"
    request.state.log.update(_log_fields(context, answer))
    return Json(answer.body, status, headers | {"content-type": f"{media_type}; charset=utf-8"})


async def _body(request: Request) -> bytes:
    bodies: Bodies = request.app.state.bodies
    return await bodies.receive(request) if request.method == "POST" else b""


def _parsed(request: Request, body: bytes, json_depth: int) -> protocol.GraphQLRequest:
    if request.method != "POST":
        return protocol.from_query(request.query_params, json_depth)
    return protocol.from_body(request.headers.get("content-type"), body, json_depth)


def _log_fields(context: RequestContext | None, answer: protocol.Answer) -> dict[str, Any]:
    """Returns what the log line of this request says besides what every line says."""
    usage = context.load.table.usage if context else None
    return {
        "event": "graphql",
        "operation": context.operation if context else None,
        "viewer": context.viewer.user_id if context else None,
        "compiled": context.compiled if context else False,
        "plan_failure": context.plan_failure if context else None,
        "errors": len(answer.body.get("errors", ())),
        "calls": dict(usage.calls) if usage else {},
        "read_units": usage.read_units if usage else 0,
        "write_units": usage.write_units if usage else 0,
        "retries": usage.retries if usage else 0,
    }
