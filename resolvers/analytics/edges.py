"""Analytics: what each field reads, and who may see it."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeVar

from typing_extensions import Doc

from datastore.accounts import User
from datastore.analytics import AnalyticsPeriod, Scope, Tally, TopList
from datastore.cards import Card
from datastore.cms import Content, Tenant
from datastore.model.enums import Choice
from datastore.model.keys import Key
from datastore.model.times import Day, Time
from datastore.neighborhoods import Site
from datastore.social import Post
from loaders.needs import Step
from loaders.pages import whole
from loaders.viewer import Viewer
from loaders.visibility import seen_at
from resolvers.analytics.metrics import (
    DAY,
    MOST_DAYS,
    PLATFORM,
    AnalyticsCount,
    Metric,
    Span,
    counted,
    day_of,
)
from resolvers.analytics.results import Analytics, AnalyticsCounts, AnalyticsPoint, TopCard, TopContent, TopPost
from resolvers.analytics.subjects import Object, content_object
from resolvers.cms.tenancy import is_staff
from resolvers.core.access import AccessRelation, AccessRole, access
from resolvers.core.problems import ProblemCode, refused

Since = Annotated[
    Time | None, Doc("Time in the first period. Defaults to 30 days or 24 hours that end with `until`. At most 400.")
]
Until = Annotated[Time | None, Doc("Time in the last period. Defaults to now.")]
Period = Annotated[AnalyticsPeriod, Doc("Length of a period.")]
Counting = Annotated[AnalyticsCount, Doc("Kind of count.")]
FirstDay = Annotated[Day | None, Doc("First day. Defaults to 30 days that end with `until`. At most 100 days.")]
LastDay = Annotated[Day | None, Doc("Last day. Defaults to today, in UTC.")]
Longest = Annotated[int, Doc("Length of the list, 1–50.")]
NET = AnalyticsCount.NET

T = TypeVar("T")

LONGEST = 50
KINDS: Mapping[Any, Scope] = {TopPost: Scope.POST, TopCard: Scope.CARD, TopContent: Scope.CONTENT}


class PostMetric(Choice):
    """The count that posts are ranked by."""

    LIKES = "likes", "Likes."
    COMMENTS = "comments", "Comments."


class CardMetric(Choice):
    """The count that cards are ranked by."""

    VIEWS = "views", "Views."
    VOTES = "votes", "Votes."
    COMMENTS = "comments", "Comments."


class ContentMetric(Choice):
    """The count that content is ranked by."""

    CHANGES = "content_changes", "Versions."
    COMMENTS = "comments", "Comments."


def measured(
    about: Object, period: AnalyticsPeriod, since: Time | None, until: Time | None, count: AnalyticsCount
) -> Step[Analytics]:
    """Reads the counts of a range of periods: one Query. A period without counts has zeros."""
    span = Span.of(period, since, until)
    within = Tally.within(scope=about.scope, subject=about.subject, period=period)
    found: list[Tally] = yield from whole(within.between(span.starts[0], span.starts[-1]))
    stored = {tally.begins_at: tally for tally in found}
    points = [_point(at, stored.get(at), count) for at in span.starts]
    totals = AnalyticsCounts(*(sum(getattr(point, name) for point in points) for name in AnalyticsCounts._fields))
    return Analytics(points, totals)


def _point(at: Time, tally: Tally | None, count: AnalyticsCount) -> AnalyticsPoint:
    return AnalyticsPoint(at, *(counted(tally, metric, count) if tally else 0 for metric in Metric))


def top(
    subject: Object,
    result: Callable[[Any, int], T],
    metric: str,
    since: Day | None,
    until: Day | None,
    first: int,
    viewer: Viewer,
) -> Step[list[T]]:
    """Reads the lists of a range of days, one Query, and the best of their objects that the viewer may see."""
    kind = KINDS[result]
    if not 1 <= first <= LONGEST:
        raise refused(ProblemCode.INVALID, f"`first` is a number from 1 to {LONGEST}", at="first")
    # A day as a time: the first of its milliseconds.
    span = Span.of(DAY, Time(since) if since else None, Time(until) if until else None, MOST_DAYS)
    within = TopList.within(scope=subject.scope, subject=subject.subject, kind=kind, metric=metric)
    lists: list[TopList] = yield from whole(within.between(day_of(span.starts[0]), day_of(span.starts[-1])))
    totals: dict[str, int] = {}
    for each in lists:
        for object_id, count in each.counts.items():
            totals[object_id] = totals.get(object_id, 0) + count
    waiting = sorted(totals, key=lambda object_id: (-totals[object_id], object_id))
    best: list[T] = []
    while waiting and len(best) < first:
        some, waiting = waiting[:LONGEST], waiting[LONGEST:]
        records: list[Any] = yield from seen_at([_key(kind, each) for each in some], viewer, leave_out_damaged=True)
        best += [result(node, totals[each]) for each, node in zip(some, records, strict=True) if node is not None]
    return best[:first]


def _key(kind: Scope, object_id: str) -> Key[Any]:
    if kind is Scope.POST:
        return Post.key(post_id=object_id)
    if kind is Scope.CARD:
        return Card.key(card_id=object_id)
    tenant_id, _, node_id = object_id.rpartition("/")
    return Content.key(tenant_id=tenant_id, node_id=node_id)


def nothing() -> Step[None]:
    """A step that reads nothing."""
    yield from ()


@access(only=(AccessRelation.AUTHOR, AccessRelation.ADMIN))
def of_post(
    post: Post, viewer: Viewer, *, period: Period = DAY, since: Since = None, until: Until = None, count: Counting = NET
) -> Step[Analytics | None]:
    """Likes and comments of this post, per day or hour."""
    if not (viewer.is_user(post.user_id) or viewer.is_admin):
        return nothing()
    return measured(Object(Scope.POST, post.post_id), period, since, until, count)


@access(only=(AccessRelation.AUTHOR, AccessRelation.ADMIN))
def of_card(
    card: Card, viewer: Viewer, *, period: Period = DAY, since: Since = None, until: Until = None, count: Counting = NET
) -> Step[Analytics | None]:
    """Views, votes and comments of this card, per day or hour."""
    if not (viewer.is_user(card.author_id) or viewer.is_admin):
        return nothing()
    return measured(Object(Scope.CARD, card.card_id), period, since, until, count)


@access(only=(AccessRelation.OWNER, AccessRelation.ADMIN))
def of_site(
    site: Site, viewer: Viewer, *, period: Period = DAY, since: Since = None, until: Until = None, count: Counting = NET
) -> Step[Analytics | None]:
    """Builds of this site, per day or hour."""
    if not (viewer.is_user(site.user_id) or viewer.is_admin):
        return nothing()
    return measured(Object(Scope.SITE, site.site_id), period, since, until, count)


def _is_staff(tenant_id: str, viewer: Viewer) -> bool:
    return viewer.is_admin or (viewer.tenant_id == tenant_id and is_staff(viewer))


@access(only=(AccessRelation.TENANT_STAFF, AccessRelation.ADMIN))
def of_content(
    content: Content,
    viewer: Viewer,
    *,
    period: Period = DAY,
    since: Since = None,
    until: Until = None,
    count: Counting = NET,
) -> Step[Analytics | None]:
    """Versions of this content and comments on it, per day or hour."""
    if not _is_staff(content.tenant_id, viewer):
        return nothing()
    return measured(content_object(content.tenant_id, content.node_id), period, since, until, count)


@access(only=(AccessRelation.TENANT_STAFF, AccessRelation.ADMIN))
def of_tenant(
    tenant: Tenant,
    viewer: Viewer,
    *,
    period: Period = DAY,
    since: Since = None,
    until: Until = None,
    count: Counting = NET,
) -> Step[Analytics | None]:
    """Versions of content and comments on pages of this tenant, per day or hour."""
    if not _is_staff(tenant.tenant_id, viewer):
        return nothing()
    return measured(Object(Scope.TENANT, tenant.tenant_id), period, since, until, count)


@access(only=(AccessRelation.TENANT_STAFF, AccessRelation.ADMIN))
def top_contents(
    tenant: Tenant,
    viewer: Viewer,
    *,
    metric: Annotated[ContentMetric, Doc("The count.")] = ContentMetric.CHANGES,
    since: FirstDay = None,
    until: LastDay = None,
    first: Longest = 10,
) -> Step[list[TopContent] | None]:
    """Content with the most changes or comments added. Exact while at most 100 pieces a day have any."""
    if not _is_staff(tenant.tenant_id, viewer):
        return nothing()
    subject = Object(Scope.TENANT, tenant.tenant_id)
    return top(subject, TopContent, metric.value, since, until, first, viewer)


@access(only=(AccessRelation.SELF, AccessRelation.ADMIN))
def of_user(
    user: User, viewer: Viewer, *, period: Period = DAY, since: Since = None, until: Until = None, count: Counting = NET
) -> Step[Analytics | None]:
    """Works of this user, and reactions to them, per day or hour."""
    if not _is_self(user, viewer):
        return nothing()
    return measured(Object(Scope.USER, user.user_id), period, since, until, count)


def _is_self(user: User, viewer: Viewer) -> bool:
    return viewer.is_admin or viewer.is_user(user.user_id)


@access(only=(AccessRelation.SELF, AccessRelation.ADMIN))
def top_posts(
    user: User,
    viewer: Viewer,
    *,
    metric: Annotated[PostMetric, Doc("The count.")] = PostMetric.LIKES,
    since: FirstDay = None,
    until: LastDay = None,
    first: Longest = 10,
) -> Step[list[TopPost] | None]:
    """Posts of this user with the most likes or comments added. Exact while at most 100 posts a day have any."""
    if not _is_self(user, viewer):
        return nothing()
    return top(Object(Scope.USER, user.user_id), TopPost, metric.value, since, until, first, viewer)


@access(only=(AccessRelation.SELF, AccessRelation.ADMIN))
def top_cards(
    user: User,
    viewer: Viewer,
    *,
    metric: Annotated[CardMetric, Doc("The count.")] = CardMetric.VIEWS,
    since: FirstDay = None,
    until: LastDay = None,
    first: Longest = 10,
) -> Step[list[TopCard] | None]:
    """Cards of this user with the most views, votes or comments added. Exact while at most 100 cards a day have any."""
    if not _is_self(user, viewer):
        return nothing()
    return top(Object(Scope.USER, user.user_id), TopCard, metric.value, since, until, first, viewer)


EVERYTHING = Object(Scope.PLATFORM, PLATFORM)


@access(requires=AccessRole.ADMIN)
def of_platform(
    *, period: Period = DAY, since: Since = None, until: Until = None, count: Counting = NET
) -> Step[Analytics | None]:
    """Activity on the whole platform, per day or hour."""
    return measured(EVERYTHING, period, since, until, count)


@access(requires=AccessRole.ADMIN)
def platform_top_posts(
    viewer: Viewer,
    *,
    metric: Annotated[PostMetric, Doc("The count.")] = PostMetric.LIKES,
    since: FirstDay = None,
    until: LastDay = None,
    first: Longest = 10,
) -> Step[list[TopPost] | None]:
    """Posts with the most likes or comments added. A day outside of a post's best 100 is missing in its count."""
    return top(EVERYTHING, TopPost, metric.value, since, until, first, viewer)


@access(requires=AccessRole.ADMIN)
def platform_top_cards(
    viewer: Viewer,
    *,
    metric: Annotated[CardMetric, Doc("The count.")] = CardMetric.VIEWS,
    since: FirstDay = None,
    until: LastDay = None,
    first: Longest = 10,
) -> Step[list[TopCard] | None]:
    """Cards with the most views, votes or comments added. A day on which 100 others had more is missing in a count."""
    return top(EVERYTHING, TopCard, metric.value, since, until, first, viewer)
