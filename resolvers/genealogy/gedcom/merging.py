"""Merges several files: every record gets a unique xref, and pointers follow."""

import re
from collections.abc import Iterable, Mapping

from resolvers.genealogy.gedcom.records import VOID

# Matches an xref at the start or a pointer at the end of a preserved line. In text, @ is doubled.
XREF = re.compile(r"^(0 )@([^@\n]+)@(?= )", re.MULTILINE)
POINTER = re.compile(r"^([0-9]+ (?:@[^@\n]+@ )?[A-Za-z0-9_]+ )@([^@#\s][^@\n]*)@$", re.MULTILINE)


class Xrefs:
    """Tracks used xrefs. The first file keeps its own; later files are renamed."""

    def __init__(self) -> None:
        self._taken = {VOID}

    def of_file(self, own: Iterable[str], kept: Iterable[str]) -> dict[str, str]:
        """Returns the new xrefs for a file's records and for everything its texts point to, even if missing."""
        named = dict.fromkeys(own)
        for text in kept:
            if "@" in text:
                named |= dict.fromkeys(found[1] for found in POINTER.findall(text))
        named.pop(VOID, None)
        moved = [xref for xref in named if xref in self._taken]
        self._taken |= named.keys()
        return {xref: self.free(xref[0]) for xref in moved}

    def free(self, letter: str) -> str:
        number = len(self._taken)
        while f"{letter}{number}" in self._taken:
            number += 1
        self._taken.add(f"{letter}{number}")
        return f"{letter}{number}"


def renamed(text: str, moved: Mapping[str, str]) -> str:
    """Rewrites the xrefs in preserved text."""
    if not moved or "@" not in text:
        return text
    for pattern in (XREF, POINTER):
        text = pattern.sub(lambda found: f"{found[1]}@{moved.get(found[2], found[2])}@", text)
    return text
