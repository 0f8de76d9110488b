"""What is done about cards in the background: the index of words, and clearing away."""

from datetime import timedelta
from typing import Any

from datastore.cards import Card, CardComment, Collection, CollectionCard, Shelf, Vote
from datastore.client.errors import Conflict
from datastore.client.writes import Condition, Delete, Put, Update, equals, exists
from datastore.model.keys import Key, Range
from datastore.model.times import Time, now, time_from_now
from loaders.request import Loaders
from resolvers.accounts.lifecycle import when_account_is
from resolvers.accounts.visibility_sync import match_to_account
from resolvers.background.jobs import AT_ONCE, BATCH, attempt, delete_all, for_each, job, queued, short_job
from resolvers.cards.edges import card_category, target_key
from resolvers.cards.ranking import in_place, placed_as, ranking_of
from resolvers.cards.search import SEARCH, searched_words
from resolvers.cards.vote_commands import moves, still_ranked_as
from resolvers.core.retry import settled

# Until then every index has what was written before: what is found by one of them is all there is to find.
SETTLED = timedelta(seconds=5)


@short_job
async def index_card(load: Loaders, *, card_id: str) -> None:
    """Make a card be found by what it says now; one that not everybody sees, by nothing."""
    words = await _words(load, card_id)
    while True:
        await SEARCH.index(load, card_id, words)
        indexed, words = words, await _words(load, card_id)
        # Another one may have indexed a later state meanwhile, and this one an earlier one over it.
        if words == indexed:
            return


async def _words(load: Loaders, card_id: str) -> dict[str, int]:
    """What a card is to be found by, as it and its category are now."""
    key: Key[Card] = Card.key(card_id=card_id)
    (card,) = await load.fresh(key)
    if card is None or card.listed_at is None:
        return {}
    (category,) = await load.fresh(card_category(card))
    return searched_words(card, category)


@job
async def index_category(load: Loaders, *, category_id: str, after: list[str] | None = None) -> None:
    """The cards of a category that has another name: a page, and another job for the rest."""
    within = Card.in_category(category_id=category_id)
    rest = await _index_page(load, within, after)
    if rest:
        await load.write(queued(index_category, category_id=category_id, after=rest))


@job
async def index_cards_of_account(load: Loaders, *, user_id: str, after: list[str] | None = None) -> None:
    """The cards of somebody whose account was deleted or restored: a page, and another job for the rest."""
    within = Card.by_author(author_id=user_id, shelf=Shelf.LISTED)
    rest = await _index_page(load, within, after)
    if rest:
        await load.write(queued(index_cards_of_account, user_id=user_id, after=rest))


async def _index_page(load: Loaders, within: Range[Card], after: list[str] | None) -> list[str] | None:
    """Where to go on: one attempt has time for so many, and what finds nothing changed cannot tell what is left."""
    page = await load.page(within, BATCH, tuple(after) if after else None)
    await for_each(page.records, _index, load)
    return [*page.more] if page.more else None


async def _index(card: Card, load: Loaders) -> None:
    await index_card(load, card_id=card.card_id)


def purging(card: Card) -> Put:
    return queued(purge_card, due_at=time_from_now(SETTLED), card_id=card.card_id)


@job
async def purge_card(load: Loaders, *, card_id: str) -> None:
    """What is left of a deleted card. The card goes last: without it nothing here would be found again."""
    await SEARCH.index(load, card_id, {})
    async for comments in load.pages(CardComment.within(card_id=card_id), BATCH):
        for comment in comments:
            await purge_votes(load, target_id=comment.comment_id)
        await load.table.batch_write(deletes=[comment.own_key for comment in comments])
    await purge_votes(load, target_id=card_id)
    async for links in load.pages(CollectionCard.of_card(card_id=card_id), BATCH):
        await for_each(links, remove_link, load)
    await load.table.batch_write(deletes=[Card.key(card_id=card_id)])


def purging_votes(comment: CardComment) -> Put:
    return queued(purge_votes, due_at=time_from_now(SETTLED), target_id=comment.comment_id)


@job
async def purge_votes(load: Loaders, *, target_id: str) -> None:
    """The votes on what is gone."""
    await delete_all(load, Vote.on_target(target_id=target_id))


