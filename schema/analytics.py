"""GraphQL types of analytics."""

from typing import Any

import strawberry

from datastore.model.times import Time
from resolvers.analytics import edges
from resolvers.analytics.metrics import MOST_POINTS, Metric
from schema.accounts import User
from schema.cards import Card
from schema.cms import Content, Tenant
from schema.declare.edges import computed
from schema.declare.object_types import object_type
from schema.declare.types import extend
from schema.execution.weights import WEIGHTS
from schema.neighborhoods import Site
from schema.social import Post


def shown(graphql_type: Any, description: str) -> Any:
    return strawberry.field(graphql_type=graphql_type, description=description)


def _counts() -> dict[str, Any]:
    return {metric.value: shown(int, metric.description) for metric in Metric}


class AnalyticsCounts:
    pass


class AnalyticsPoint:
    pass


object_type(AnalyticsCounts, _counts(), "Counts of what happened.")
object_type(AnalyticsPoint, {"at": shown(Time, "Start of the period."), **_counts()}, "Counts of one period.")


@strawberry.type(description="Counts per day or hour.")
class Analytics:
    points = shown(list[AnalyticsPoint], "Counts of each period, oldest first. Periods without any have zeros.")
    totals = shown(AnalyticsCounts, "Sums over all periods.")


@strawberry.type(description="A post and its count.")
class TopPost:
    node = shown(Post, "The post.")
    added = shown(int, "Number of what it is ranked by, added in the days of the range.")


@strawberry.type(description="A card and its count.")
class TopCard:
    node = shown(Card, "The card.")
    added = shown(int, "Number of what it is ranked by, added in the days of the range.")


@strawberry.type(description="Content and its count.")
class TopContent:
    node = shown(Content, "The content.")
    added = shown(int, "Number of what it is ranked by, added in the days of the range.")


WEIGHTS["Analytics", "points"] = MOST_POINTS


@extend(Post)
class PostAnalytics:
    analytics: Analytics | None = computed(edges.of_post, weight=10)


@extend(Card)
class CardAnalytics:
    analytics: Analytics | None = computed(edges.of_card, weight=10)


@extend(Site)
class SiteAnalytics:
    analytics: Analytics | None = computed(edges.of_site, weight=10)


@extend(Content)
class ContentAnalytics:
    analytics: Analytics | None = computed(edges.of_content, weight=10)


@extend(Tenant)
class TenantAnalytics:
    analytics: Analytics | None = computed(edges.of_tenant, weight=10)
    top_contents: list[TopContent] | None = computed(edges.top_contents, weight=edges.LONGEST)


@extend(User)
class UserAnalytics:
    analytics: Analytics | None = computed(edges.of_user, weight=10)
    top_posts: list[TopPost] | None = computed(edges.top_posts, weight=edges.LONGEST)
    top_cards: list[TopCard] | None = computed(edges.top_cards, weight=edges.LONGEST)


class Query:
    platform_analytics: Analytics | None = computed(edges.of_platform, weight=10)
    platform_top_posts: list[TopPost] | None = computed(edges.platform_top_posts, weight=edges.LONGEST)
    platform_top_cards: list[TopCard] | None = computed(edges.platform_top_cards, weight=edges.LONGEST)
