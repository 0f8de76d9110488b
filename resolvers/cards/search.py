"""Finding cards by words: a small index of terms in the table, until there are too many cards for that.

Whatever is behind `Search` can take over: it is told of every card that appears, changes or goes, and is asked for the
cards that have all of some words. Terms are words and their beginnings from three letters on; those of more letters
than a term has are told apart by the words that an item of the index lists.
"""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Annotated, Protocol

from typing_extensions import Doc

from datastore.cards import Card, Category, SearchTerm
from datastore.client.table import Page, Position, RangeRead, Table
from loaders.needs import Items, Pages, Step
from loaders.ranked import Ranked
from loaders.request import Loaders
from resolvers.cards.tokenizer import asked_words, words_of
from resolvers.core.problems import ProblemCode, refused

SHORTEST_BEGINNING = 3
LONGEST_TERM = 8
CONSIDERED = 500
MAX_WORDS = 8
MAX_TEXT = 200
MAX_INDEXED = 200
BATCH = 100

# What a word is worth by where it stands, and how much more it is worth if it is the very word that was asked for.
IN_TITLE, IN_TAGS, IN_CATEGORY = 8, 6, 3
WHOLE_WORD = 2

Scores = Mapping[str, int]
"""By the `card_id` of what was found."""


class Search(Protocol):
    """What finds cards."""

    def find(self, words: Sequence[str]) -> Step[Scores]:
        """The cards that have all these words, or words that begin so, and how well each fits."""

    async def index(self, load: Loaders, card_id: str, words: Mapping[str, int]) -> None:
        """From now on a card is found by these words, each with what it is worth, and by no others."""


class TableSearch:
    """In DynamoDB. It considers the newest 500 cards of a word, or all of a rarer one that is asked for with it."""

    def find(self, words: Sequence[str]) -> Step[Scores]:
        ranges = [SearchTerm.by_term(term=term_of(word)).newest_first() for word in words]
        pages: list[Page[SearchTerm]] = yield Pages([RangeRead(within, CONSIDERED) for within in ranges])
        listed = [{item.card_id: item for item in page.records} for page in pages]
        # What is not among a word's newest cards may still have it, unless these are all.
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
        """By the difference to what is there, a batch at a time: whoever repeats it does what is left."""
        wanted = {item.term: item for item in terms(card_id, words)}
        there = await _there(load.table, card_id)
        new = (item for term, item in wanted.items() if term not in there or there[term].words != item.words)
        while some := list(islice(new, BATCH)):
            await load.table.batch_write(puts=some)
        old = (item.own_key for term, item in there.items() if term not in wanted)
        while keys := list(islice(old, BATCH)):
            await load.table.batch_write(deletes=keys)


async def _there(table: Table, card_id: str) -> dict[str, SearchTerm]:
    """What a card is found by now: straight from the table, as another one may be writing it."""
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
    *, text: Annotated[str, Doc("Words of the title, the tags or the category, or their first three letters or more.")]
) -> Step[Ranked[Card]]:
    """Cards that have all these words, those that fit best first, then the newest. The first eight words count."""
    if len(text) > MAX_TEXT:
        raise refused(ProblemCode.INVALID, f"at most {MAX_TEXT} characters can be searched for", "text")
    words = asked_words(text)[:MAX_WORDS]
    if not words:
        raise refused(ProblemCode.INVALID, "give a word to search for", "text")
    scores: Scores = yield from SEARCH.find(words)
    ranks = {Card.key(card_id=card_id): f"{score:04d}" for card_id, score in scores.items()}
    return Ranked(ranks, {}, " ".join(words))


def searched_words(card: Card, category: Category | None) -> dict[str, int]:
    """What a card is found by, and what each word is worth: as much as in the first place where it stands."""
    places = [(card.title, IN_TITLE), *((tag, IN_TAGS) for tag in card.tags)]
    places += [(category.name, IN_CATEGORY)] if category else []
    worth: dict[str, int] = {}
    for text, value in places:
        for word in words_of(text):
            worth.setdefault(word, value)
    return dict(islice(worth.items(), MAX_INDEXED))


def term_of(word: str) -> str:
    """The term to look under for a word, or for what begins so."""
    return word[:LONGEST_TERM]


def terms(card_id: str, words: Mapping[str, int]) -> list[SearchTerm]:
    """Each term with the words that it stands for."""
    found: dict[str, dict[str, int]] = {}
    for word, worth in words.items():
        shortest = min(SHORTEST_BEGINNING, len(word))
        for length in range(shortest, min(len(word), LONGEST_TERM) + 1):
            found.setdefault(word[:length], {})[word] = worth
    return [SearchTerm(card_id=card_id, term=term, words=listed) for term, listed in found.items()]


def _rarity(page: Page[SearchTerm]) -> tuple[bool, int, str]:
    """The rarest word comes first: one whose cards are all known, else the one whose newest reach back the furthest."""
    if page.more is None:
        return False, len(page.records), ""
    return True, 0, page.records[-1].card_id if page.records else ""


def _looked_up(card_ids: Mapping[str, int], term: str, items: Mapping[str, SearchTerm]) -> Step[dict[str, SearchTerm]]:
    """The items of these cards, by their keys where a list did not reach so far."""
    keys = {card_id: SearchTerm.key(card_id=card_id, term=term) for card_id in card_ids if card_id not in items}
    found: list[SearchTerm | None] = yield Items([*keys.values()])
    return {**items, **{item.card_id: item for item in found if item is not None}}


def _worth(item: SearchTerm, word: str) -> int:
    """The best of its words that begins so; one of one or two letters has to be the word itself."""
    return max(
        (
            worth * WHOLE_WORD if listed == word else worth
            for listed, worth in item.words.items()
            if listed == word or (listed.startswith(word) and len(word) >= SHORTEST_BEGINNING)
        ),
        default=0,
    )
