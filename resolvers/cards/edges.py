"""How-to cards: where each field leads, and who may see what."""

from typing import Annotated, Any

from typing_extensions import Doc

from datastore.accounts import User
from datastore.cards import (
    ROOT,
    Card,
    CardComment,
    CardStatus,
    Category,
    Collection,
    CollectionCard,
    SearchTerm,
    Vote,
)
from datastore.model.keys import Key, Range
from datastore.model.times import Day
from loaders.needs import Items, Step, Together
from loaders.pages import whole
from loaders.viewer import Viewer
from loaders.visibility import judged_at, visibility
from resolvers.cards.ranking import SHELVES, cards_of_day
from resolvers.core.problems import ProblemCode, refused

DEEPEST = 32
MOST_CATEGORIES = 1_000


@visibility(Card)
def card_visible(card: Card, viewer: Viewer) -> bool:
    if card.deleted_at is not None or card.hidden_at is not None:
        return False
    return card.status is CardStatus.PUBLISHED or viewer.is_user(card.author_id)


@visibility(CardComment, inside=Card)
def comment_visible(comment: CardComment, viewer: Viewer) -> bool:
    return comment.hidden_at is None


@visibility(Vote)
def vote_visible(vote: Vote, viewer: Viewer) -> Step[bool]:
    """Who sees what it is on sees what people think of it."""
    found: list[Any] = yield from judged_at([target_key(vote)], viewer)
    return found[0] is not None


@visibility(Collection, inside=User)
def collection_visible(collection: Collection, viewer: Viewer) -> bool:
    return collection.is_public or viewer.is_user(collection.user_id)


@visibility(Category)
@visibility(CollectionCard)
@visibility(SearchTerm)
def public(record: Category | CollectionCard | SearchTerm, viewer: Viewer) -> bool:
    """Categories are for everybody; the others are links, and what these lead to has rules of its own."""
    return True


def card(*, id: Annotated[Key[Card], Doc("The `id` of a card.")]) -> Key[Card]:
    """The card with this id."""
    return id


def cards_on(*, date: Annotated[Day, Doc("A day, in UTC.")]) -> Range[Card]:
    """What was published on a day, newest first."""
    return cards_of_day(date)


def top_cards() -> Range[Card]:
    """The cards with the highest score first; the order is up to about three seconds late."""
    return Card.by_score().newest_first()


def controversial_cards() -> Range[Card]:
    """Cards that many vote for and many against, the most divided first; up to about three seconds late."""
    return Card.by_controversy().newest_first()


def author(work: Card | CardComment) -> Key[User]:
    """Who wrote it; null once that account is deleted."""
    return User.key(user_id=work.author_id)


def card_category(card: Card) -> Key[Category]:
    """What it is about."""
    return category_key(card.category_id)


def comments(card: Card) -> Range[CardComment]:
    """What people say about it, in the order they said it."""
    return CardComment.within(card_id=card.card_id)


def commented_card(comment: CardComment) -> Key[Card]:
    """The card it is about."""
    return Card.key(card_id=comment.card_id)


def votes(target: Card | CardComment) -> Range[Vote]:
    """Who votes how, newest first."""
    return Vote.on_target(target_id=target_id(target)).newest_first()


def viewer_vote(target: Card | CardComment, viewer: Viewer) -> Key[Vote] | None:
    """The vote of the one who asks."""
    return Vote.key(user_id=viewer.user_id, target_id=target_id(target)) if viewer.user_id else None


def target_id(target: Card | CardComment) -> str:
    return target.card_id if isinstance(target, Card) else target.comment_id


def voter(vote: Vote) -> Key[User]:
    """Who votes; null once that account is deleted."""
    return User.key(user_id=vote.user_id)


def voted_card(vote: Vote) -> Key[Card]:
    """The card it is on, or the one that the comment it is on is about."""
    return Card.key(card_id=vote.card_id)


def voted_comment(vote: Vote) -> Key[CardComment] | None:
    """The comment it is on, if it is on one."""
    if vote.commented_at is None:
        return None
    return CardComment.key(card_id=vote.card_id, created_at=vote.commented_at, comment_id=vote.target_id)


def target_key(vote: Vote) -> Key[Any]:
    return voted_comment(vote) or voted_card(vote)


def cards_by(
    user: User,
    viewer: Viewer,
    *,
    status: Annotated[CardStatus, Doc("Others than PUBLISHED are for oneself.")] = CardStatus.PUBLISHED,
) -> Range[Card] | None:
    """What this person wrote, newest first; null where these are for nobody else."""
    if status is not CardStatus.PUBLISHED and not viewer.is_user(user.user_id):
        return None
    return Card.by_author(author_id=user.user_id, shelf=SHELVES[status]).newest_first()


