"""Shows where a query matches: fragments of texts with the ranges of the words, and corrections of typos."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from loaders.threads import check_time
from resolvers.search.analysis import Token, tokens
from resolvers.search.documents import Text, Weight
from resolvers.search.languages import language_of
from resolvers.search.queries import SearchQuery, Word

# Characters of a text in which matches are looked for, and of a fragment.
LOOKED_AT = 5_000
FRAGMENT = 160
MOST_FRAGMENTS = 3
MOST_RANGES = 20
_line_ends = re.compile(r"[\r\n\t]")


class SearchRange(NamedTuple):
    """A range of a text, in UTF-16 code units."""

    start: int
    end: int


class SearchHighlight(NamedTuple):
    """A part of a text that matches."""

    field: str
    text: str
    ranges: list[SearchRange]


def highlights_of(texts: Sequence[Text], query: SearchQuery) -> list[SearchHighlight]:
    """Returns the fragments that match best, titles first."""
    language = language_of(" ".join(text.text for text in texts))
    order = [*Weight]
    found: list[tuple[int, int, SearchHighlight]] = []
    known: dict[tuple[str, str], bool] = {}
    for text in texts:
        matching = [token for token in _looked_at(text, language) if _is_match(token, query, known)]
        if matching:
            words = len({token.word for token in matching})
            found.append((order.index(text.weight), -words, _fragment(text.field, text.text[:LOOKED_AT], matching)))
    found.sort(key=lambda each: each[:2])
    return [highlight for *_, highlight in found[:MOST_FRAGMENTS]]


def _looked_at(text: Text, language: str | None) -> list[Token]:
    check_time()
    return tokens(text.text[:LOOKED_AT], language)


def _is_match(token: Token, query: SearchQuery, known: dict[tuple[str, str], bool]) -> bool:
    """Most words of a text are in it many times."""
    about = token.word, token.stem
    if about not in known:
        known[about] = _matches(token, query)
    return known[about]


def _matches(token: Token, query: SearchQuery) -> bool:
    if any(token.word in phrase for phrase in query.phrases):
        return True
    return any(exactly(token, word) or has_typos(token.word, word) for word in query.words)


def exactly(token: Token, word: Word) -> bool:
    """True if the token is the word, an inflection of it or, where it may be, begins with it."""
    is_same = token.word == word.text or token.stem in word.stems
    return is_same or (word.is_prefix and token.word.startswith(word.text))


def has_typos(text: str, word: Word) -> bool:
    if not word.typos or abs(len(text) - len(word.text)) > word.typos:
        return False
    # A typo adds at most one letter that the other word does not have. Few words pass this, and it is much faster.
    letters, wanted = _letters(text), _letters(word.text)
    if len(letters - wanted) > word.typos or len(wanted - letters) > word.typos:
        return False
    return distance(text, word.text) <= word.typos


@lru_cache(maxsize=10_000)
def _letters(text: str) -> frozenset[str]:
    return frozenset(text)


@lru_cache(maxsize=10_000)
def distance(one: str, other: str) -> int:
    """Returns the number of letters to add, drop, replace or swap with the next."""
    before: list[int] = []
    row: list[int] = [*range(len(other) + 1)]
    for at, letter in enumerate(one):
        above, before, row = before, row, [at + 1]
        for place, wanted in enumerate(other):
            cost = min(row[place] + 1, before[place + 1] + 1, before[place] + (letter != wanted))
            if at and place and letter == other[place - 1] and one[at - 1] == wanted:
                cost = min(cost, above[place - 1] + 1)
            row.append(cost)
    return row[-1]


def _fragment(field: str, text: str, matching: Sequence[Token]) -> SearchHighlight:
    """Cuts the part with the most matches out of a text."""
    start, end = _best(matching)
    low = max(0, min(start - (FRAGMENT - (end - start)) // 2, len(text) - FRAGMENT))
    high = min(len(text), low + FRAGMENT)
    # Whole words, unless they are very long.
    if low and (space := text.find(" ", low, start)) >= 0:
        low = space + 1
    if high < len(text) and (space := text.rfind(" ", end, high)) >= 0:
        high = space
    inside = [token for token in matching if token.start >= low and token.end <= high]
    shown = _line_ends.sub(" ", text[low:high])
    spans = _merged([(token.start - low, token.end - low) for token in inside])
    return SearchHighlight(field, shown, [SearchRange(_units(shown, a), _units(shown, b)) for a, b in spans])


def _best(matching: Sequence[Token]) -> tuple[int, int]:
    """Returns the start and the end of the run of matches with the most different words."""
    best, found = 0, (matching[0].start, matching[0].end)
    for at, first in enumerate(matching[:MOST_RANGES]):
        near = [token for token in matching[at : at + MOST_RANGES] if token.end - first.start <= FRAGMENT]
        if len({token.word for token in near}) > best:
            best, found = len({token.word for token in near}), (first.start, max(token.end for token in near))
    return found if best else (matching[0].start, min(matching[0].end, matching[0].start + FRAGMENT))


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Joins ranges that overlap, such as pairs of characters."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans)[:MOST_RANGES]:
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _units(text: str, place: int) -> int:
    """Returns a place in UTF-16 code units."""
    return len(text[:place].encode("utf-16-le", "surrogatepass")) // 2


def corrected(text: str, query: SearchQuery, hits: Sequence[Sequence[Text]]) -> str | None:
    """Returns the text of a query with words as the hits have them, None if there is nothing to correct."""
    corrections: dict[str, str] = {}
    language = language_of(" ".join(each.text for texts in hits for each in texts))
    listed = [_looked_at(each, language) for texts in hits for each in texts]
    every = {(token.word, token.stem): token for found in listed for token in found}.values()
    for word in query.words:
        if any(exactly(token, word) for token in every):
            continue
        near = [token for token in every if has_typos(token.word, word)]
        if near:
            corrections[word.text] = min(near, key=lambda token: distance(token.word, word.text)).word
    if not corrections:
        return None
    made, end = [], 0
    for token in tokens(text):
        if not token.is_part and token.word in corrections:
            made += [text[end : token.start], corrections[token.word]]
            end = token.end
    return "".join([*made, text[end:]])
