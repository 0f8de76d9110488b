"""Splits text into tokens, the same for every engine: words of any script without case and accents, and their stems.

Engines index these tokens as they are. So all engines find the same, and `c++` or `node.js` can be words.
"""

import re
import sys
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import snowballstemmer

from resolvers.search.languages import ALGORITHMS, STOP_WORDS

# Longer words are not worth an entry of the index: they are numbers, keys and noise.
LONGEST_TOKEN = 60

# Scripts without spaces: every character and every pair of characters is a token.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai and Lao, Burmese, Khmer
    "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)


class Token(NamedTuple):
    """A word of a text: without case and accents, its stem, and where it is."""

    word: str
    stem: str
    start: int
    end: int
    is_part: bool = False
    """True for a part of another token, such as `node` in `node.js`. Parts are no neighbors in phrases."""


def _letters() -> str:
    """Returns all letters, digits and combining marks of other scripts, as ranges for a regular expression.

    Marks belong to the letter before, but are no letters, so that `\\w` does not have them.
    """
    ranges: list[list[int]] = []
    unspaced = re.compile(f"[{UNSPACED}]")
    for code in range(0x20000):
        letter = chr(code)
        if unicodedata.category(letter)[0] in "LNM" and not unspaced.match(letter):
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)


def _words(letter: str) -> str:
    """Returns the pattern of words: `node.js` and `.net`; `c++`; `c#`, but not the `#` of a hashtag behind a word."""
    plain = f"{letter}+(?:['\u2019]{letter}+)*"
    start = rf"(?:(?<!{letter})\.(?=[a-zA-Z]))?"
    end = rf"(?:\+\+|(?<!{letter}{letter}{letter})\#(?!{letter}))?"
    return rf"(?P<word>{start}{plain}(?:\.(?=[a-zA-Z]){letter}+)*{end})"


# Most texts are of a few letters, which are found much faster.
_ascii_word = re.compile(_words("[a-zA-Z0-9]"))
_ascii_letters = re.compile("[a-zA-Z0-9]+")


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Returns the patterns of words and of runs of letters in any script. They take a tenth of a second to make."""
    letter = f"[{_letters()}]"
    return re.compile(rf"(?P<unspaced>[{UNSPACED}]+)|{_words(letter)}"), re.compile(f"{letter}+")


def tokens(text: str, language: str | None = None) -> list[Token]:
    """Returns the tokens of a text in order, parts of words after their words. Stems belong to the language."""
    return [*_tokens(text, language)]


class Terms(NamedTuple):
    """The words of a text, their stems, and the parts of words."""

    words: list[str]
    stems: list[str]
    parts: list[str]


def terms(text: str, language: str | None) -> Terms:
    """Returns the tokens of a text without their places, for an index. Most texts take a third of the time."""
    if text.isascii():
        found = [word for word in _ascii_word.findall(text) if len(word) <= LONGEST_TOKEN]
        parts = [part for word in found if "." in word for part in _ascii_letters.findall(word)]
        return Terms([*map(fold, found)], [stem(word, language) for word in (*found, *parts)], [*map(fold, parts)])
    every = tokens(text, language)
    return Terms(
        [token.word for token in every if not token.is_part],
        [token.stem for token in every],
        [token.word for token in every if token.is_part],
    )


def _tokens(text: str, language: str | None) -> Iterator[Token]:
    words, letters = (_ascii_word, _ascii_letters) if text.isascii() else _patterns()
    for found in words.finditer(text):
        start, end = found.span()
        if found.lastgroup == "unspaced":
            yield from _grams(found.group(), start)
            continue
        word = fold(found.group())
        if not word or len(word) > LONGEST_TOKEN:
            continue
        yield Token(word, stem(found.group(), language), start, end)
        if "." in word:
            for part in letters.finditer(found.group()):
                each = fold(part.group())
                if each and each != word:
                    yield Token(each, stem(part.group(), language), start + part.start(), start + part.end(), True)


def _grams(run: str, start: int) -> Iterator[Token]:
    """Yields pairs of characters, and each character as a part of them."""
    places = _characters(run)
    characters = [(fold(run[first:last]), first, last) for first, last in places]
    pairs = [(one + other, first, last) for (one, first, _), (other, _, last) in pairwise(characters)]
    for word, first, last in pairs:
        if word:
            yield Token(word, word, start + first, start + last)
    for word, first, last in characters:
        if word:
            yield Token(word, word, start + first, start + last, bool(pairs))


def _characters(text: str) -> list[tuple[int, int]]:
    """Returns the characters with their combining marks."""
    places: list[tuple[int, int]] = []
    for at, letter in enumerate(text):
        if places and unicodedata.category(letter)[0] == "M":
            places[-1] = (places[-1][0], at + 1)
        else:
            places.append((at, at + 1))
    return places


@lru_cache(maxsize=100_000)
def fold(word: str) -> str:
    """Returns a word without case, accents and apostrophes.

    A dotless i is treated as an i, because their capitals are the same. Some letters only fold after decomposition.
    """
    if word.isascii():
        return word.lower().replace("'", "")
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", word).casefold())
    plain = folded.replace("\u0131", "i")
    bare = "".join(letter for letter in plain if letter in "+#." or _is_kept(letter))
    return sys.intern(unicodedata.normalize("NFC", bare))


def _is_kept(letter: str) -> bool:
    """True for letters, digits, and marks that are vowels of their own, as in Hindi and Thai."""
    return unicodedata.category(letter)[0] in "LNM" and not unicodedata.combining(letter)


@lru_cache(maxsize=200_000)
def stem(word: str, language: str | None) -> str:
    """Returns the stem of a word in a language, folded. Without a stemmer for the language, it is the folded word."""
    if (
        language not in ALGORITHMS
        or not word[-1].isalpha()
        or not word.replace("'", "").replace("\u2019", "").isalpha()
    ):
        return fold(word)
    return fold(_stemmer(language).stemWord(unicodedata.normalize("NFC", word.casefold()))) or fold(word)


@cache
def _stemmer(language: str) -> Any:
    return snowballstemmer.stemmer(ALGORITHMS[language])


def is_stop_word(word: str, language: str | None) -> bool:
    return word in STOP_WORDS["en"] or (language is not None and word in STOP_WORDS.get(language, ()))
