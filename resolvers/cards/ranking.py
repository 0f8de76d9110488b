"""Ranking of cards: by score, by controversy and by current activity."""

import math
from collections.abc import Sequence
from typing import Any

from datastore.cards import (
    Card,
    CardComment,
    CardCommentRank,
    CardCounts,
    CardRank,
    CardStatus,
    Shelf,
)
from datastore.client.writes import Condition, same
from datastore.model.codec import BigInt
from datastore.model.keys import Key, Range
from loaders.filtered import Filtered
from loaders.merge import Merge
from resolvers.cards.filters import OfDifficulty, WithinMinutes, WithTags, matching_targets
from resolvers.core.rankings import POINTS_FOR_A_COMMENT, DaysBack, bounded, heat, hottest

VIEWS_FOR_A_POINT = 20

SHELVES = {
    CardStatus.PUBLISHED: Shelf.LISTED,
    CardStatus.DRAFT: Shelf.DRAFTS,
    CardStatus.ARCHIVED: Shelf.ARCHIVE,
}

RankedCards = Range[CardRank] | Merge[CardRank] | Filtered[CardRank]


def in_place(card: Card, **changes: Any) -> Card:
    """Returns a changed card with the listing keys it should have."""
    card = card.changed(**changes)
    is_there = card.deleted_at is None and card.hidden_at is None
    listed_at = card.published_at if is_there and card.status is CardStatus.PUBLISHED else None
    places: dict[str, Any] = {
        "listed_at": listed_at,
        "listed_on": listed_at[:10] if listed_at else None,
        "shelf": SHELVES[card.status] if card.deleted_at is None else None,
        "shelved_at": card.published_at or card.created_at,
        "count_shards": card.count_shards or (1 if listed_at else 0),
    }
    return card.changed(**places, updated_at=card.updated_at)


def placed_as(card: Card) -> Condition:
    """Condition that the inputs of `in_place` and `counts_along` are unchanged."""
    return same("version", card.version) & same("count_shards", card.count_shards)


def controversy(upvotes: int, downvotes: int) -> BigInt | None:
    """Returns a thousand per vote if the votes are even, less if they are not, none if all agree."""
    if upvotes <= 0 or downvotes <= 0:
        return None
    balance = min(upvotes, downvotes) / max(upvotes, downvotes)
    return bounded(round(1_000 * math.pow(upvotes + downvotes, balance)))


def rank_of(card: Card, counts: Sequence[CardCounts]) -> CardRank | None:
    """Returns the rank of a card by its current counts, or None if it is not public."""
    if card.listed_at is None:
        return None
    ups, downs, score, comments, views = (
        sum(getattr(each, name) for each in counts)
        for name in ("upvote_count", "downvote_count", "vote_score", "comment_count", "view_count")
    )
    points = score + POINTS_FOR_A_COMMENT * comments + views / VIEWS_FOR_A_POINT
    return CardRank(
        card_id=card.card_id,
        day=card.listed_at[:10],
        heat=heat(points, card.listed_at),
        score=bounded(score),
        controversy=controversy(ups, downs),
        created_at=card.listed_at,
        updated_at=card.listed_at,
    )


def comment_rank_of(comment: CardComment) -> CardCommentRank | None:
    """Returns the rank of a comment among those of its card, or None if it is hidden."""
    if comment.hidden_at is not None:
        return None
    return CardCommentRank(
        card_id=comment.card_id,
        comment_id=comment.comment_id,
        created_at=comment.created_at,
        updated_at=comment.created_at,
        score=bounded(comment.vote_score),
    )


def ranked_card(rank: CardRank) -> Key[Card]:
    return Card.key(card_id=rank.card_id)


def ranked_comment(rank: CardCommentRank) -> Key[CardComment]:
    return CardComment.key(card_id=rank.card_id, created_at=rank.created_at, comment_id=rank.comment_id)


def top_cards(
    *, difficulty: OfDifficulty = None, tags: WithTags = None, max_estimated_time: WithinMinutes = None
) -> RankedCards:
    """Cards by score, highest first. The order may lag by about a second."""
    return matching_targets(CardRank.by_score().newest_first(), difficulty, tags, max_estimated_time)


def controversial_cards(
    *, difficulty: OfDifficulty = None, tags: WithTags = None, max_estimated_time: WithinMinutes = None
) -> RankedCards:
    """Cards by controversy, most divided first. The order may lag by about a second."""
    return matching_targets(CardRank.by_controversy().newest_first(), difficulty, tags, max_estimated_time)


def trending_cards(
    *,
    days: DaysBack = 7,
    difficulty: OfDifficulty = None,
    tags: WithTags = None,
    max_estimated_time: WithinMinutes = None,
) -> RankedCards:
    """Cards people view, upvote and discuss now. Ten times the activity offsets one day of age."""
    return matching_targets(hottest(days, _hot_on, "trending"), difficulty, tags, max_estimated_time)


def _hot_on(day: str) -> Range[CardRank]:
    return CardRank.by_heat(day=day)
