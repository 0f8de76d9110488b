"""Normalized URL paths, as they are stored in keys."""

import re
import unicodedata
from urllib.parse import unquote

MAX_BYTES = 500


def path_of(text: str) -> str | None:
    """Returns the path in lowercase, with dashes for spaces and without repeated or trailing slashes.

    None if it is invalid, for example with a host or a query.
    """
    plain = _folded(_folded(unquote(text)))
    segments = [re.sub(r"\s+", "-", segment.strip()) for segment in plain.split("/") if segment.strip()]
    path = "/" + "/".join(segments)
    return path if all(map(_is_word, segments)) and len(path.encode(errors="replace")) <= MAX_BYTES else None


def _folded(text: str) -> str:
    """Applies case folding between two compatibility normalizations."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def _is_word(segment: str) -> bool:
    """Returns True for letters and digits of any script with their marks, and -_.~, unless it is only dots."""
    fits = all(character.isalnum() or character in "-_.~" or _is_mark(character) for character in segment)
    return fits and not _is_mark(segment[0]) and bool(segment.strip("."))


def _is_mark(character: str) -> bool:
    return unicodedata.category(character).startswith("M")
