"""Works of two people, and jobs on them that are cut off after so many calls."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from datastore.accounts import User
from datastore.cards import Card, CardComment, CardStatus, Collection, VoteDirection
from datastore.client.budget import Usage
from datastore.client.errors import DatastoreError
from datastore.model.codec import Item
from datastore.model.entity import decode
from loaders.request import Loaders
from loaders.viewer import ANONYMOUS
from tests.support.cards import Workshop
from tests.support.graph import Graph

UP, DOWN = VoteDirection
KINDS = (
    "Card", "CardCounts", "CardRank", "CardComment", "CardCommentRank", "Vote", "Collection", "CollectionCard",
)  # fmt: skip


@dataclass
class Scene:
    """Two people who have done everything to each other, and a third one who looks on."""

    ada: User
    bob: User
    adas: list[Card]
    bobs: Card
    comments: dict[str, CardComment]
    collections: dict[str, Collection]

    @classmethod
    async def of(cls, workshop: Workshop) -> "Scene":
        ada, bob, eve = [await workshop.person(name) for name in ("ada", "bob", "eve")]
        wood = await workshop.category("wood")
        adas = [await workshop.card(ada, wood, status) for status in (CardStatus.PUBLISHED, *CardStatus)]
        bobs = await workshop.card(bob, wood)
        card = adas[0]
        comments = {
            f"{author.username} on {owner}": await workshop.comment(author, target)
            for author in (ada, bob)
            for owner, target in (("ada", card), ("bob", bobs))
        }
        for voter, direction in ((ada, UP), (bob, DOWN), (eve, UP)):
            for target in (card, bobs, *comments.values()):
                await workshop.vote(voter, target, direction)
        collections = {
            "ada": await workshop.collection(ada, card, bobs),
            "bob": await workshop.collection(bob, bobs, card),
            "secret": await workshop.collection(ada, bobs, is_public=False),
        }
        await workshop.find_by_words(*adas, bobs)
        return cls(ada, bob, adas, bobs, comments, collections)


async def snapshot(graph: Graph) -> dict[tuple[str, str], Any]:
    """All there is of cards, to the last attribute, and what they are found by."""
    items = [item for item in await everything(graph) if item["entityType"]["S"] in KINDS]
    return {(item["PK"]["S"], item["SK"]["S"]): item.get("words") or item for item in items}


async def everything(graph: Graph) -> list[Item]:
    return await graph.items()


async def back_to(graph: Graph, items: list[Item]) -> None:
    """Make the table what it was."""
    there = {record.own_key: record for record in map(decode, items)}
    gone = [record.own_key for record in map(decode, await everything(graph)) if record.own_key not in there]
    await graph.table.batch_write(puts=there.values(), deletes=gone)


async def counts_of(graph: Graph, collection: Collection) -> int | None:
    stored = await graph.table.get(collection.own_key, consistent=True)
    return stored.card_count if stored else None


@dataclass
class OnlySoManyCalls(Usage):
    """Allows a number of calls, regardless of the time a call takes."""

    most: int = 0

    @property
    def seconds_left(self) -> float:
        return 60.0 if self.calls.total() < self.most else 0.0


async def cut_off(graph: Graph, most: int, work: Callable[..., Awaitable[None]], **subject: str) -> bool:
    """Do a job with so many calls. Whether these were enough."""
    usage = OnlySoManyCalls(deadline=0.0, most=most)
    try:
        await work(Loaders(graph.services.table.using(usage), ANONYMOUS, consistent=True), **subject)
    except DatastoreError:
        return False
    return True


def every_cut(engine_name: str, step: int = 1) -> range:
    """After how many calls to cut; on the slow engine now and then."""
    return range(0, 1_000, step if engine_name != "moto" else 25)
