"""Rules of consistency of cards."""

from typing import Any

from datastore.cards import ROOT, Card, CardComment, CardCounts, Category, Collection, CollectionCard, Vote
from datastore.client.writes import Check, Put, absent, same
from resolvers.cards.counts import counts_keys
from resolvers.cards.edges import (
    card_category,
    category_key,
    collected_card,
    commented_card,
    target_key,
    voted_comment,
)
from resolvers.cards.jobs import collection_of, purge_card
from resolvers.cards.processors import rank_card_comments, rank_cards
from resolvers.cards.ranking import in_place, placed_as
from resolvers.cards.vote_commands import moves
from resolvers.maintenance.rules import counter, derived, needs, placed, purged_by

IN_PARTS: dict[str, Any] = {
    "parts": CardCounts,
    "part_keys": counts_keys,
    "subject_of": lambda part: Card.key(card_id=part.card_id),
    # Before its first publication, a card has no counts.
    "when": lambda card: card.deleted_at is None and card.count_shards > 0,
}

counter(
    "comment_count",
    Card,
    of=CardComment,
    at=commented_card,
    items=lambda card: CardComment.within(card_id=card.card_id),
    weight=lambda comment: comment.hidden_at is None,
    **IN_PARTS,
)
for _name in ("upvote_count", "downvote_count", "vote_score"):

    def _weight(vote: Vote, name: str = _name) -> int:
        return moves(None, vote.direction).get(name, 0) if vote.hidden_at is None else 0

    counter(
        _name,
        Card,
        of=Vote,
        at=lambda vote: None if voted_comment(vote) else Card.key(card_id=vote.card_id),
        items=lambda card: Vote.on_target(target_id=card.card_id),
        weight=_weight,
        **IN_PARTS,
    )
    counter(
        _name,
        CardComment,
        of=Vote,
        at=voted_comment,
        items=lambda comment: Vote.on_target(target_id=comment.comment_id),
        weight=_weight,
    )
counter(
    "card_count",
    Collection,
    of=CollectionCard,
    at=collection_of,
    items=lambda collection: CollectionCard.within(collection_id=collection.collection_id),
    weight=lambda link: link.hidden_at is None,
)
counter(
    "child_count",
    Category,
    of=Category,
    at=lambda category: None if category.parent_id == ROOT else category_key(category.parent_id),
    items=lambda category: Category.children_of(parent_id=category.category_id),
)

needs(CardComment, keys=commented_card)
needs(
    Card,
    keys=lambda card: counts_keys(card) if card.deleted_at is None else None,
    mend=lambda card, key: [
        Put(CardCounts(card_id=card.card_id, shard=int(key.values["shard"]), listed_at=card.listed_at), when=absent()),
        Check(card.own_key, when=placed_as(card) & same("listed_at", card.listed_at) & absent("deleted_at")),
    ],
)
needs(Vote, keys=target_key)
needs(CollectionCard, keys=collected_card)
needs(Card, keys=card_category, is_mendable=False)
needs(
    Category,
    keys=lambda category: None if category.parent_id == ROOT else category_key(category.parent_id),
    is_mendable=False,
)

placed(Card, lambda card: in_place(card, updated_at=card.updated_at))
purged_by(Card, purge_card)
derived(Card, rank_cards)
derived(CardComment, rank_card_comments)
