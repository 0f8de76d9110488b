"""The schema over HTTP as text, for code generators of viewers who may introspect."""

from functools import cache
from hashlib import sha256

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from schema.build import sdl
from schema.declare.context import RequestContext
from schema.execution.introspection import Forbidden, check_allowed
from schema.http.plain_route import CACHED, answered, as_text
from schema.http.protocol import Answer
from schema.http.services import Services

COST = 1_000
UNCHANGED_COST = 1


async def schema_text(request: Request) -> Response:
    """`/schema.graphql`"""
    services: Services = request.app.state.services

    async def text(context: RequestContext) -> Response:
        is_unchanged = etag() in _known(request.headers.get("if-none-match", ""))
        context.allowance.pay(UNCHANGED_COST if is_unchanged else COST)
        try:
            check_allowed(services.settings.introspection, signed_in=context.viewer.user_id is not None)
        except Forbidden as error:
            return as_text(Answer.refused(str(error), error.code))
        headers = CACHED | {"etag": etag()}
        return Response(status_code=304, headers=headers) if is_unchanged else PlainTextResponse(sdl(), headers=headers)

    return await answered(request, text)


@cache
def etag() -> str:
    return f'"{sha256(sdl().encode()).hexdigest()[:32]}"'


def _known(header: str) -> list[str]:
    """Returns the versions that the client has. A proxy that compresses makes them weak."""
    return [version.strip().removeprefix("W/") for version in header.split(",")]
