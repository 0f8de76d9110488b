"""Content fingerprint of a file, independent of encoding, line ends, version and record order."""

import unicodedata
from collections.abc import Iterator
from dataclasses import fields
from hashlib import sha256

from resolvers.genealogy.gedcom.dates import from_gedcom
from resolvers.genealogy.gedcom.model import GedChild, GedFamily, GedOther, GedPerson, GedTree

# Unicode composition is quadratic in a run of marks, and real words are shorter.
LONGEST_WORD = 1_000


def fingerprint(tree: GedTree) -> str:
    """Returns a digest of people, families and their records, excluding who wrote the file and when."""
    known: dict[str, bytes] = {}
    return sha256(b"".join(sorted(_digests(tree, known)))).hexdigest()


def _digests(tree: GedTree, known: dict[str, bytes]) -> Iterator[bytes]:
    others = tuple(other for other in tree.others if other.tag != "SUBM")
    for parts in (tree.persons, tree.families, others):
        for part in parts:
            yield sha256(b"".join(_digest(text, known) for text in _texts(part))).digest()


def _texts(part: object) -> Iterator[str]:
    """Encodes values unambiguously: tuples are delimited, dates are normalized."""
    if isinstance(part, (GedPerson, GedFamily, GedOther, GedChild)):
        for told in fields(part):
            if told.name.endswith("_date"):
                yield from_gedcom(getattr(part, told.name)) or ""
            elif told.compare:
                yield from _texts(getattr(part, told.name))
    elif isinstance(part, tuple):
        yield f"{len(part)}:"
        for each in part:
            yield from _texts(each)
    else:
        yield str(part)


def _digest(text: str, known: dict[str, bytes]) -> bytes:
    """Caches digests, because many records share the same text."""
    if text not in known:
        known[text] = sha256(_composed(text).encode()).digest()
    return known[text]


def _composed(text: str) -> str:
    if text.isascii():
        return text
    words = text.split(" ")
    return " ".join(unicodedata.normalize("NFC", word) if len(word) <= LONGEST_WORD else word for word in words)
