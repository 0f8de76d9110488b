"""How-to cards of the demo, with votes, comments and collections."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, TypeVar

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
from datastore.model.codec import JSON, BigInt
from datastore.model.entity import Entity
from datastore.model.times import Time, as_time, seconds_from_now
from resolvers.cards.ranking import comment_rank_of, in_place, rank_of
from resolvers.demo.people import IDS, at, identifier

E = TypeVar("E", bound=Entity)

# Name and parent, parents before children, in order.
CATEGORIES = (
    ("wood", "Wood", ROOT, "Everything that was a tree."),
    ("furniture", "Furniture", "wood", "To sit on, to eat at, to sleep in."),
    ("finishing", "Finishing", "wood", "Oil, wax and patience."),
    ("kitchen", "Kitchen", ROOT, "To eat, and to eat with."),
    ("bread", "Bread", "kitchen", None),
    ("sharpening", "Sharpening", "kitchen", "Knives, scissors and the rest."),
    ("textiles", "Textiles", ROOT, "Sewing, darning, and what a machine from 1930 can do."),
)


class HowTo(NamedTuple):
    """A card with its votes and comments."""

    author: str
    days_ago: float
    category: str
    title: str
    difficulty: Difficulty
    minutes: int
    cost: int
    tags: list[str]
    materials: dict[str, str | int]
    steps: list[str]
    likers: tuple[str, ...]
    haters: tuple[str, ...] = ()
    comments: tuple[tuple[str, str], ...] = ()


CARDS = (
    HowTo(
        "teo", 20, "finishing", "A wood finish that lasts",
        Difficulty.INTERMEDIATE, minutes=120, cost=50, tags=["oil", "table"],
        materials={"linseed oil": "1 l", "cloths": 4},
        steps=["Sand along the grain, finer each time.", "Wipe on oil, wait, wipe off.", "Wait a day. Do it again."],
        likers=("maya", "winnie", "hana", "priya", "amira"),
        comments=(("winnie", "How long is a day?"), ("teo", "Until it no longer smells.")),
    ),
    HowTo(
        "teo", 6.2, "furniture", "Glue a chair that four people gave up on",
        Difficulty.ADVANCED, minutes=240, cost=12, tags=["chair", "glue"],
        materials={"hide glue": "200 g", "clamps": 6},
        steps=["Take it apart. All of it.", "Clean the old glue off.", "Glue, clamp, measure both diagonals.", "Wait."],
        likers=("maya", "winnie", "jonas"),
        haters=("oskar",),
        comments=(("maya", "Both diagonals!"),),
    ),
    HowTo(
        "jonas", 4.1, "bread", "Rye bread from a starter that sleeps",
        Difficulty.BEGINNER, minutes=60, cost=4, tags=["rye", "sourdough"],
        materials={"rye flour": "500 g", "water": "400 g", "salt": "10 g"},
        steps=["Wake the starter the evening before.", "Mix, and leave it alone.", "Bake it dark."],
        likers=("maya", "priya", "winnie", "hana", "teo", "amira"),
    ),
    HowTo(
        "maya", 2.3, "sharpening", "Sharpen a kitchen knife",
        Difficulty.BEGINNER, minutes=30, cost=25, tags=["knife", "whetstone"],
        materials={"whetstone": "1000/6000"},
        steps=["Soak the stone.", "Twenty degrees, away from you.", "Feel for the burr. Turn over.", "Cut a tomato."],
        likers=("teo", "jonas", "winnie"),
        haters=("oskar", "hana", "amira"),
        comments=(("oskar", "I have nine fingers."), ("maya", "Away from you, Oskar.")),
    ),
    HowTo(
        "winnie", 0.4, "textiles", "Thread a sewing machine from 1930",
        Difficulty.EXPERT, minutes=15, cost=0, tags=["sewing", "repair"],
        materials={"thread": "one", "glasses": "strong"},
        steps=["Needle up.", "Spool, tension, lever, needle, in this order.", "If it jams, you forgot the lever."],
        likers=("maya", "teo"),
        comments=(("maya", "I forgot the lever."),),
    ),
)  # fmt: skip

DRAFT = ("maya", "furniture", "A hinge that does not squeak", ["Ask me again tomorrow."])

COLLECTIONS = (
    ("maya", "For the repair café", "What people ask for every Saturday.", True, (1, 3, 4)),
    ("maya", "To try when nobody looks", None, False, (2,)),
    ("winnie", "Sharp things", None, True, (3,)),
)


def cards() -> list[Entity]:
    return [*_categories(), *_cards(), _draft(), *_collections()]


def _ago(days: float) -> Time:
    """Returns a recent time, so that the cards are trending."""
    return as_time(datetime.now(UTC) - timedelta(days=days))


def _then(days_ago: float, record: E) -> E:
    return replace(record, created_at=_ago(days_ago), updated_at=_ago(days_ago))


def _categories() -> list[Category]:
    return [
        Category(
            category_id=category_id,
            name=name,
            description=description,
            parent_id=parent_id,
            sort_order=place,
            child_count=sum(parent == category_id for _, _, parent, _ in CATEGORIES),
            created_at=_ago(30),
            updated_at=_ago(30),
        )
        for place, (category_id, name, parent_id, description) in enumerate(CATEGORIES)
    ]


def _card_id(number: int) -> str:
    return identifier("CARD", number)


def _cards() -> Iterator[Entity]:
    for number, how_to in enumerate(CARDS):
        ups, downs = len(how_to.likers), len(how_to.haters)
        when = _ago(how_to.days_ago)
        card = Card(
            card_id=_card_id(number),
            author_id=IDS[how_to.author],
            title=how_to.title,
            category_id=how_to.category,
            difficulty=how_to.difficulty,
            estimated_time=how_to.minutes,
            estimated_cost=BigInt(how_to.cost * 100),
            estimated_cost_currency="EUR",
            tags=how_to.tags,
            materials=JSON(how_to.materials),
            instructions=how_to.steps,
            status=CardStatus.PUBLISHED,
            published_at=when,
            created_at=when,
        )
        card = in_place(card, updated_at=when)
        counts = CardCounts(
            card_id=card.card_id,
            listed_at=card.listed_at,
            view_count=17 * (ups + downs) + 5,
            comment_count=len(how_to.comments),
            upvote_count=ups,
            downvote_count=downs,
            vote_score=ups - downs,
        )
        yield from (card, counts)
        yield from filter(None, [rank_of(card, [counts])])
        yield from _votes(how_to, card)
        yield from _comments(how_to, card, number)


def _votes(how_to: HowTo, card: Card) -> Iterator[Entity]:
    votes = [(username, VoteDirection.UP) for username in how_to.likers]
    votes += [(username, VoteDirection.DOWN) for username in how_to.haters]
    for place, (username, direction) in enumerate(votes, 1):
        vote = Vote(user_id=IDS[username], target_id=card.card_id, direction=direction, card_id=card.card_id)
        yield _then(how_to.days_ago * (1 - place / 20), vote)


def _comments(how_to: HowTo, card: Card, number: int) -> Iterator[Entity]:
    for place, (username, content) in enumerate(how_to.comments, 1):
        comment = CardComment(
            card_id=card.card_id,
            comment_id=identifier("CARDSAID", 10 * number + place),
            author_id=IDS[username],
            content=content,
        )
        comment = _then(how_to.days_ago * (1 - place / 10), comment)
        yield comment
        yield from filter(None, [comment_rank_of(comment)])


def _draft() -> Entity:
    author, category, title, steps = DRAFT
    draft = Card(
        card_id=_card_id(100),
        author_id=IDS[author],
        title=title,
        category_id=category,
        difficulty=Difficulty.BEGINNER,
        instructions=steps,
        expires_at=seconds_from_now(timedelta(days=30)),
    )
    return in_place(draft)


def _collections() -> Iterator[Entity]:
    for number, (owner, name, description, is_public, numbers) in enumerate(COLLECTIONS):
        collection = Collection(
            user_id=IDS[owner],
            collection_id=identifier("C0LLECT", number),
            name=name,
            description=description,
            is_public=is_public,
            card_count=len(numbers),
        )
        yield at(number, collection)
        for place, card in enumerate(numbers, 1):
            link = CollectionCard(
                collection_id=collection.collection_id,
                user_id=IDS[owner],
                card_id=_card_id(card),
                place=f"{place:022d}1",
            )
            yield _then(0.3, link)
