"""Several files in one: each record gets an xref that no other has, and what points to it follows."""

import re
from collections.abc import Iterable, Mapping

from resolvers.genealogy.gedcom.records import VOID

# In kept text: an xref at the beginning of a line, a pointer at its end. No text looks like it: its @ is doubled.
XREF = re.compile(r"^(0 )@([^@\n]+)@(?= )", re.MULTILINE)
POINTER = re.compile(r"^([0-9]+ (?:@[^@\n]+@ )?[A-Za-z0-9_]+ )@([^@#\s][^@\n]*)@$", re.MULTILINE)


class Xrefs:
    """The xrefs that are taken. The first file keeps its own; those of others make way."""

    def __init__(self) -> None:
        self._taken = {VOID}

    def of_file(self, own: Iterable[str], kept: Iterable[str]) -> dict[str, str]:
        """What is called otherwise, of the records of a file and of all that its texts point to, be it there or not."""
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
    """Kept text with other xrefs."""
    if not moved or "@" not in text:
        return text
    for pattern in (XREF, POINTER):
        text = pattern.sub(lambda found: f"{found[1]}@{moved.get(found[2], found[2])}@", text)
    return text
