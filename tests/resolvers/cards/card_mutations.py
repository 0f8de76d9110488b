"""Mutations of cards, and their problems."""

from typing import Any

from datastore.cards import Card, Category
from tests.resolvers.neighborhoods.test_site_commands import in_table
from tests.support.graph import Graph, id_of, mutation, problem

CREATE = mutation("createCard", "card { id status version author { username } category { name } }")
UPDATE = mutation("updateCard", "card { version title description tags category { name } }").replace(
    "problems { code", "problems { currentVersion code"
)
PUBLISH = mutation("publishCard", "card { status version }")
ARCHIVE = mutation("archiveCard", "card { status version }")
DELETE = mutation("deleteCard", "deletedCardId")
NO_CARD = problem("NOT_FOUND", "there is no such card", "input", "cardId")
NO_COMMENT = problem("NOT_FOUND", "there is no such card comment", "input", "commentId")
EMPTY = "this needs at least one character"


def new(category: Category, **given: Any) -> dict[str, Any]:
    return {"title": "Oil a table", "categoryId": id_of(category), "difficulty": "EXPERT", **given}


async def stored(graph: Graph, id_or_card: Card | str) -> Card:
    """As it is in the table."""
    wanted = id_or_card if isinstance(id_or_card, str) else id_of(id_or_card)
    cards = [item["cardId"]["S"] for item in await in_table(graph, "Card")]
    keys = [Card.key(card_id=card_id) for card_id in cards]
    found = [await graph.table.get(key, consistent=True) for key in keys]
    return next(card for card in found if card and id_of(card) == wanted)
