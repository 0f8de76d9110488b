"""Addresses on a website, in the one way they are written in keys."""

import re
import unicodedata
from urllib.parse import unquote

MAX_BYTES = 500


def path_of(text: str) -> str | None:
    """From the first slash: no host, no query, in lower case, no doubled or trailing slashes; None if it is no path."""
    plain = _folded(_folded(unquote(text)))
    segments = [re.sub(r"\s+", "-", segment.strip()) for segment in plain.split("/") if segment.strip()]
    path = "/" + "/".join(segments)
    return path if all(map(_is_word, segments)) and len(path.encode(errors="replace")) <= MAX_BYTES else None


def _folded(text: str) -> str:
    """Case and compatibility aside; what one of these makes of it the other may change again."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def _is_word(segment: str) -> bool:
    """Letters and digits of any script, with marks behind them, and -_.~; not just dots."""
    fits = all(character.isalnum() or character in "-_.~" or _is_mark(character) for character in segment)
    return fits and not _is_mark(segment[0]) and bool(segment.strip("."))


def _is_mark(character: str) -> bool:
    return unicodedata.category(character).startswith("M")
