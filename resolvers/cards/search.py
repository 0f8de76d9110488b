"""Documents of cards and categories, and `searchCards`."""

from typing import Annotated

from typing_extensions import Doc

from datastore.accounts import User
from datastore.cards import ROOT, Card, CardStatus, Category, Shelf
from datastore.model.keys import Key, Range
from loaders.searched import Searched
from loaders.viewer import Viewer
from resolvers.cards.edges import card_category
from resolvers.core.options import Options
from resolvers.search.documents import (
    EVERYONE,
    Audience,
    Document,
    Related,
    Searchable,
    Under,
    Weight,
    document_key,
    searchable,
    some_texts,
    text_in,
)
from resolvers.search.finding import Wanted, found_by
from resolvers.search.index import SearchIndex

UNPUBLISHED = (Shelf.DRAFTS, Shelf.ARCHIVE)


def card_document(card: Card, related: Related) -> Document | None:
    if card.deleted_at is not None or card.hidden_at is not None:
        return None
    category: Category | None = related.get(card_category(card))
    texts = some_texts(
        ("title", card.title, Weight.TITLE),
        *(("tags", tag, Weight.TAGS) for tag in card.tags),
        ("category", category.name if category else None, Weight.TAGS),
        ("description", card.description, Weight.BODY),
        ("instructions", "\n".join(card.instructions), Weight.BODY),
        ("materials", text_in(card.materials), Weight.BODY),
        ("tools", "\n".join(card.tools), Weight.BODY),
    )
    is_public = card.status is CardStatus.PUBLISHED
    return Document(
        document_key(card.own_key),
        "Card",
        texts,
        [EVERYONE if is_public else Audience.user(card.author_id)],
        owner_id=card.author_id,
        category_id=card.category_id,
        tags=[tag.casefold() for tag in card.tags],
        difficulty=card.difficulty.value,
        created_at=card.published_at or card.created_at,
    )


def category_of(card: Card) -> list[Key[Category]]:
    return [card_category(card)]


def published_cards(options: Options) -> list[Range[Card]]:
    return [Card.by_time()]


def unpublished_cards(user: User) -> list[Range[Card]]:
    return [Card.by_author(author_id=user.user_id, shelf=shelf) for shelf in UNPUBLISHED]


def category_document(category: Category, related: Related) -> Document:
    texts = some_texts(
        ("name", category.name, Weight.TITLE),
        ("description", category.description, Weight.BODY),
    )
    key = document_key(category.own_key)
    return Document(key, "Category", texts, [EVERYONE], created_at=category.created_at, depends=category.name)


def top_categories(options: Options) -> list[Range[Category]]:
    return [Category.children_of(parent_id=ROOT)]


def subcategories(category: Category) -> list[Range[Category]]:
    return [Category.children_of(parent_id=category.category_id)]


def cards_of_category(category: Category) -> list[Range[Card]]:
    return [Card.in_category(category_id=category.category_id)]


searchable(Searchable(Card, card_document, published_cards, Under(User, unpublished_cards), reads=category_of))
searchable(
    Searchable(
        Category,
        category_document,
        top_categories,
        Under(Category, subcategories),
        dependents=cards_of_category,
    )
)


def search_cards(
    viewer: Viewer,
    search_index: SearchIndex,
    *,
    text: Annotated[str, Doc("Words to find. At most 500 characters.")],
) -> Searched[Card]:
    """Published cards that contain the words, best match first. `search` finds more than cards, and has facets."""
    wanted = Wanted(text, types=frozenset({"Card"}), at="text", only_public=True)
    return found_by(search_index, viewer, wanted)
