"""Which cards come first: by score, by how divided the votes are, and by what happens now."""

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
from resolvers.core.problems import ProblemCode, refused

RANKED_EVERY = 2
CONSIDERED_A_DAY = 200
PAGES_A_DAY = 3
MOST_DAYS = 14
DAY = 24 * 3600
POINTS_FOR_A_COMMENT = 2
VIEWS_FOR_A_POINT = 20
# The largest a key can hold: some four million votes that are even.
MOST_CONTROVERSIAL = SCORES - 1

SHELVES = {
    CardStatus.PUBLISHED: Shelf.LISTED,
    CardStatus.DRAFT: Shelf.DRAFTS,
    CardStatus.ARCHIVED: Shelf.ARCHIVE,
}


def in_place(card: Card, **changes: Any) -> Card:
    """A changed card, in the lists where it belongs by now. Its rank follows the votes later, by `rank_card`."""
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
    """What `in_place` works with is still as it was read: while a card is listed its rank, otherwise its votes."""
    name = "ranked_changes" if card.listed_at else "vote_changes"
    return same(name, getattr(card, name))


def ranks(card: Card) -> dict[str, Any]:
    """Where a card stands by its votes as they are."""
    return {
        "ranked_score": card.vote_score,
        "controversy": controversy(card.upvote_count, card.downvote_count),
        "ranked_changes": card.vote_changes,
    }


def controversy(upvotes: int, downvotes: int) -> int | None:
    """As many thousands as there are votes where they are even, less where they are not; none where all agree."""
    if upvotes <= 0 or downvotes <= 0:
        return None
    balance = min(upvotes, downvotes) / max(upvotes, downvotes)
    return min(round(1_000 * math.pow(upvotes + downvotes, balance)), MOST_CONTROVERSIAL)


def ranking_of(card: Card) -> list[Put]:
    """What has the card ranked once more, if nothing that is queued already does."""
    return [] if needs_ranking(card) else [_queued_ranking(card.card_id)]


def needs_ranking(card: Card) -> bool:
    return card.vote_changes != (card.ranked_changes or 0)


def _queued_ranking(card_id: str) -> Put:
    """All votes on a card within two seconds are ranked together."""
    return queued(rank_card, due_at=next_full(RANKED_EVERY), job_id=f"rank-{card_id}", card_id=card_id)


@short_job
async def rank_card(load: Loaders, *, card_id: str) -> None:
    """Move a card to where its votes say. Who votes meanwhile counts on it that this looks again before it ends."""
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
    *, days: Annotated[int, Doc("How many days to look back, today included: 1 to 14.")] = 7
) -> Step[Ranked[Card]]:
    """What people look at, vote for and talk about now: ten times as much of that makes up for one day of age."""
    if not 1 <= days <= MOST_DAYS:
        raise refused(ProblemCode.INVALID, f"`days` is {days}; it goes from 1 to {MOST_DAYS}", "days")
    today = datetime.now(UTC).date()
    ranges = [cards_of_day((today - timedelta(days=age)).isoformat()) for age in range(days)]
    found: dict[Key[Card], Card] = {}
    reads = [RangeRead(within, CONSIDERED_A_DAY) for within in ranges]
    for _ in range(PAGES_A_DAY):
        pages: list[Page[Card]] = yield Pages(reads)
        found |= {card.own_key: card for page in pages for card in page.records}
        reads = [rest for read, page in zip(reads, pages, strict=True) if (rest := _rest_of_day(read, page))]
        if not reads:
            break
    return Ranked({key: f"{heat(card):016.9f}" for key, card in found.items()}, found, "trending")


def _rest_of_day(read: RangeRead, page: Page[Card]) -> RangeRead | None:
    """DynamoDB ends a page at a megabyte, which may be far fewer cards than were asked for."""
    left = read.limit - len(page.records)
    return RangeRead(read.within, left, page.more) if page.more and left > 0 else None


def cards_of_day(day: str) -> Range[Card]:
    return Card.on_day(listed_on=day).newest_first()


def heat(card: Card) -> float:
    """Of two cards the same is hotter at any time, so that pages of the list fit together as it cools."""
    points = card.vote_score + POINTS_FOR_A_COMMENT * card.comment_count + card.view_count / VIEWS_FOR_A_POINT
    published = epoch_seconds(card.published_at or Time(card.created_at))
    return published / DAY + math.copysign(math.log10(max(abs(points), 1)), points)
