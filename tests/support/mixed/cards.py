"""Cards of every status in the mixed data, with votes, collections, categories and some damage."""

from random import Random
from typing import TYPE_CHECKING, Any

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
from resolvers.cards.ranking import comment_rank_of, in_place, rank_of
from tests.support.social import minute

if TYPE_CHECKING:
    from tests.support.mixed.society import MixedSociety

LATER = 4_000_000_000
CATEGORIES = {"wood": ROOT, "chairs": "wood", "tables": "wood", "legs": "tables", "food": ROOT, "loop": "loop"}
NO_CATEGORIES = ["nothing", "", "a#b", "ROOT"]
SEARCHES = ["chair", "cha", "chairs that stand", "stand wood", "Wood"]
NO_SEARCHES = ["the", "", "zzz", "x" * 300, "a b c d e f g h i j k l m", "#"]
DAYS = ["2026-01-01", "2026-01-02", "2031-12-31"]


def add_workshop(made: "MixedSociety", people: list[User], random: Random) -> None:
    for place, (category_id, parent_id) in enumerate(CATEGORIES.items()):
        made.add(
            Category,
            category_id=category_id,
            name=category_id.capitalize(),
            parent_id=parent_id,
            sort_order=place // 2,
            child_count=sum(parent == category_id for parent in CATEGORIES.values()),
        )
    cards = [_card(made, people[number % 5], number) for number in range(12)]
    for card in cards:
        for person in random.sample(people, 6):
            _vote(made, person, card, random)
        for author in random.sample(people, 3):
            comment = _comment(made, author, card)
            _vote(made, author, comment, random)
    for card, counts in zip(cards, made.of(CardCounts), strict=True):
        made.records += filter(None, [rank_of(card, [counts])])
    made.records += filter(None, map(comment_rank_of, made.of(CardComment)))
    for number, owner in enumerate(people[:4]):
        _collection(made, owner, number, random.sample(cards, 5))
    made.damaged(cards[9], difficulty={"S": "HARD"})
    made.damaged(cards[10], instructions={"B": "AAAA"})
    made.damaged(made.of(Vote)[4], direction={"S": "SIDEWAYS"})
    made.damaged(made.of(CardComment)[3], content=None)
    made.damaged(made.of(Collection)[3], name=None)


def _card(made: "MixedSociety", author: User, number: int) -> Card:
    fields: dict[str, Any] = {
        2: {"status": CardStatus.DRAFT, "expires_at": LATER},
        3: {"status": CardStatus.DRAFT, "expires_at": 1},
        4: {"status": CardStatus.ARCHIVED},
        5: {"deleted_at": minute(99)},
        6: {"hidden_at": minute(99)},
        7: {"instructions": ["x" * 2_000], "materials": {"text": "y" * 2_000}},
    }.get(number, {})
    status = fields.pop("status", CardStatus.PUBLISHED)
    card: Card = made.add(
        Card,
        card_id=f"card{number:02d}",
        author_id=author.user_id,
        title=f"A chair that stands {number}" if number % 2 else f"Table {number}",
        tags=["wood", "stand"] if number % 3 else [],
        category_id=[*CATEGORIES][number % 4],
        difficulty=[*Difficulty][number % 4],
        status=status,
        **{
            "instructions": ["Begin.", "End."],
            "materials": {"wood": number},
            "published_at": None if status is CardStatus.DRAFT else minute(number),
            **fields,
        },
    )
    placed = in_place(card, updated_at=card.updated_at)
    placed = placed.changed(count_shards=1, updated_at=placed.updated_at)
    made.records[-1] = placed
    made.add(CardCounts, card_id=placed.card_id, listed_at=placed.listed_at)
    return placed


def _comment(made: "MixedSociety", author: User, card: Card) -> CardComment:
    number = len(made.of(CardComment))
    comment: CardComment = made.add(
        CardComment,
        card_id=card.card_id,
        comment_id=f"said{number:02d}",
        author_id=author.user_id,
        content=f"Words {number}",
        hidden_at=minute(99) if number % 7 == 5 else None,
    )
    _counts(made, card).comment_count += 1
    return comment


def _vote(made: "MixedSociety", voter: User, target: Card | CardComment, random: Random) -> None:
    direction = random.choice(list(VoteDirection))
    is_card = isinstance(target, Card)
    made.add(
        Vote,
        user_id=voter.user_id,
        target_id=target.card_id if is_card else target.comment_id,
        direction=direction,
        card_id=target.card_id,
        commented_at=None if is_card else target.created_at,
    )
    is_up = direction is VoteDirection.UP
    counts = _counts(made, target) if isinstance(target, Card) else target
    counts.upvote_count += is_up
    counts.downvote_count += not is_up
    counts.vote_score += 1 if is_up else -1


def _counts(made: "MixedSociety", card: Card) -> Any:
    return next(counts for counts in made.of(CardCounts) if counts.card_id == card.card_id)


def _collection(made: "MixedSociety", owner: User, number: int, cards: list[Card]) -> None:
    collection_id = f"collection{number}"
    made.add(
        Collection,
        user_id=owner.user_id,
        collection_id=collection_id,
        name=f"Collection {number}",
        is_public=number != 1,
        card_count=len(cards),
    )
    for place, card in enumerate(cards):
        made.add(
            CollectionCard,
            collection_id=collection_id,
            user_id=owner.user_id,
            card_id=card.card_id,
            place=f"{place:03d}5",
        )
