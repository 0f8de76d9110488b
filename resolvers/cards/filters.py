"""Filters and orders of lists of cards. No index has these values, so cards are read and dropped."""

from typing import Annotated

from typing_extensions import Doc

from datastore.cards import Card, CardRank, Difficulty
from datastore.model.enums import Choice
from datastore.model.keys import Range
from loaders.filtered import UNINDEXED, Condition, Filtered, filtered, filtered_targets
from loaders.merge import Merge
from loaders.ranked import Ranked

OfDifficulty = Annotated[Difficulty | None, Doc("Returns only cards of this difficulty."), UNINDEXED]
WithTags = Annotated[
    list[str] | None, Doc("Returns only cards that have all of these tags. Case-insensitive."), UNINDEXED
]
WithinMinutes = Annotated[
    int | None, Doc("Returns only cards with an estimated time of at most this many minutes."), UNINDEXED
]


class CardOrder(Choice):
    """Order of a list of cards."""

    NEWEST_FIRST = "NEWEST_FIRST", "By time of publication, newest first."
    OLDEST_FIRST = "OLDEST_FIRST", "By time of publication, oldest first."


class CommentOrder(Choice):
    """Order of the comments of a card."""

    OLDEST_FIRST = "OLDEST_FIRST", "By time, oldest first."
    NEWEST_FIRST = "NEWEST_FIRST", "By time, newest first."
    TOP = "TOP", "By score, highest first. The order may lag by about a second."


Cards = Range[Card] | Ranked[Card] | Filtered[Card]
OrderOfCards = Annotated[CardOrder, Doc("Order of the cards.")]


def in_order(cards: Range[Card], order: CardOrder) -> Range[Card]:
    return cards.directed(descending=order is CardOrder.NEWEST_FIRST)


def matching(
    cards: Range[Card] | Ranked[Card],
    difficulty: Difficulty | None,
    tags: list[str] | None,
    max_estimated_time: int | None,
) -> Cards:
    """Returns the cards that have all that is given; None is not given."""
    conditions = _conditions(difficulty, tags, max_estimated_time)
    return filtered(cards, *conditions) if conditions else cards


def matching_targets(
    ranks: Range[CardRank] | Merge[CardRank],
    difficulty: Difficulty | None,
    tags: list[str] | None,
    max_estimated_time: int | None,
) -> Range[CardRank] | Merge[CardRank] | Filtered[CardRank]:
    """Returns the ranks of the cards that have all that is given; None is not given."""
    conditions = _conditions(difficulty, tags, max_estimated_time)
    return filtered_targets(ranks, *conditions) if conditions else ranks


def _conditions(
    difficulty: Difficulty | None, tags: list[str] | None, max_estimated_time: int | None
) -> list[Condition[Card]]:
    conditions: list[Condition[Card]] = []
    if difficulty is not None:
        conditions.append(lambda card: card.difficulty is difficulty)
    if tags:
        wanted = {tag.strip().casefold() for tag in tags}
        conditions.append(lambda card: wanted <= {tag.casefold() for tag in card.tags})
    if max_estimated_time is not None:
        conditions.append(lambda card: card.estimated_time is not None and card.estimated_time <= max_estimated_time)
    return conditions