async def remove_link(link: CollectionCard, load: Loaders) -> None:
    """A card out of a collection, and its count; the link alone where the collection is gone."""
    removal = Delete(link.own_key, when=exists())
    counted = Update(collection_of(link), add={"card_count": -1}, when=exists())
    try:
        await load.write(removal, counted)
    except Conflict as conflict:
        if removal not in conflict:
            await attempt(load.write(removal))


def collection_of(link: CollectionCard) -> Key[Collection]:
    return Collection.key(user_id=link.user_id, collection_id=link.collection_id)


@job
async def purge_collection(load: Loaders, *, collection_id: str) -> None:
    """The places in a collection that is gone."""
    await delete_all(load, CollectionCard.within(collection_id=collection_id))


@when_account_is("deleted", "restored")
@job
async def match_cards_to_account(load: Loaders, *, user_id: str) -> None:
    """Cards leave the lists and the index of words, and come back to them."""
    ranges: list[Range[Any]] = [*_cards_of(user_id), CardComment.by_author(author_id=user_id)]
    await match_to_account(load, user_id, ranges, _matched, _as_read)
    await load.write(queued(index_cards_of_account, user_id=user_id))


def _matched(work: Card | CardComment, hidden_at: Time | None) -> Card | CardComment | None:
    if isinstance(work, CardComment):
        return work.changed(hidden_at=hidden_at)
    return in_place(work, hidden_at=hidden_at) if work.deleted_at is None else None


def _as_read(work: Card | CardComment) -> Condition:
    return placed_as(work) if isinstance(work, Card) else exists()


def _cards_of(user_id: str) -> list[Range[Card]]:
    return [Card.by_author(author_id=user_id, shelf=shelf) for shelf in Shelf]


@when_account_is("purged")
@job
async def purge_cards_of_account(load: Loaders, *, user_id: str) -> None:
    """Everything somebody made, once the account is past its grace, so that the counts of everybody else are right."""
    for within in _cards_of(user_id):
        async for cards in load.pages(within, AT_ONCE):
            await for_each(cards, _purge_card, load)
    async for votes in load.pages(Vote.by_voter(user_id=user_id), BATCH):
        await for_each(votes, _withdraw, load)
    async for comments in load.pages(CardComment.by_author(author_id=user_id), BATCH):
        await for_each(comments, _remove_comment, load)
    async for collections in load.pages(Collection.within(user_id=user_id), BATCH):
        for collection in collections:
            await purge_collection(load, collection_id=collection.collection_id)
            await load.write(Delete(collection.own_key))


async def _purge_card(found: Card, load: Loaders) -> None:
    """Hidden first, if it is not yet. It stays on its shelf until it is gone: there it is found again."""
    (card,) = await load.fresh(found.own_key)
    if card is not None and card.hidden_at is None:
        hidden = in_place(card, hidden_at=now())
        await attempt(load.write(Update.of(card, hidden, when=exists())))
    await purge_card(load, card_id=found.card_id)


async def _remove_comment(comment: CardComment, load: Loaders) -> None:
    """With the job for its votes: without it nobody would look for them again."""
    removal = Delete(comment.own_key, when=exists())
    counted = Update(Card.key(card_id=comment.card_id), add={"comment_count": -1}, when=exists())
    try:
        await load.write(removal, counted, purging_votes(comment))
    except Conflict as conflict:
        if removal not in conflict:
            await attempt(load.write(removal, purging_votes(comment)))


async def _withdraw(vote: Vote, load: Loaders) -> None:
    await settled(lambda: _withdrawn(vote, load))


async def _withdrawn(found: Vote, load: Loaders) -> None:
    """A vote and its counts, by what is there now."""
    keys: list[Key[Any]] = [found.own_key, target_key(found)]
    vote, target = await load.fresh(*keys)
    if vote is None:
        return
    removal = Delete(vote.own_key, when=exists() & equals("direction", vote.direction))
    if target is None:
        await load.write(removal)
        return
    when = exists() & still_ranked_as(target) if isinstance(target, Card) else exists()
    counted = Update(target.own_key, add=moves(target, vote.direction, None), when=when)
    await load.write(removal, counted, *(ranking_of(target) if isinstance(target, Card) else []))
