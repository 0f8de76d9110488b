"""Test data for cards: categories, cards, votes, comments and collections."""

from typing import Any

from datastore.accounts import User
from datastore.cards import (
    ROOT,
    Card,
    CardComment,
    CardCounts,
    CardStatus,
    Category,
    Collection,
    CollectionCard,
    Difficulty,
    Vote,
    VoteDirection,
)
from datastore.model.entity import Entity
from datastore.model.times import Time
from resolvers.background.jobs import Worker
from resolvers.cards.counts import counts_keys
from resolvers.cards.ranking import comment_rank_of, in_place, rank_of
from tests.resolvers.background.test_jobs import make_due
from tests.support.graph import Graph
from tests.support.social import minute

COUNTS = ("view_count", "comment_count", "upvote_count", "downvote_count", "vote_score")
DRAFT_EXPIRES = 4_000_000_000


class Workshop:
    """Writes records directly to the table, as the commands would store them."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.counts: dict[str, CardCounts] = {}
        self._made = 0

    def _times(self) -> dict[str, Any]:
        self._made += 1
        moment = minute(self._made)
        return {"created_at": moment, "updated_at": moment}

    async def person(self, name: str, **fields: Any) -> User:
        return await self.graph.add_user(name, **{**self._times(), **fields})

    async def category(self, category_id: str, parent: Category | None = None, **fields: Any) -> Category:
        """Adds a category after its siblings, and updates the parent's count in the record and in the table."""
        given = {"category_id": category_id, "name": category_id.capitalize(), "sort_order": self._made}
        category = Category(**{**given, **self._times(), "parent_id": parent.category_id if parent else ROOT, **fields})
        await self._put(category)
        if parent:
            parent.child_count += 1
            await self._put(parent)
        return category

    async def card(
        self, author: User, category: Category, status: CardStatus = CardStatus.PUBLISHED, **fields: Any
    ) -> Card:
        """Adds a card like `createCard`, with counts and rank. `find_by_words` lets the search know it."""
        times = self._times()
        given = {
            "card_id": f"card{self._made:05d}",
            "author_id": author.user_id,
            "title": f"Card {self._made}",
            "instructions": ["Begin.", "End."],
            "materials": {"wood": "some"},
            "category_id": category.category_id,
            "difficulty": Difficulty.BEGINNER,
            "status": status,
            "published_at": None if status is CardStatus.DRAFT else fields.get("created_at", times["created_at"]),
            "expires_at": DRAFT_EXPIRES if status is CardStatus.DRAFT else None,
            "count_shards": 0 if status is CardStatus.DRAFT else 1,
        }
        counted = {name: fields.pop(name) for name in COUNTS if name in fields}
        card = Card(**{**given, **times, **fields})
        card = in_place(card, updated_at=card.updated_at)
        await self._put(card)
        if card.count_shards:
            self.counts[card.card_id] = CardCounts(card_id=card.card_id, listed_at=card.listed_at, **times, **counted)
            await self.rank(card)
        return card

    async def count(self, card: Card, **counted: int) -> None:
        """Stores a card, moves its counts and ranks it. A draft has no counts."""
        await self._put(card)
        if card.card_id not in self.counts:
            return
        counts = self.counts[card.card_id]
        moved = {name: getattr(counts, name) + step for name, step in counted.items()}
        self.counts[card.card_id] = counts.changed(**moved, updated_at=counts.updated_at)
        await self.rank(card)

    async def rank(self, card: Card) -> None:
        """Stores the counts and the rank of a card, as its processor does."""
        counts = self.counts[card.card_id]
        await self._put(counts, *filter(None, [rank_of(card, [counts])]))

    async def comment(self, author: User, card: Card, **fields: Any) -> CardComment:
        """Adds a comment, and updates the counts of the card."""
        given = {"comment_id": f"said{self._made:05d}", "card_id": card.card_id, "content": f"Words {self._made}"}
        comment = CardComment(**{**given, "author_id": author.user_id, **self._times(), **fields})
        await self._put(comment, *filter(None, [comment_rank_of(comment)]))
        await self.count(card, comment_count=1)
        return comment

    async def vote(self, voter: User, target: Card | CardComment, direction: VoteDirection = VoteDirection.UP) -> Vote:
        """Adds a vote, and updates the target's counts and rank."""
        is_card = isinstance(target, Card)
        vote = Vote(
            user_id=voter.user_id,
            target_id=target.card_id if isinstance(target, Card) else target.comment_id,
            direction=direction,
            card_id=target.card_id,
            commented_at=None if is_card else Time(target.created_at),
            **self._times(),
        )
        is_up = direction is VoteDirection.UP
        moved = {"upvote_count": int(is_up), "downvote_count": int(not is_up), "vote_score": 1 if is_up else -1}
        await self._put(vote)
        if isinstance(target, Card):
            await self.count(target, **moved)
        else:
            vars(target).update({name: getattr(target, name) + step for name, step in moved.items()})
            await self._put(target, *filter(None, [comment_rank_of(target)]))
        return vote

    async def collection(self, owner: User, *cards: Card, **fields: Any) -> Collection:
        given = {"collection_id": f"coll{self._made:05d}", "name": f"Collection {self._made}", "card_count": len(cards)}
        collection = Collection(**{**given, "user_id": owner.user_id, **self._times(), **fields})
        links = [
            CollectionCard(
                collection_id=collection.collection_id,
                user_id=owner.user_id,
                card_id=card.card_id,
                place=f"{place:022d}1",
                **self._times(),
            )
            for place, card in enumerate(cards, 1)
        ]
        await self._put(collection, *links)
        return collection

    async def find_by_words(self, *cards: Card) -> None:
        """Lets the search index know everything that was written, such as these cards."""
        await self.graph.settle_search()

    async def _put(self, *records: Entity) -> None:
        await self.graph.table.batch_write(puts=records)


async def do_all_jobs(graph: Graph) -> None:
    """Runs all processors and queued jobs, due or not, including the jobs that they queue."""
    await graph.settle()
    while await graph.jobs():
        await make_due(graph)
        await Worker(graph.table).do_what_is_due()
        await graph.settle()


async def counts_of_card(graph: Graph, card: Card) -> CardCounts:
    """Returns the stored counts of a card, all shards added up; zeros once they are deleted."""
    stored: Any = await graph.table.get(card.own_key, consistent=True)
    shards = [await graph.table.get(key, consistent=True) for key in counts_keys(stored or card)]
    found = [shard for shard in shards if shard is not None]
    return CardCounts(card_id=card.card_id, **{name: sum(getattr(each, name) for each in found) for name in COUNTS})


async def counts(graph: Graph, target: Card | CardComment) -> dict[str, Any]:
    """Returns the stored vote counts of a card or comment, and the actual ones."""
    stored: Any = (
        await counts_of_card(graph, target)
        if isinstance(target, Card)
        else await graph.table.get(target.own_key, consistent=True)
    )
    target_id = target.card_id if isinstance(target, Card) else target.comment_id
    page = await graph.table.query(Vote.on_target(target_id=target_id), limit=1_000)
    ups = sum(vote.direction is VoteDirection.UP for vote in page.records)
    downs = len(page.records) - ups
    return {
        "says": (stored.upvote_count, stored.downvote_count, stored.vote_score),
        "found": (ups, downs, ups - downs),
    }
