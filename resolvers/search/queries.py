"""The text of a query: words, phrases in quotes, and what of a document matches them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from resolvers.search.analysis import fold, is_stop_word, stem, tokens
from resolvers.search.languages import ALGORITHMS, language_of

MAX_TEXT = 500
MAX_WORDS = 12
MAX_PHRASES = 4
# Letters from which a word may have one typo, and two.
ONE_TYPO, TWO_TYPOS = 4, 8
# So many documents with a word tell that it has no typo.
ENOUGH = 5
SHORTEST_PREFIX = 2
# Stems of these languages are always looked for besides the language of the query.
USUAL = ("en",)
_MARKS = r'["\u201c\u201d\u201e\u00ab\u00bb]'
_quoted = re.compile(f"{_MARKS}([^{_MARKS[1:]}*){_MARKS}")
_control = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass(frozen=True)
class Word:
    """A word of a query."""

    text: str
    stems: tuple[str, ...]
    is_prefix: bool = False
    """True for the last word, which the user may still be typing."""

    @property
    def typos(self) -> int:
        """The number of typos that are forgiven. Words with digits or signs mean what they say."""
        if not self.text.isalpha() or len(self.text) < ONE_TYPO:
            return 0
        return 1 if len(self.text) < TWO_TYPOS else 2

    def typos_among(self, found: int) -> int:
        """Returns the number of typos to forgive if so many documents have the word, counted up to ENOUGH.

        A word of few documents may be a typo itself. Two typos find so much that they need a word that is not there.
        """
        return 0 if found >= ENOUGH else min(self.typos, 1) if found else self.typos


@dataclass(frozen=True)
class SearchQuery:
    """Words to find, all of them if possible, and phrases that must be there."""

    words: tuple[Word, ...]
    phrases: tuple[tuple[str, ...], ...] = ()

    @property
    def needed(self) -> int:
        """The number of words that a document must have: most of them."""
        count = len(self.words)
        return count if count <= 1 else max(1, round(count * 0.6))

    @property
    def identity(self) -> str:
        """Binds cursors to the query."""
        return repr((self.words, self.phrases))


def parsed(text: str, languages: Sequence[str] = (), language: str | None = None) -> SearchQuery:
    """Returns the query for a text. `languages` are those of the index, whose stems are looked for.

    Everything but letters, digits and quotes separates words: there are no operators, wildcards or patterns. Words
    beyond the limits are left out.
    """
    text = _control.sub(" ", text[:MAX_TEXT])
    language = language or language_of(text)
    stemmed = [each for each in dict.fromkeys([language, *USUAL, *languages]) if each in ALGORITHMS]
    found = [tuple(token.word for token in tokens(quoted) if not token.is_part) for quoted in _quoted.findall(text)]
    phrases = tuple(phrase[:MAX_WORDS] for phrase in found if len(phrase) > 1)[:MAX_PHRASES]
    # A phrase of one word is a word.
    rest = _quoted.sub(lambda quoted: " " if len(tokens(quoted.group(1))) > 1 else quoted.group(1), text)
    listed = [token for token in tokens(rest) if not token.is_part]
    words = {token.word: rest[token.start : token.end] for token in listed}
    meant = [word for word in words if not is_stop_word(word, language)] or [*words]
    if not meant and phrases:
        return SearchQuery((), phrases)
    ends_open = (
        bool(listed) and listed[-1].end == len(rest.rstrip('"\u201d')) and listed[-1].word == (meant or [""])[-1]
    )
    chosen = meant[:MAX_WORDS]
    return SearchQuery(
        tuple(
            Word(
                word,
                tuple(dict.fromkeys(stem(words[word], each) for each in stemmed)) or (fold(word),),
                ends_open and place == len(meant) - 1 and len(word) >= SHORTEST_PREFIX,
            )
            for place, word in enumerate(chosen)
        ),
        phrases,
    )
