"""Results of analytics, as fields return them."""

from typing import NamedTuple

from datastore.cards import Card
from datastore.cms import Content
from datastore.model.times import Time
from datastore.social import Post


class AnalyticsCounts(NamedTuple):
    """One number for each metric."""

    views: int
    votes: int
    comments: int
    likes: int
    follows: int
    posts: int
    cards: int
    users: int
    builds: int
    content_changes: int


class AnalyticsPoint(NamedTuple):
    """The counts of the period that starts at a time."""

    at: Time
    views: int
    votes: int
    comments: int
    likes: int
    follows: int
    posts: int
    cards: int
    users: int
    builds: int
    content_changes: int


class Analytics(NamedTuple):
    """Counts per day or hour."""

    points: list[AnalyticsPoint]
    totals: AnalyticsCounts


class TopPost(NamedTuple):
    """A post and its count."""

    node: Post
    added: int


class TopCard(NamedTuple):
    """A card and its count."""

    node: Card
    added: int


class TopContent(NamedTuple):
    """Content and its count."""

    node: Content
    added: int
