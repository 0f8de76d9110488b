"""Edges of how-to cards: the key or range each field reads."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from typing_extensions import Doc

from datastore.accounts import User
from datastore.cards import (
    ROOT,
    Card,
    CardComment,
    CardCommentRank,
    CardStatus,
    Category,
    Collection,
    CollectionCard,
    Vote,
)
from datastore.model.keys import Key, Range
from datastore.model.times import Day
from loaders.linked import Linked
from loaders.needs import Step, Together
from loaders.pages import whole
from loaders.viewer import Viewer
from loaders.visibility import readable_at
from resolvers.cards.filters import (
    CardOrder,
    Cards,
    CommentOrder,
    OfDifficulty,
    OrderOfCards,
    WithinMinutes,
    WithTags,
    in_order,
    matching,
)
from resolvers.cards.ranking import SHELVES, ranked_comment
from resolvers.core.access import Access, AccessRole
from resolvers.core.money import Money, money
from resolvers.core.problems import ProblemCode, refused

DEEPEST = 32
MOST_DAYS_BACK = 100_000
MOST_CATEGORIES = 1_000


def card_by_database_id(*, database_id: Annotated[str, Doc("Permanent identifier (`databaseId`).")]) -> Key[Card]:
    """The card with this permanent identifier."""
    return Card.key(card_id=database_id)


def cards_on(
    *,
    date: Annotated[Day, Doc("Date in UTC.")],
    difficulty: OfDifficulty = None,
    tags: WithTags = None,
    max_estimated_time: WithinMinutes = None,
    order_by: OrderOfCards = CardOrder.NEWEST_FIRST,
) -> Cards:
    """Cards published on a day."""
    return matching(in_order(Card.on_day(listed_on=date), order_by), difficulty, tags, max_estimated_time)


def recent_cards(
    *,
    days: Annotated[
        int | None, Doc("Number of days to look back, including today. Defaults to all since the first card.")
    ] = None,
    difficulty: OfDifficulty = None,
    tags: WithTags = None,
    max_estimated_time: WithinMinutes = None,
) -> Cards:
    """Published cards of the last days, newest first."""
    if days is not None and not 1 <= days <= MOST_DAYS_BACK:
        raise refused(ProblemCode.INVALID, f"`days` is {days}; it goes from 1 to {MOST_DAYS_BACK:,}", at="days")
    since = None if days is None else (datetime.now(UTC).date() - timedelta(days=days - 1)).isoformat()
    return matching(Card.by_time().between(since, None).newest_first(), difficulty, tags, max_estimated_time)


def author(work: Card | CardComment) -> Key[User]:
    """The author. Null once their account is deleted."""
    return User.key(user_id=work.author_id)


def card_category(card: Card) -> Key[Category]:
    """The category."""
    return category_key(card.category_id)


def estimated_cost(card: Card) -> Money | None:
    """Estimated cost."""
    return money(card.estimated_cost, card.estimated_cost_currency)


def comments(
    card: Card, *, order_by: Annotated[CommentOrder, Doc("Order of the comments.")] = CommentOrder.OLDEST_FIRST
) -> Range[CardComment] | Linked[CardCommentRank]:
    """Comments."""
    if order_by is CommentOrder.TOP:
        return Linked(CardCommentRank.by_score(card_id=card.card_id).newest_first(), ranked_comment)
    return CardComment.within(card_id=card.card_id).directed(descending=order_by is CommentOrder.NEWEST_FIRST)


def commented_card(comment: CardComment) -> Key[Card]:
    """The card commented on."""
    return Card.key(card_id=comment.card_id)


def votes(target: Card | CardComment) -> Range[Vote]:
    """Votes, newest first."""
    return Vote.on_target(target_id=target_id(target)).newest_first()


def comment_vote_count(comment: CardComment) -> int:
    return comment.upvote_count + comment.downvote_count


def viewer_vote(target: Card | CardComment, viewer: Viewer) -> Key[Vote] | None:
    """The viewer's vote, or null."""
    return Vote.key(user_id=viewer.user_id, target_id=target_id(target)) if viewer.user_id else None


def target_id(target: Card | CardComment) -> str:
    return target.card_id if isinstance(target, Card) else target.comment_id


def voter(vote: Vote) -> Key[User]:
    """The voter. Null once their account is deleted."""
    return User.key(user_id=vote.user_id)


def voted_card(vote: Vote) -> Key[Card]:
    """The card voted on, or the card whose comment was voted on."""
    return Card.key(card_id=vote.card_id)


def voted_comment(vote: Vote) -> Key[CardComment] | None:
    """The comment voted on, or null for a vote on a card."""
    if vote.commented_at is None:
        return None
    return CardComment.key(card_id=vote.card_id, created_at=vote.commented_at, comment_id=vote.target_id)


def target_key(vote: Vote) -> Key[Any]:
    return voted_comment(vote) or voted_card(vote)


