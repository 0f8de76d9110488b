"""Text as part of a sort key: without case and accents, so that people find a name where they expect it."""

import re
from unicodedata import category, normalize

LONGEST = 80
END = "  "
"""Behind a text: it sorts ahead of all that may follow, and is in no text. So Berg comes before Berg Smith."""
_separators = re.compile(r"[\s#\x00-\x1f\x7f-\x9f\ud800-\udfff]+")


def sortable(text: str | None) -> str:
    """Returns text for a sort key, at most 80 characters, or an empty text if nothing is left."""
    bare = "".join(char for char in normalize("NFKD", (text or "")[: 4 * LONGEST]) if category(char) != "Mn")
    return _separators.sub(" ", normalize("NFC", bare.casefold())).strip()[:LONGEST].strip()


def sort_text(*texts: str | None) -> str:
    """Returns texts for a sort key: sorted by the first, then by the next."""
    return "".join(f"{sortable(text)}{END}" for text in texts)
