"""Card search: a small index of terms in the table, for a moderate number of cards.

Any implementation of `Search` can replace it: it is notified of every card that is added, changed or deleted, and asked
for the cards that contain all given words. Terms are words and their prefixes of three letters or more. Longer prefixes
are resolved by the words that an index item lists.
"""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Annotated, Protocol

from typing_extensions import Doc

from datastore.cards import Card, Category, SearchTerm
from datastore.client.positions import Position
from datastore.client.table import Page, RangeRead, Table
from loaders.needs import Pages, Step
from loaders.ranked import Ranked
from loaders.request import Loaders
from loaders.visibility import readable_at
from resolvers.cards.tokenizer import asked_words, words_of
from resolvers.core.problems import ProblemCode, refused

SHORTEST_BEGINNING = 3
LONGEST_TERM = 8
CONSIDERED = 500
MAX_WORDS = 8
MAX_TEXT = 200
MAX_INDEXED = 200
BATCH = 100

# Weight of a word by its position, and the bonus for an exact match.
IN_TITLE, IN_TAGS, IN_CATEGORY = 8, 6, 3
WHOLE_WORD = 2

Scores = Mapping[str, int]
"""Scores by `card_id`."""


class Search(Protocol):
    """A search index of cards."""

    def find(self, words: Sequence[str]) -> Step[Scores]:
        """Returns the cards that contain all these words, or words with these prefixes, with their scores."""

    async def index(self, load: Loaders, card_id: str, words: Mapping[str, int]) -> None:
        """Replaces the words of a card, each with its weight."""


class TableSearch:
    """A search index in DynamoDB. Considers the newest 500 cards of a word, or all of a rarer word in the query."""

    def find(self, words: Sequence[str]) -> Step[Scores]:
        ranges = [SearchTerm.by_term(term=term_of(word)).newest_first() for word in words]
        pages: list[Page[SearchTerm]] = yield Pages([RangeRead(within, CONSIDERED) for within in ranges])
        listed = [{item.card_id: item for item in page.records} for page in pages]
        # A card beyond a word's newest cards may still contain it, unless the list is complete.
        unsure = [page.more is not None for page in pages]
        base = min(range(len(words)), key=lambda at: _rarity(pages[at]))
        scores = dict.fromkeys(listed[base], 0)
        for at, word in enumerate(words):
            items = listed[at]
            if unsure[at] and at != base:
                items = yield from _looked_up(scores, term_of(word), items)
            scores = {
                card_id: score + worth
                for card_id, score in scores.items()
                if (item := items.get(card_id)) and (worth := _worth(item, word))
            }
        return scores

    async def index(self, load: Loaders, card_id: str, words: Mapping[str, int]) -> None:
        """Writes only the difference to the stored terms, in batches, so that a retry completes the rest."""
        wanted = {item.term: item for item in terms(card_id, words)}
        there = await _there(load.table, card_id)
        new = (item for term, item in wanted.items() if term not in there or there[term].words != item.words)
        while some := list(islice(new, BATCH)):
            await load.table.batch_write(puts=some)
        old = (item.own_key for term, item in there.items() if term not in wanted)
        while keys := list(islice(old, BATCH)):
            await load.table.batch_write(deletes=keys)


async def _there(table: Table, card_id: str) -> dict[str, SearchTerm]:
    """Returns the stored terms of a card with a strongly consistent read, because another job may be writing."""
    there: dict[str, SearchTerm] = {}
    after: Position | None = None
    while True:
        page = await table.query(SearchTerm.within(card_id=card_id), limit=BATCH, after=after, consistent=True)
        there |= {item.term: item for item in page.records}
        after = page.more
        if after is None:
            return there


SEARCH: Search = TableSearch()


def search_cards(
    *, text: Annotated[str, Doc("Words of the title, tags or category, or their first three letters or more.")]
) -> Step[Ranked[Card]]:
    """Cards that contain all words, best match first, then newest. Uses the first eight words."""
    if len(text) > MAX_TEXT:
        raise refused(ProblemCode.INVALID, f"at most {MAX_TEXT} characters can be searched for", at="text")
    words = asked_words(text)[:MAX_WORDS]
    if not words:
        raise refused(ProblemCode.INVALID, "give a word to search for", at="text")
    scores: Scores = yield from SEARCH.find(words)
    ranks = {Card.key(card_id=card_id): f"{score:04d}" for card_id, score in scores.items()}
    return Ranked(ranks, {}, " ".join(words))


def searched_words(card: Card, category: Category | None) -> dict[str, int]:
    """Returns the words of a card with their weights. A word counts at its first position."""
    places = [(card.title, IN_TITLE), *((tag, IN_TAGS) for tag in card.tags)]
    places += [(category.name, IN_CATEGORY)] if category else []
    worth: dict[str, int] = {}
    for text, value in places:
        for word in words_of(text):
            worth.setdefault(word, value)
    return dict(islice(worth.items(), MAX_INDEXED))


def term_of(word: str) -> str:
    """Returns the index term for a word or prefix."""
    return word[:LONGEST_TERM]


def terms(card_id: str, words: Mapping[str, int]) -> list[SearchTerm]:
    """Returns each term with the words it covers."""
    found: dict[str, dict[str, int]] = {}
    for word, worth in words.items():
        shortest = min(SHORTEST_BEGINNING, len(word))
        for length in range(shortest, min(len(word), LONGEST_TERM) + 1):
            found.setdefault(word[:length], {})[word] = worth
    return [SearchTerm(card_id=card_id, term=term, words=listed) for term, listed in found.items()]


def _rarity(page: Page[SearchTerm]) -> tuple[bool, int, str]:
    """Sorts the rarest word first: one with a complete list, else the one whose list reaches back furthest."""
    if page.more is None:
        return False, len(page.records), ""
    return True, 0, page.records[-1].card_id if page.records else ""


def _looked_up(card_ids: Mapping[str, int], term: str, items: Mapping[str, SearchTerm]) -> Step[dict[str, SearchTerm]]:
    """Returns the index items of these cards, read by key where a list was incomplete."""
    keys = {card_id: SearchTerm.key(card_id=card_id, term=term) for card_id in card_ids if card_id not in items}
    found: list[SearchTerm | None] = yield from readable_at([*keys.values()])
    return {**items, **{item.card_id: item for item in found if item is not None}}


def _worth(item: SearchTerm, word: str) -> int:
    """Returns the best weight among words with this prefix. One or two letters must match a whole word."""
    return max(
        (
            worth * WHOLE_WORD if listed == word else worth
            for listed, worth in item.words.items()
            if listed == word or (listed.startswith(word) and len(word) >= SHORTEST_BEGINNING)
        ),
        default=0,
    )
