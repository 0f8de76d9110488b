"""Processors of cards: rankings."""

from collections.abc import Sequence
from typing import Any

from datastore.cards import Card, CardComment, CardCommentRank, CardCounts, CardRank
from datastore.changes.change import Change
from datastore.client.writes import Write
from datastore.model.entity import Entity
from datastore.model.keys import Key
from loaders.request import Loaders
from resolvers.background.processors import processor
from resolvers.cards.counts import counts_keys
from resolvers.cards.ranking import comment_rank_of, rank_of
from resolvers.core.rankings import RANKED_AT_ONCE, rank_writes


@processor(Card, CardCounts, at_once=RANKED_AT_ONCE)
async def rank_cards(load: Loaders, changes: Sequence[Change]) -> list[Write]:
    """Keeps the ranks of cards equal to their counts: one write per card, however many votes."""
    card_ids = dict.fromkeys(change.key.values["card_id"] for change in changes)
    found = await load.fresh(*(Card.key(card_id=card_id) for card_id in card_ids))
    keys = [key for card in found if card is not None and card.listed_at is not None for key in counts_keys(card)]
    stored = await load.fresh(*keys) if keys else []
    counts: dict[str, list[CardCounts]] = {card_id: [] for card_id in card_ids}
    for each in stored:
        if each is not None:
            counts[each.card_id].append(each)
    wanted: dict[Key[Any], Entity | None] = {
        CardRank.key(card_id=card_id): None if card is None else rank_of(card, counts[card_id])
        for card_id, card in zip(card_ids, found, strict=True)
    }
    return await rank_writes(load, wanted)


@processor(CardComment, at_once=RANKED_AT_ONCE)
async def rank_card_comments(load: Loaders, changes: Sequence[Change]) -> list[Write]:
    """Keeps the ranks of comments equal to their votes."""
    keys = dict.fromkeys(change.key for change in changes)
    comments = await load.fresh(*keys)
    wanted: dict[Key[Any], Entity | None] = {
        CardCommentRank.key(**key.values): None if comment is None else comment_rank_of(comment)
        for key, comment in zip(keys, comments, strict=True)
    }
    return await rank_writes(load, wanted)
