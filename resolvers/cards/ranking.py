"""Ranking of cards: by score, by controversy and by current activity."""

import math
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from typing_extensions import Doc

from datastore.cards import Card, CardStatus, Shelf
from datastore.client.table import Page, RangeRead
from datastore.client.writes import Condition, Put, Update, below, exists, same
from datastore.model.keys import SCORES, Key, Range
from datastore.model.times import Time, epoch_seconds, next_full
from loaders.needs import Pages, Step
from loaders.ranked import Ranked
from loaders.request import Loaders
from resolvers.background.jobs import attempt, queued, short_job
from resolvers.cards.filters import Cards, OfDifficulty, WithinMinutes, WithTags, matching
from resolvers.core.problems import ProblemCode, refused

RANKED_EVERY = 2
CONSIDERED_A_DAY = 200
PAGES_A_DAY = 3
MOST_DAYS = 14
DAY = 24 * 3600
POINTS_FOR_A_COMMENT = 2
VIEWS_FOR_A_POINT = 20
# The largest value a key can hold: about four million evenly divided votes.
MOST_CONTROVERSIAL = SCORES - 1

SHELVES = {
    CardStatus.PUBLISHED: Shelf.LISTED,
    CardStatus.DRAFT: Shelf.DRAFTS,
    CardStatus.ARCHIVED: Shelf.ARCHIVE,
}


def in_place(card: Card, **changes: Any) -> Card:
    """Returns a changed card with the listing keys it should have. `rank_card` updates its rank later."""
    card = card.changed(**changes)
    is_there = card.deleted_at is None and card.hidden_at is None
    is_listed = is_there and card.status is CardStatus.PUBLISHED
    listed_at = card.published_at if is_listed else None
    places: dict[str, Any] = {
        "listed_at": listed_at,
        "listed_on": listed_at[:10] if listed_at else None,
        "shelf": SHELVES[card.status] if card.deleted_at is None else None,
        "shelved_at": card.published_at or card.created_at,
    }
    if not is_listed or card.ranked_score is None:
        places |= ranks(card) if is_listed else {"ranked_score": None, "controversy": None}
    return card.changed(**places, updated_at=card.updated_at)


def placed_as(card: Card) -> Condition:
    """Condition that the inputs of `in_place` are unchanged: the rank of a listed card, otherwise its votes."""
    name = "ranked_changes" if card.listed_at else "vote_changes"
    return same(name, getattr(card, name))


def ranks(card: Card) -> dict[str, Any]:
    """Returns the rank of a card by its current votes."""
    return {
        "ranked_score": card.vote_score,
        "controversy": controversy(card.upvote_count, card.downvote_count),
        "ranked_changes": card.vote_changes,
    }


def controversy(upvotes: int, downvotes: int) -> int | None:
    """Returns a thousand per vote if the votes are even, less if they are not, none if all agree."""
    if upvotes <= 0 or downvotes <= 0:
        return None
    balance = min(upvotes, downvotes) / max(upvotes, downvotes)
    return min(round(1_000 * math.pow(upvotes + downvotes, balance)), MOST_CONTROVERSIAL)


def ranking_of(card: Card) -> list[Put]:
    """Returns the write that queues a ranking, unless one is queued already."""
    return [] if needs_ranking(card) else [_queued_ranking(card.card_id)]


def needs_ranking(card: Card) -> bool:
    return card.vote_changes != (card.ranked_changes or 0)


def _queued_ranking(card_id: str) -> Put:
    """Batches all votes on a card within two seconds into one ranking."""
    return queued(rank_card, due_at=next_full(RANKED_EVERY), job_id=f"rank-{card_id}", card_id=card_id)


@short_job
async def rank_card(load: Loaders, *, card_id: str) -> None:
    """Moves a card to the rank its votes give it. Checks again before it ends, because votes may come in meanwhile."""
    key: Key[Card] = Card.key(card_id=card_id)
    (card,) = await load.fresh(key)
    if card is None or card.listed_at is None or not needs_ranking(card):
        return
    ranked = card.changed(**ranks(card), updated_at=card.updated_at)
    is_newer = exists("listed_at") & below("ranked_changes", card.vote_changes)
    await attempt(load.write(Update.of(card, ranked, when=is_newer)))
    (card,) = await load.fresh(key)
    if card is not None and card.listed_at is not None and needs_ranking(card):
        await load.write(_queued_ranking(card_id))


def trending_cards(
    *,
    days: Annotated[int, Doc("Number of days to look back, including today: 1–14. Defaults to 7.")] = 7,
    difficulty: OfDifficulty = None,
    tags: WithTags = None,
    max_estimated_time: WithinMinutes = None,
) -> Step[Cards]:
    """Cards people view, upvote and discuss now. Ten times the activity offsets one day of age."""
    if not 1 <= days <= MOST_DAYS:
        raise refused(ProblemCode.INVALID, f"`days` is {days}; it goes from 1 to {MOST_DAYS}", at="days")
    today = datetime.now(UTC).date()
    ranges = [cards_of_day((today - timedelta(days=age)).isoformat()).newest_first() for age in range(days)]
    found: dict[Key[Card], Card] = {}
    reads = [RangeRead(within, CONSIDERED_A_DAY) for within in ranges]
    for _ in range(PAGES_A_DAY):
        pages: list[Page[Card]] = yield Pages(reads)
        found |= {card.own_key: card for page in pages for card in page.records}
        reads = [rest for read, page in zip(reads, pages, strict=True) if (rest := _rest_of_day(read, page))]
        if not reads:
            break
    ranked = Ranked({key: f"{heat(card):016.9f}" for key, card in found.items()}, found, "trending")
    return matching(ranked, difficulty, tags, max_estimated_time)


def _rest_of_day(read: RangeRead, page: Page[Card]) -> RangeRead | None:
    """Reads several pages: DynamoDB ends a page at 1 MB, which may be far fewer cards than the limit."""
    left = read.limit - len(page.records)
    return RangeRead(read.within, left, page.more) if page.more and left > 0 else None


def cards_of_day(day: str) -> Range[Card]:
    return Card.on_day(listed_on=day)


def heat(card: Card) -> float:
    """Orders two cards the same way at any time, so that pages of the list stay consistent."""
    points = card.vote_score + POINTS_FOR_A_COMMENT * card.comment_count + card.view_count / VIEWS_FOR_A_POINT
    published = epoch_seconds(card.published_at or Time(card.created_at))
    return published / DAY + math.copysign(math.log10(max(abs(points), 1)), points)
