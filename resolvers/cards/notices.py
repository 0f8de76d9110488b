"""Recipients of notifications of comments and votes on cards, and of cards in collections."""

from collections.abc import Sequence
from typing import Any

from datastore.cards import Card, CardComment, Collection, CollectionCard, Vote, VoteDirection
from datastore.changes.change import Change
from datastore.client.writes import Write
from datastore.model.keys import Key
from datastore.notifications import NotificationKind
from loaders.request import Loaders
from resolvers.background.processors import processor
from resolvers.cards.edges import target_key
from resolvers.notifications.notices import AT_ONCE, Notice, Notices

NOTICES = Notices()


@NOTICES.of(CardComment)
async def comments(load: Loaders, comments: Sequence[CardComment]) -> list[Notice]:
    cards = await load.fresh(*(Card.key(card_id=comment.card_id) for comment in comments))
    return [
        Notice(
            comment.own_key,
            NotificationKind.CARD_COMMENT,
            [card.author_id],
            card.own_key,
            comment.author_id,
            comment.created_at,
        )
        for comment, card in zip(comments, cards, strict=True)
        if card is not None
    ]


@NOTICES.of(Vote)
async def votes(load: Loaders, votes: Sequence[Vote]) -> list[Notice]:
    """Only upvotes: a downvote notifies no one."""
    ups = [vote for vote in votes if vote.direction is VoteDirection.UP]
    keys: list[Key[Any]] = [target_key(vote) for vote in ups]
    targets = await load.fresh(*keys)
    return [
        Notice(
            vote.own_key,
            NotificationKind.CARD_VOTE if isinstance(target, Card) else NotificationKind.COMMENT_VOTE,
            [target.author_id],
            target.own_key,
            vote.user_id,
            vote.created_at,
        )
        for vote, target in zip(ups, targets, strict=True)
        if target is not None
    ]


@NOTICES.of(CollectionCard)
async def collected(load: Loaders, links: Sequence[CollectionCard]) -> list[Notice]:
    """Only public collections, whose names are not in the notifications: they may become private."""
    keys: list[Key[Any]] = [Card.key(card_id=link.card_id) for link in links]
    keys += [Collection.key(user_id=link.user_id, collection_id=link.collection_id) for link in links]
    found = await load.fresh(*keys)
    return [
        Notice(
            link.own_key,
            NotificationKind.COLLECTION_ADD,
            [card.author_id],
            card.own_key,
            link.user_id,
            link.created_at,
        )
        for link, card, collection in zip(links, found[: len(links)], found[len(links) :], strict=True)
        if card is not None and collection is not None and collection.is_public
    ]


@processor(CardComment, Vote, CollectionCard, at_once=AT_ONCE)
async def notify_cards(load: Loaders, changes: Sequence[Change]) -> Sequence[Write]:
    """Keeps the notifications of comments and votes on cards, and of cards in collections."""
    return await NOTICES.kept(load, changes)