def comments_by(user: User) -> Range[CardComment]:
    """What this person said about cards, newest first."""
    return CardComment.by_author(author_id=user.user_id).newest_first()


def votes_by(user: User) -> Range[Vote]:
    """How this person votes, newest first."""
    return Vote.by_voter(user_id=user.user_id).newest_first()


def collections(user: User) -> Range[Collection]:
    """What this person keeps together, the oldest first."""
    return Collection.within(user_id=user.user_id)


def collection(*, id: Annotated[Key[Collection], Doc("The `id` of a collection.")]) -> Key[Collection]:
    """The collection with this id."""
    return id


def collection_by_collection_id(
    *, collection_id: Annotated[str, Doc("The `collectionId` of a collection.")]
) -> Range[Collection]:
    """The collection with this identifier."""
    return Collection.by_id(collection_id=collection_id)


def collector(collection: Collection) -> Key[User]:
    """Whose it is."""
    return User.key(user_id=collection.user_id)


def collected(collection: Collection) -> Range[CollectionCard]:
    """The cards in it, in the order they were added or arranged."""
    return CollectionCard.in_order(collection_id=collection.collection_id)


def collected_card(link: CollectionCard) -> Key[Card]:
    return Card.key(card_id=link.card_id)


def category_key(category_id: str) -> Key[Category]:
    return Category.key(category_id=category_id)


def category(*, id: Annotated[Key[Category], Doc("The `id` of a category.")]) -> Key[Category]:
    """The category with this id."""
    return id


def category_by_category_id(
    *, category_id: Annotated[str, Doc("Its `categoryId`, such as woodworking, in any case.")]
) -> Key[Category]:
    """The category with this identifier."""
    return category_key(category_id.strip().lower())


def categories() -> Range[Category]:
    """The categories that are part of no other, in their order."""
    return children_of(ROOT)


def children_of(parent_id: str) -> Range[Category]:
    return Category.children_of(parent_id=parent_id)


def parent(category: Category) -> Key[Category] | None:
    """The category it is part of."""
    return None if category.parent_id == ROOT else category_key(category.parent_id)


def children(category: Category) -> Range[Category]:
    """The categories in it, in their order."""
    return children_of(category.category_id)


def cards_in(category: Category) -> Range[Card]:
    """The cards of this very category, newest first."""
    return Card.in_category(category_id=category.category_id).newest_first()


def ancestors(category: Category) -> Step[list[Category]]:
    """The categories it is part of, from the top; one level of reading for each."""
    found: list[Category] = []
    above: Key[Category] | None = parent(category)
    while above is not None and len(found) < DEEPEST:
        (one,) = yield Items([above])
        if one is None:
            break
        found.append(one)
        above = parent(one)
    return found[::-1]


def path(category: Category) -> Step[list[str]]:
    """The names of the categories it is part of, from the top, and its own."""
    above = yield from ancestors(category)
    return [*(each.name for each in above), category.name]


def descendants(
    category: Category, *, depth: Annotated[int, Doc("How many levels to go down, from 1.")] = 3
) -> Step[list[Category]]:
    """All categories in it, each before those in it; one level of reading for each level."""
    return (yield from _below(category.category_id, depth))


def category_tree(*, depth: Annotated[int, Doc("How many levels to go down, from 1.")] = 3) -> Step[list[Category]]:
    """All categories, each before those in it; one level of reading for each level."""
    return (yield from _below(ROOT, depth))


def _below(category_id: str, depth: int) -> Step[list[Category]]:
    if not 1 <= depth <= DEEPEST:
        raise refused(ProblemCode.INVALID, f"`depth` is {depth}; it goes from 1 to {DEEPEST}", "depth")
    within: dict[str, list[Category]] = {}
    level, count = [category_id], 0
    for _ in range(depth):
        found: list[list[Category]] = yield Together([whole(children_of(each)) for each in level])
        new = {parent_id: inner for parent_id, inner in zip(level, found, strict=True) if parent_id not in within}
        within |= new
        count += sum(map(len, new.values()))
        if count > MOST_CATEGORIES:
            message = f"these are over {MOST_CATEGORIES:,} categories; ask for fewer levels, or begin further down"
            raise refused(ProblemCode.INVALID, message, "depth")
        level = [each.category_id for inner in new.values() for each in inner if each.child_count]
        if not level:
            break
    return _in_order(category_id, within)


def _in_order(top: str, within: dict[str, list[Category]]) -> list[Category]:
    """Each before those in it, and no loop can be in what was read: whatever was listed once is not listed again."""
    ordered: list[Category] = []
    waiting = within.pop(top, [])[::-1]
    while waiting:
        category = waiting.pop()
        ordered.append(category)
        waiting += within.pop(category.category_id, [])[::-1]
    return ordered
