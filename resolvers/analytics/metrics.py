"""Metrics of analytics, and the periods it counts in."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from datastore.analytics import AnalyticsPeriod, Scope, Tally
from datastore.model.enums import Choice
from datastore.model.times import Day, Time, as_time
from resolvers.core.problems import ProblemCode, refused

MOST_POINTS = 400
MOST_DAYS = 100
PLATFORM = "ALL"
"""The subject of counts about everything."""

DAY, HOUR = AnalyticsPeriod
LENGTH = {DAY: timedelta(days=1), HOUR: timedelta(hours=1)}
USUAL_POINTS = {DAY: 30, HOUR: 24}


class Metric(Choice):
    """Something that analytics counts."""

    VIEWS = "views", "Views of cards."
    VOTES = "votes", "Votes on cards. A change of direction is no new vote."
    COMMENTS = "comments", "Comments on posts, cards and pages."
    LIKES = "likes", "Likes of posts."
    FOLLOWS = "follows", "Follows."
    POSTS = "posts", "Posts."
    CARDS = "cards", "Cards, including drafts."
    USERS = "users", "Accounts."
    BUILDS = "builds", "Builds of sites that were started."
    CONTENT_CHANGES = "content_changes", "Versions of content."


# The fields of a Tally. As mappings of a module, they tell which fields have to be read.
ADDED: Mapping[Metric, str] = {metric: metric.value for metric in Metric}
REMOVED: Mapping[Metric, str] = {
    metric: f"{metric.value}_removed"
    for metric in Metric
    if metric not in (Metric.VIEWS, Metric.BUILDS, Metric.CONTENT_CHANGES)
}
"""Views, builds and versions cannot be removed."""

RANKED: Mapping[Scope, tuple[Metric, ...]] = {
    Scope.POST: (Metric.LIKES, Metric.COMMENTS),
    Scope.CARD: (Metric.VIEWS, Metric.VOTES, Metric.COMMENTS),
    Scope.CONTENT: (Metric.CONTENT_CHANGES, Metric.COMMENTS),
}
"""The counts that objects are ranked by."""


class AnalyticsCount(Choice):
    """Kind of count."""

    NET = "NET", "Added minus removed. The sum over all time is the current number."
    ADDED = "ADDED", "Records that were added."
    REMOVED = "REMOVED", "Records that were removed: withdrawn, deleted, or purged with an account."


def counted(tally: Tally, metric: Metric, count: AnalyticsCount) -> int:
    """Returns one count of a period."""
    added = getattr(tally, ADDED[metric]) or 0
    removed = getattr(tally, REMOVED[metric]) or 0 if metric in REMOVED else 0
    return {AnalyticsCount.NET: added - removed, AnalyticsCount.ADDED: added, AnalyticsCount.REMOVED: removed}[count]


def beginning(period: AnalyticsPeriod, at: str) -> Time:
    """Returns the start of the period that contains a time."""
    return Time(f"{at[:10]}T00:00:00.000Z" if period is DAY else f"{at[:13]}:00:00.000Z")


class Span(NamedTuple):
    """Successive periods, by the start of each."""

    period: AnalyticsPeriod
    starts: list[Time]

    @classmethod
    def of(cls, period: AnalyticsPeriod, since: Time | None, until: Time | None, most: int = MOST_POINTS) -> "Span":
        """Returns the periods from the one that contains `since` through the one that contains `until`."""
        step = LENGTH[period]
        last = _start(period, until) if until else _start(period, as_time(datetime.now(UTC)))
        if since:
            first = _start(period, since)
        else:
            # The first days of the calendar have no 30 days before them.
            room = (last - datetime.min.replace(tzinfo=UTC)) // step
            first = last - min(USUAL_POINTS[period] - 1, room) * step
        count = (last - first) // step + 1
        if count < 1:
            raise refused(ProblemCode.INVALID, "`since` is after `until`; exchange them", at="since")
        if count > most:
            noun = f"{period.value.lower()}s"
            message = f"this is a range of {count:,} {noun}; at most {most} are allowed. Choose a later `since`"
            raise refused(ProblemCode.INVALID, message, at="since")
        return cls(period, [as_time(first + number * step) for number in range(count)])


def _start(period: AnalyticsPeriod, at: str) -> datetime:
    return datetime.fromisoformat(beginning(period, at))


def day_of(at: str) -> Day:
    return Day(at[:10])