def cards_by(
    user: User,
    viewer: Viewer,
    *,
    status: Annotated[CardStatus, Doc("Publication status. Defaults to PUBLISHED.")] = CardStatus.PUBLISHED,
    difficulty: OfDifficulty = None,
    tags: WithTags = None,
    max_estimated_time: WithinMinutes = None,
    order_by: OrderOfCards = CardOrder.NEWEST_FIRST,
) -> Cards | None:
    """Cards of the user with this status.

    Of other users, only PUBLISHED cards are listed: another status is null, and an error for an anonymous viewer.
    """
    if status is not CardStatus.PUBLISHED:
        Access(requires=AccessRole.SIGNED_IN).check(viewer)
        if not viewer.is_user(user.user_id):
            return None
    cards = in_order(Card.by_author(author_id=user.user_id, shelf=SHELVES[status]), order_by)
    return matching(cards, difficulty, tags, max_estimated_time)


def comments_by(user: User) -> Range[CardComment]:
    """Comments on cards by the user, newest first."""
    return CardComment.by_author(author_id=user.user_id).newest_first()


def votes_by(user: User) -> Range[Vote]:
    """Votes of the user, newest first."""
    return Vote.by_voter(user_id=user.user_id).newest_first()


def collections(user: User) -> Range[Collection]:
    """Collections of the user, oldest first."""
    return Collection.within(user_id=user.user_id)


def collection_by_database_id(
    *, database_id: Annotated[str, Doc("Permanent identifier (`databaseId`).")]
) -> Range[Collection]:
    """The collection with this permanent identifier."""
    return Collection.by_id(collection_id=database_id)


def collector(collection: Collection) -> Key[User]:
    """The owner."""
    return User.key(user_id=collection.user_id)


def collected(collection: Collection) -> Range[CollectionCard]:
    """Cards in the collection, in its order."""
    return CollectionCard.in_order(collection_id=collection.collection_id)


def collected_card(link: CollectionCard) -> Key[Card]:
    return Card.key(card_id=link.card_id)


def category_key(category_id: str) -> Key[Category]:
    return Category.key(category_id=category_id)


def category_by_database_id(
    *, database_id: Annotated[str, Doc("Permanent identifier (`databaseId`), such as woodworking. Case-insensitive.")]
) -> Key[Category]:
    """The category with this permanent identifier."""
    return category_key(database_id.strip().lower())


def categories() -> Range[Category]:
    """Top-level categories, in order."""
    return children_of(ROOT)


def children_of(parent_id: str) -> Range[Category]:
    return Category.children_of(parent_id=parent_id)


def parent(category: Category) -> Key[Category] | None:
    """The parent category."""
    return None if category.parent_id == ROOT else category_key(category.parent_id)


def children(category: Category) -> Range[Category]:
    """Subcategories, in order."""
    return children_of(category.category_id)


def cards_in(
    category: Category,
    *,
    difficulty: OfDifficulty = None,
    tags: WithTags = None,
    max_estimated_time: WithinMinutes = None,
    order_by: OrderOfCards = CardOrder.NEWEST_FIRST,
) -> Cards:
    """Cards of this category, without those of its subcategories."""
    cards = in_order(Card.in_category(category_id=category.category_id), order_by)
    return matching(cards, difficulty, tags, max_estimated_time)


def ancestors(category: Category) -> Step[list[Category]]:
    """Parent categories from the top down. Costs one read per level."""
    found: list[Category] = []
    above: Key[Category] | None = parent(category)
    while above is not None and len(found) < DEEPEST:
        (one,) = yield from readable_at([above])
        if one is None:
            break
        found.append(one)
        above = parent(one)
    return found[::-1]


def path(category: Category) -> Step[list[str]]:
    """Names of the parent categories from the top down, followed by its own."""
    above = yield from ancestors(category)
    return [*(each.name for each in above), category.name]


def descendants(
    category: Category, *, depth: Annotated[int, Doc("Number of levels, 1–32. Defaults to 3.")] = 3
) -> Step[list[Category]]:
    """All subcategories in depth-first order. Costs one round of reads per level."""
    return (yield from _below(category.category_id, depth))


def category_tree(*, depth: Annotated[int, Doc("Number of levels, 1–32. Defaults to 3.")] = 3) -> Step[list[Category]]:
    """All categories in depth-first order. Costs one round of reads per level."""
    return (yield from _below(ROOT, depth))


def _below(category_id: str, depth: int) -> Step[list[Category]]:
    if not 1 <= depth <= DEEPEST:
        raise refused(ProblemCode.INVALID, f"`depth` is {depth}; it must be from 1 to {DEEPEST}", at="depth")
    within: dict[str, list[Category]] = {}
    level, count = [category_id], 0
    for _ in range(depth):
        found: list[list[Category]] = yield Together([whole(children_of(each)) for each in level])
        new = {parent_id: inner for parent_id, inner in zip(level, found, strict=True) if parent_id not in within}
        within |= new
        count += sum(map(len, new.values()))
        if count > MOST_CATEGORIES:
            message = f"these are over {MOST_CATEGORIES:,} categories; request fewer levels, or start further down"
            raise refused(ProblemCode.INVALID, message, at="depth")
        level = [each.category_id for inner in new.values() for each in inner if each.child_count]
        if not level:
            break
    return _in_order(category_id, within)


def _in_order(top: str, within: dict[str, list[Category]]) -> list[Category]:
    """Orders depth-first. Each list is used once, so a cycle in the data cannot loop."""
    ordered: list[Category] = []
    waiting = within.pop(top, [])[::-1]
    while waiting:
        category = waiting.pop()
        ordered.append(category)
        waiting += within.pop(category.category_id, [])[::-1]
    return ordered
