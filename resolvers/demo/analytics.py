"""Counts per day of what happened in the demo, as analytics would have kept them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from datastore.accounts import User
from datastore.analytics import AnalyticsPeriod
from datastore.cards import Card, CardComment, CardCounts, Vote
from datastore.cms import Content, ContentVersion, PageComment
from datastore.model.entity import Entity
from datastore.model.times import Time, as_time, now
from datastore.social import Comment, Follow, Like, Post
from resolvers.analytics.events import Event
from resolvers.analytics.metrics import Metric
from resolvers.analytics.processors import ranked_first, tallied, tops_of
from resolvers.analytics.subjects import COUNTED, SUBJECTS, Object, content_object

DAYS_OF_VIEWS = 5


def analytics(records: Sequence[Entity]) -> list[Entity]:
    """Returns the counts and top lists of each day."""
    authors = {
        SUBJECTS[type(record)](record.own_key.values): record.__dict__[record.account_fields[0]]
        for record in records
        if isinstance(record, Post | Card)
    }
    events = [event for record in records for event in _events(record, authors)]
    days = {key: each for key, each in tallied(events).items() if each[0].period is AnalyticsPeriod.DAY}
    return [
        *(tally.changed(**counts, updated_at=tally.updated_at) for tally, counts in days.values()),
        *(replace(top, counts=ranked_first(top, objects, days)) for top, objects in tops_of(events).values()),
    ]


def _events(record: Entity, authors: dict[Object, str]) -> Iterator[Event]:
    at = record.created_at
    match record:
        case Like() | Comment() | CardComment() | Vote() | Post() | Card():
            metric, find = COUNTED[type(record)]
            about = find(record.own_key.values)
            if about in authors:
                is_itself = type(record) in SUBJECTS
                yield Event(metric, at, about=None if is_itself else about, author_id=authors[about])
        case CardCounts():
            about = SUBJECTS[Card](record.own_key.values)
            yield from _views(record, about, authors[about])
        case Follow():
            yield Event(Metric.FOLLOWS, at, author_id=record.following_id)
        case User():
            yield Event(Metric.USERS, at)
        case Content() | ContentVersion():
            about, author_id = content_object(record.tenant_id, record.node_id), record.author_id
            yield Event(Metric.CONTENT_CHANGES, record.updated_at, False, about, author_id, record.tenant_id)
        case PageComment():
            about = content_object(record.tenant_id, record.node_id)
            yield Event(Metric.COMMENTS, at, about=about, tenant_id=record.tenant_id)


def _views(counts: CardCounts, about: Object, author_id: str) -> Iterator[Event]:
    """Spreads the views of a card over its first days."""
    left, at = counts.view_count, counts.listed_at or counts.created_at
    for number in range(DAYS_OF_VIEWS):
        views = left if number == DAYS_OF_VIEWS - 1 else left // 2
        left -= views
        if views:
            yield Event(Metric.VIEWS, _later(at, number), False, about, author_id, amount=views)


def _later(at: Time, days: int) -> Time:
    """Returns the time some days later, but not after now."""
    return min(as_time(datetime.fromisoformat(at) + timedelta(days=days)), now())
