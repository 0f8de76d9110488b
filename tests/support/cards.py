"""Test data for cards: categories, cards, votes, comments and collections."""

from typing import Any

from datastore.accounts import User
from datastore.cards import (
    ROOT,
    Card,
    CardComment,
    CardStatus,
    Category,
    Collection,
    CollectionCard,
    Difficulty,
    Vote,
    VoteDirection,
)
from datastore.jobs import Job
from datastore.model.entity import Entity
from datastore.model.times import Time
from resolvers.background.jobs import Worker
from resolvers.cards.jobs import index_card
from resolvers.cards.ranking import in_place, ranks
from tests.resolvers.background.test_jobs import make_due
from tests.support.graph import Graph
from tests.support.social import minute

DRAFT_EXPIRES = 4_000_000_000


class Workshop:
    """Writes records directly to the table, as the commands would store them."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
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
        """Adds a card like `createCard`, but without its search terms: see `find_by_words`."""
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
        }
        card = Card(**{**given, **times, **fields})
        card = in_place(card, updated_at=card.updated_at)
        await self._put(card)
        return card

    async def comment(self, author: User, card: Card, **fields: Any) -> CardComment:
        """Adds a comment, and updates the card's count in the record and in the table."""
        given = {"comment_id": f"said{self._made:05d}", "card_id": card.card_id, "content": f"Words {self._made}"}
        comment = CardComment(**{**given, "author_id": author.user_id, **self._times(), **fields})
        card.comment_count += 1
        await self._put(comment, card)
        return comment

    async def vote(self, voter: User, target: Card | CardComment, direction: VoteDirection = VoteDirection.UP) -> Vote:
        """Adds a vote, and updates the target's counts and rank in the record and in the table."""
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
        target.upvote_count += is_up
        target.downvote_count += not is_up
        target.vote_score += 1 if is_up else -1
        if isinstance(target, Card):
            target.vote_changes += 1
            if target.listed_at:
                vars(target).update(ranks(target))
        await self._put(vote, target)
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
        """Indexes cards for search."""
        for card in cards:
            await index_card(self.graph.context().load, card_id=card.card_id)

    async def _put(self, *records: Entity) -> None:
        await self.graph.table.batch_write(puts=records)


async def do_all_jobs(graph: Graph) -> None:
    """Runs all queued jobs, due or not, including the jobs that they queue."""
    while (await graph.table.query(Job.within(), limit=1, consistent=True)).records:
        await make_due(graph)
        await Worker(graph.table).do_what_is_due()


async def counts(graph: Graph, target: Card | CardComment) -> dict[str, Any]:
    """Returns the stored vote counts of a card or comment, and the actual ones."""
    stored: Any = await graph.table.get(target.own_key, consistent=True)
    target_id = target.card_id if isinstance(target, Card) else target.comment_id
    page = await graph.table.query(Vote.on_target(target_id=target_id), limit=1_000)
    ups = sum(vote.direction is VoteDirection.UP for vote in page.records)
    downs = len(page.records) - ups
    return {
        "says": (stored.upvote_count, stored.downvote_count, stored.vote_score),
        "found": (ups, downs, ups - downs),
    }
