"""The words of a text, as they are searched for: of any script, whatever their case and their accents."""

import re
import unicodedata
from itertools import pairwise

# Too common in English to tell one card from another.
STOP_WORDS = {
    "a", "an", "and", "are", "as", "at", "be", "by", "do", "for", "from", "how", "i", "in", "into", "is", "it", "its",
    "my", "of", "on", "or", "our", "so", "that", "the", "this", "to", "up", "we", "what", "when", "where", "with",
    "you", "your",
}  # fmt: skip

# Scripts that are written without spaces: there, every character and every two of them are words.
_unspaced = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai and Lao, Burmese, Khmer
    "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+"
)


def words_of(text: str) -> list[str]:
    """In order, each once, without those that are too common."""
    return [word for word in _words(text, every=True) if word not in STOP_WORDS]


def asked_words(text: str) -> list[str]:
    """The same of what somebody looks for: two characters next to each other say more than each alone.

    Where all of it is too common, it may be the beginning of something: who types `for` may want to forge.
    """
    words = _words(text, every=False)
    return [word for word in words if word not in STOP_WORDS] or words


def _words(text: str, *, every: bool) -> list[str]:
    return [*dict.fromkeys(word for run in _runs(text) for word in _split(run, every=every))]


def _runs(text: str) -> list[str]:
    """Letters, digits and the marks that belong to them; an apostrophe is part of its word and not written.

    A dotless i is an i: in capitals they are the same. Some letters have capitals only once they are taken apart.
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
    """Each with the marks that are written around it."""
    characters: list[str] = []
    for letter in text:
        if characters and unicodedata.category(letter)[0] == "M":
            characters[-1] += letter
        else:
            characters.append(letter)
    return characters
