"""Charts of analytics over HTTP as SVG, for viewers who may see the counts."""

from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from datastore.accounts import User
from datastore.analytics import AnalyticsPeriod
from datastore.cards import Card
from datastore.cms import Content, Tenant
from datastore.model.times import Time, parse_time
from datastore.neighborhoods import Site
from datastore.social import Post
from loaders.needs import Step
from resolvers.analytics import edges
from resolvers.analytics.chart import chart
from resolvers.analytics.metrics import AnalyticsCount, Metric
from resolvers.analytics.results import Analytics
from resolvers.core.error_codes import ErrorCode
from resolvers.core.problems import Refused
from schema.declare.context import RequestContext
from schema.declare.errors import BadInput
from schema.declare.ids import key_of_any
from schema.http.plain_route import CACHED, answered, as_text
from schema.http.protocol import Answer

COST = 500
HEADERS = CACHED | {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'"}
METRICS = {metric.name.lower(): metric for metric in Metric}
PERIODS = {period.name.lower(): period for period in AnalyticsPeriod}
COUNTS = {count.name.lower(): count for count in AnalyticsCount}

Read = Callable[..., Step[Analytics | None]]
OF: dict[type, Read] = {
    Post: edges.of_post,
    Card: edges.of_card,
    Site: edges.of_site,
    Content: edges.of_content,
    Tenant: edges.of_tenant,
    User: edges.of_user,
}
PLATFORM = "platform"


async def analytics_svg(request: Request) -> Response:
    """`/analytics/<id>.svg?metric=likes&period=day&since=2026-01-01T00:00:00Z`, or `/analytics/platform.svg`."""
    asked = request.query_params
    metric = METRICS.get(asked.get("metric", "").lower())
    if metric is None:
        return _refused(f"`metric` is one of {', '.join(METRICS)}")
    period = PERIODS.get(asked.get("period", "day").lower())
    if period is None:
        return _refused(f"`period` is one of {', '.join(PERIODS)}")
    count = COUNTS.get(asked.get("count", "net").lower())
    if count is None:
        return _refused(f"`count` is one of {', '.join(COUNTS)}")
    try:
        since, until = (parse_time(asked[name]) if name in asked else None for name in ("since", "until"))
    except ValueError as error:
        return _refused(str(error))

    async def picture(context: RequestContext) -> Response:
        context.allowance.pay(COST)
        try:
            found = await _found(context, request.path_params["id"], period, since, until, count)
        except Refused as error:
            return _refused(error.problems[0].message)
        if found is None:
            return _refused("there is no such record, or its analytics are not yours to see", ErrorCode.NOT_FOUND)
        return Response(chart(found, metric, period), media_type="image/svg+xml", headers=HEADERS)

    return await answered(request, picture)


async def _found(
    context: RequestContext,
    record_id: str,
    period: AnalyticsPeriod,
    since: Time | None,
    until: Time | None,
    count: AnalyticsCount,
) -> Analytics | None:
    """Returns what the field `analytics` of the record shows to the viewer."""
    given: dict[str, Any] = {"period": period, "since": since, "until": until, "count": count}
    if record_id == PLATFORM:
        return await context.load.run(edges.of_platform(**given)) if context.viewer.is_admin else None
    try:
        key = key_of_any(record_id)
    except BadInput:
        return None
    if key.entity not in OF:
        return None
    record = await context.load.one(key)
    return await context.load.run(OF[key.entity](record, context.viewer, **given)) if record else None


def _refused(message: str, code: ErrorCode = ErrorCode.INVALID) -> Response:
    return as_text(Answer.refused(message, code))
