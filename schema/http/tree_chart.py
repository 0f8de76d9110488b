"""Family tree charts over HTTP as SVG, for viewers who may see the tree."""

import asyncio

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from datastore.client.errors import CorruptItem, InvalidKey, Retryable
from loaders.threads import Busy
from resolvers.accounts.tokens import BadToken, KeysUnavailable
from resolvers.core.allowance import OverRate
from resolvers.genealogy.chart.layout import Line
from resolvers.genealogy.chart.query import picture
from resolvers.genealogy.relatives import MOST_GENERATIONS
from schema.http import protocol
from schema.http.services import Services

LINES = {line.value.lower(): line for line in Line}
COUNTS = {str(number): number for number in range(1, MOST_GENERATIONS + 1)}
COST = 1_000
HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
    "cache-control": "private, no-cache",
    "vary": "authorization, x-tenant-id",
}


async def tree_svg(request: Request) -> Response:
    """`/trees/<treeId>.svg?person=<personId>&line=ancestors&generations=4`"""
    asked = request.query_params
    line = LINES.get(asked.get("line", "ancestors").lower())
    if line is None:
        return PlainTextResponse("`line` is ancestors or descendants", 400)
    generations = asked.get("generations")
    if generations is not None and generations not in COUNTS:
        return PlainTextResponse(f"`generations` is a number from 1 to {MOST_GENERATIONS}", 400)
    try:
        services: Services = request.app.state.services
        async with asyncio.timeout(services.settings.request_timeout), request.app.state.admission:
            context = await services.context(request)
            context.allowance.pay(COST)
            found = await context.load.run(
                picture(
                    context.viewer,
                    request.path_params["tree_id"],
                    asked.get("person"),
                    line,
                    COUNTS[generations] if generations else None,
                )
            )
    except BadToken as error:
        return PlainTextResponse(str(error), 401, {"www-authenticate": "Bearer"})
    except OverRate as error:
        return PlainTextResponse(str(error), 429, {"retry-after": str(error.retry_after)})
    except KeysUnavailable as error:
        return PlainTextResponse(str(error), 503)
    except Busy as error:
        return PlainTextResponse(str(error), 503)
    except CorruptItem:
        return PlainTextResponse("a stored record of this tree is damaged; it was reported", 500)
    except (Retryable, TimeoutError):
        return PlainTextResponse("the database is busy or out of reach; try again", 503)
    except (InvalidKey, protocol.BadRequest) as error:
        return PlainTextResponse(str(error), 400)
    if found is None:
        return PlainTextResponse("there is no such tree, or no such person in it", 404)
    return Response(found, media_type="image/svg+xml", headers=HEADERS)
