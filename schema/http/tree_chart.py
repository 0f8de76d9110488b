"""Family tree charts over HTTP as SVG, for viewers who may see the tree."""

from starlette.requests import Request
from starlette.responses import Response

from resolvers.core.error_codes import ErrorCode
from resolvers.genealogy.chart.layout import Line
from resolvers.genealogy.chart.query import picture
from resolvers.genealogy.relatives import MOST_GENERATIONS
from schema.declare.context import RequestContext
from schema.http.plain_route import CACHED, answered, as_text
from schema.http.protocol import Answer

LINES = {line.value.lower(): line for line in Line}
COUNTS = {str(number): number for number in range(1, MOST_GENERATIONS + 1)}
COST = 1_000
HEADERS = CACHED | {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'"}


async def tree_svg(request: Request) -> Response:
    """`/trees/<treeId>.svg?person=<personId>&line=ancestors&generations=4`"""
    asked = request.query_params
    line = LINES.get(asked.get("line", "ancestors").lower())
    if line is None:
        return _refused("`line` is ancestors or descendants")
    generations = asked.get("generations")
    if generations is not None and generations not in COUNTS:
        return _refused(f"`generations` is a number from 1 to {MOST_GENERATIONS}")

    async def chart(context: RequestContext) -> Response:
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
        if found is None:
            return _refused("there is no such tree, or no such person in it", ErrorCode.NOT_FOUND)
        return Response(found, media_type="image/svg+xml", headers=HEADERS)

    return await answered(request, chart)


def _refused(message: str, code: ErrorCode = ErrorCode.INVALID) -> Response:
    return as_text(Answer.refused(message, code))
