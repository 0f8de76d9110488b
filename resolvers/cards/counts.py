"""Counts of a card: items of their own, so that a vote or a view does not rewrite the card and its index entries."""

from collections.abc import Mapping

from datastore.cards import Card, CardCounts
from datastore.client.writes import Delete, Put, Update, Write, absent, equals, exists
from datastore.model.keys import Key
from loaders.request import Loaders
from loaders.sharded_counts import Total
from resolvers.core.contention import CONTENTION, COUNTER_SHARDS, MAX_SHARDS, any_shard, spread
from resolvers.core.problems import Refused
from resolvers.core.retry import write_or_refuse


def counts_key(card_id: str, shard: int = 0) -> Key[CardCounts]:
    return CardCounts.key(card_id=card_id, shard=shard)


def counts_keys(card: Card) -> list[Key[CardCounts]]:
    """Returns the keys of all items with counts of a card: none before its first publication."""
    return [counts_key(card.card_id, shard) for shard in range(min(card.count_shards, MAX_SHARDS))]


def _total(card: Card, *names: str) -> Total:
    return Total(0, tuple(counts_keys(card)), names)


def view_count(card: Card) -> Total:
    """Number of views. May lag by about ten seconds."""
    return _total(card, "view_count")


def comment_count(card: Card) -> Total:
    """Number of comments."""
    return _total(card, "comment_count")


def upvote_count(card: Card) -> Total:
    """Number of upvotes."""
    return _total(card, "upvote_count")


def downvote_count(card: Card) -> Total:
    """Number of downvotes."""
    return _total(card, "downvote_count")


def vote_score(card: Card) -> Total:
    """Upvotes minus downvotes."""
    return _total(card, "vote_score")


def vote_count(card: Card) -> Total:
    return _total(card, "upvote_count", "downvote_count")


def counting(card: Card, add: Mapping[str, int]) -> Update:
    """Returns the write that moves counts of a card, on condition that it is public."""
    return Update(counts_key(card.card_id, any_shard(card.count_shards)), add=add, when=exists("listed_at"))


async def write_counted(load: Loaders, card: Card, *writes: Write, refusals: Mapping[Write, Refused]) -> None:
    """Writes a transaction that moves counts of a card. Spreads them over several items if it was contended."""
    retries = load.table.usage.retries
    await write_or_refuse(load, *writes, refusals=refusals)
    if card.count_shards == 1 and load.table.usage.retries - retries >= CONTENTION:
        await spread_counts(load, card)


async def spread_counts(load: Loaders, card: Card) -> None:
    """Counts a card in several items from now on. What was counted stays where it is."""
    shards = [
        Put(CardCounts(card_id=card.card_id, shard=shard, listed_at=card.listed_at), when=absent())
        for shard in range(1, COUNTER_SHARDS)
    ]
    when = equals("count_shards", 1) & exists("listed_at")
    await spread(load, Update(card.own_key, set={"count_shards": COUNTER_SHARDS}, when=when), *shards)


def counts_along(before: Card | None, after: Card) -> list[Write]:
    """Returns the writes that make the counts follow a change of the card.

    They are created with its first publication, closed while it is not public, and deleted with it.
    """
    if before is None or before.count_shards < after.count_shards:
        return [Put(CardCounts(card_id=after.card_id, listed_at=after.listed_at), when=absent())] * after.count_shards
    keys = counts_keys(after)
    if after.deleted_at is not None:
        return [Delete(key) for key in keys]
    if before.listed_at == after.listed_at:
        return []
    if after.listed_at is None:
        return [Update(key, remove=("listed_at",), when=exists()) for key in keys]
    return [Update(key, set={"listed_at": after.listed_at}, when=exists()) for key in keys]
