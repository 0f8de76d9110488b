"""Splits text into search terms, in any script, ignoring case and accents."""

import re
import unicodedata
from itertools import pairwise

# English stop words.
STOP_WORDS = {
    "a", "an", "and", "are", "as", "at", "be", "by", "do", "for", "from", "how", "i", "in", "into", "is", "it", "its",
    "my", "of", "on", "or", "our", "so", "that", "the", "this", "to", "up", "we", "what", "when", "where", "with",
    "you", "your",
}  # fmt: skip

# Scripts without spaces: every character and every pair of characters is a word.
_unspaced = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai and Lao, Burmese, Khmer
    "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+"
)


def words_of(text: str) -> list[str]:
    """Returns the words in order, each once, without stop words."""
    return [word for word in _words(text, every=True) if word not in STOP_WORDS]


def asked_words(text: str) -> list[str]:
    """Returns the words of a query. In scripts without spaces, pairs of characters are more selective than single ones.

    Stop words count if there is nothing else: `for` may be the prefix of forge.
    """
    words = _words(text, every=False)
    return [word for word in words if word not in STOP_WORDS] or words


def _words(text: str, *, every: bool) -> list[str]:
    return [*dict.fromkeys(word for run in _runs(text) for word in _split(run, every=every))]


def _runs(text: str) -> list[str]:
    """Returns runs of letters, digits and their marks. Apostrophes are dropped from words.

    A dotless i is treated as an i, because their capitals are the same. Some letters only fold after decomposition.
    """
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    plain = folded.replace("'", "").replace("\u2019", "").replace("\u0131", "i")
    bare = unicodedata.normalize("NFC", "".join(letter for letter in plain if not unicodedata.combining(letter)))
    return "".join(letter if unicodedata.category(letter)[0] in "LNM" else " " for letter in bare).split()


def _split(run: str, *, every: bool) -> list[str]:
    words: list[str] = []
    end = 0
    for found in _unspaced.finditer(run):
        words += [run[end : found.start()]]
        characters = _characters(found.group())
        pairs = [one + other for one, other in pairwise(characters)]
        words += [*characters, *pairs] if every else pairs or characters
        end = found.end()
    return [word for word in [*words, run[end:]] if word]


def _characters(text: str) -> list[str]:
    """Returns the characters with their combining marks."""
    characters: list[str] = []
    for letter in text:
        if characters and unicodedata.category(letter)[0] == "M":
            characters[-1] += letter
        else:
            characters.append(letter)
    return characters
