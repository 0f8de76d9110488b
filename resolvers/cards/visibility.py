"""Visibility rules of cards, comments, votes, collections and categories."""

from typing import Any

from datastore.accounts import User
from datastore.cards import (
    Card,
    CardComment,
    CardCommentRank,
    CardCounts,
    CardRank,
    CardStatus,
    Category,
    Collection,
    CollectionCard,
    Vote,
)
from loaders.needs import Step
from loaders.viewer import Viewer
from loaders.visibility import judged_at, shown_to_everyone, visibility
from resolvers.cards.edges import target_key

# Categories are public. The others are as visible as their card.
shown_to_everyone(CardComment, inside=Card)
shown_to_everyone(CardCommentRank, CardCounts, CardRank, Category, CollectionCard)


@visibility(Card)
def card_visible(card: Card, viewer: Viewer) -> bool:
    return card.deleted_at is None and (card.status is CardStatus.PUBLISHED or viewer.is_user(card.author_id))


@visibility(Vote)
def vote_visible(vote: Vote, viewer: Viewer) -> Step[bool]:
    """A vote is visible to everyone who can see its target."""
    found: list[Any] = yield from judged_at([target_key(vote)], viewer)
    return found[0] is not None


@visibility(Collection, inside=User)
def collection_visible(collection: Collection, viewer: Viewer) -> bool:
    return collection.is_public or viewer.is_user(collection.user_id)
