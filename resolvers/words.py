"""The words of a text, as they are searched for: of any script, whatever their case and their accents."""

import re
import unicodedata

# Too common in English to tell one card from another.
STOP_WORDS = {
    "a", "an", "and", "are", "as", "at", "be", "by", "do", "for", "from", "how", "i", "in", "into", "is", "it", "its",
    "my", "of", "on", "or", "our", "so", "that", "the", "this", "to", "up", "we", "what", "when", "where", "with",
    "you", "your",
}  # fmt: skip

# Scripts that are written without spaces: there, every character and every two of them are words.
_unspaced = re.compile("[\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+")


def words_of(text: str) -> list[str]:
    """In order, each once, without those that are too common."""
    return [*dict.fromkeys(word for run in _runs(text) for word in _split(run, every=True) if word not in STOP_WORDS)]


def asked_words(text: str) -> list[str]:
    """The same of what somebody looks for: two characters next to each other say more than each alone."""
    return [*dict.fromkeys(word for run in _runs(text) for word in _split(run, every=False) if word not in STOP_WORDS)]


def _runs(text: str) -> list[str]:
    """Letters, digits and the marks that belong to them; an apostrophe is part of its word and not written."""
    plain = unicodedata.normalize("NFKD", text.casefold().replace("'", "").replace("\u2019", ""))
    bare = unicodedata.normalize("NFC", "".join(letter for letter in plain if not unicodedata.combining(letter)))
    return "".join(letter if unicodedata.category(letter)[0] in "LNM" else " " for letter in bare).split()


def _split(run: str, *, every: bool) -> list[str]:
    words: list[str] = []
    end = 0
    for found in _unspaced.finditer(run):
        words += [run[end : found.start()]]
        characters = found.group()
        pairs = [characters[at : at + 2] for at in range(len(characters) - 1)]
        words += [*characters, *pairs] if every else pairs or [characters]
        end = found.end()
    return [word for word in [*words, run[end:]] if word]
