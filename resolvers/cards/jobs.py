"""Background jobs of cards: purges, and the rules for a deleted account."""

from typing import Any

from datastore.cards import Card, CardComment, CardCommentRank, CardCounts, CardRank, Collection, CollectionCard, Vote
from datastore.client.writes import Condition, Delete, Put, Update, Write, equals, exists, same
from datastore.model.keys import Key
from datastore.model.times import time_from_now
from loaders.request import Loaders
from resolvers.accounts.visibility_sync import Count, Works, add_to, set_mark, works
from resolvers.background.jobs import BATCH, SETTLED, delete_all, for_each, job, queued
from resolvers.cards.counts import counts_along, counts_key
from resolvers.cards.edges import voted_comment
from resolvers.cards.ranking import in_place, placed_as
from resolvers.cards.vote_commands import moves
from resolvers.core.retry import retries_on_conflict


def purging(card: Card) -> Put:
    return queued(purge_card, due_at=time_from_now(SETTLED), card_id=card.card_id)


@job
async def purge_card(load: Loaders, *, card_id: str) -> None:
    """Purges a deleted card. The card itself goes last, so that an interrupted purge can be repeated.

    Its counts go first: without them, votes and comments are refused.
    """
    await delete_all(load, CardCounts.within(card_id=card_id))
    async for comments in load.pages(CardComment.within(card_id=card_id), BATCH):
        for comment in comments:
            await purge_votes(load, target_id=comment.comment_id)
        await load.table.batch_write(deletes=[comment.own_key for comment in comments])
    await purge_votes(load, target_id=card_id)
    async for links in load.pages(CollectionCard.of_card(card_id=card_id), BATCH):
        await for_each(links, remove_link, load)
    await delete_all(load, CardCommentRank.within(card_id=card_id))
    await load.table.batch_write(deletes=[CardRank.key(card_id=card_id)])
    await load.table.batch_write(deletes=[Card.key(card_id=card_id)])


def purging_votes(comment: CardComment) -> Put:
    return queued(purge_votes, due_at=time_from_now(SETTLED), target_id=comment.comment_id)


@job
async def purge_votes(load: Loaders, *, target_id: str) -> None:
    """Purges the votes on a deleted card or comment."""
    await delete_all(load, Vote.on_target(target_id=target_id))


@retries_on_conflict
async def remove_link(found: CollectionCard, load: Loaders) -> None:
    """Removes a card from a collection, and from its count if it is counted."""
    keys: list[Key[Any]] = [found.own_key, collection_of(found)]
    link, collection = await load.fresh(*keys)
    if link is None:
        return
    is_counted = collection is not None and link.hidden_at is None
    counted = [Update(collection_of(link), add={"card_count": -1}, when=exists())] if is_counted else []
    await load.write(Delete(link.own_key, when=exists() & same("hidden_at", link.hidden_at)), *counted)


def collection_of(link: CollectionCard) -> Key[Collection]:
    return Collection.key(user_id=link.user_id, collection_id=link.collection_id)


@job
async def purge_collection(load: Loaders, *, collection_id: str) -> None:
    """Purges the links of a deleted collection."""
    await delete_all(load, CollectionCard.within(collection_id=collection_id))


@job
async def match_collected_card(load: Loaders, *, card_id: str) -> None:
    """Collections do not count a card while the account of its author is deleted."""
    key: Key[Card] = Card.key(card_id=card_id)
    (card,) = await load.fresh(key)
    while card is not None:
        hidden = card.hidden_at is not None
        async for links in load.pages(CollectionCard.of_card(card_id=card_id), BATCH):
            await for_each(links, _match_link, load, hidden)
        (card,) = await load.fresh(key)
        if card is not None and hidden is (card.hidden_at is not None):
            return


async def _match_link(link: CollectionCard, load: Loaders, hidden: bool) -> None:
    await set_mark(load, link, hidden, "hidden_at", LINKS)


LINKS = Works(counts={"hidden_at": Count(collection_of, add_to("card_count"))})


def _in_lists(card: Card) -> Card | None:
    return in_place(card, updated_at=card.updated_at) if card.deleted_at is None else None


def _follow(before: Card, after: Card) -> list[Write]:
    """Opens or closes the counts, and queues the job that updates the counts of collections."""
    return [
        *counts_along(before, after),
        queued(match_collected_card, due_at=time_from_now(SETTLED), card_id=after.card_id),
    ]


def _counts_of_card(work: CardComment | Vote) -> Key[Any]:
    """The counts in shards are added up: it does not matter which of them moves."""
    return counts_key(work.card_id)


def _counts_of_target(vote: Vote) -> Key[Any]:
    return voted_comment(vote) or _counts_of_card(vote)


def _vote_moves(vote: Vote, counts: CardCounts | CardComment, step: int) -> list[Write]:
    """Withdraws a vote from its target, or casts it again."""
    before, after = (vote.direction, None) if step < 0 else (None, vote.direction)
    return [Update(counts.own_key, add=moves(before, after), when=exists())]


def _as_cast(vote: Vote) -> Condition:
    return equals("direction", vote.direction)


async def _empty_card(load: Loaders, card: Card) -> None:
    await purge_card(load, card_id=card.card_id)


async def _empty_comment(load: Loaders, comment: CardComment) -> None:
    await purge_votes(load, target_id=comment.comment_id)


async def _empty_collection(load: Loaders, collection: Collection) -> None:
    await purge_collection(load, collection_id=collection.collection_id)


works(Card, Works(placed=_in_lists, as_read=placed_as, along=_follow, empty=_empty_card))
works(
    CardComment,
    Works(counts={"hidden_at": Count(_counts_of_card, add_to("comment_count"))}, empty=_empty_comment),
)
works(Vote, Works(counts={"hidden_at": Count(_counts_of_target, _vote_moves)}, as_read=_as_cast))
works(Collection, Works(empty=_empty_collection))
