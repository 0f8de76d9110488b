"""Writes a tree as the records and bytes of a file."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from resolvers.genealogy.gedcom.adoptions import adoption_records
from resolvers.genealogy.gedcom.families import family_record
from resolvers.genealogy.gedcom.header import header_records
from resolvers.genealogy.gedcom.link_notes import NOBODY, with_notes
from resolvers.genealogy.gedcom.links import FAMILY_TAGS, PERSON_TAGS, Links, families_of, person_links
from resolvers.genealogy.gedcom.model import GedFamily, GedPerson, GedTree
from resolvers.genealogy.gedcom.parser import kept_records
from resolvers.genealogy.gedcom.pedigrees import saying
from resolvers.genealogy.gedcom.persons import has_new_photo, person_record
from resolvers.genealogy.gedcom.records import PARTNERS, Record, Version
from resolvers.genealogy.gedcom.serializer import write_records
from resolvers.genealogy.gedcom.shared_records import Shared, photo_record, shared_by

XREFS = {
    Version.V5: re.compile(r"(?!VOID$)[A-Za-z0-9_][^@#!:\s]{0,19}"),
    Version.V7: re.compile(r"(?!VOID$)[A-Z0-9_]+"),
}
LETTERS = {"INDI": "I", "FAM": "F", "SNOTE": "N", "SOUR": "S", "REPO": "R", "OBJE": "O", "SUBM": "U"}

# Preserved links between a person and a family, by both xrefs and the tag.
Kept = dict[tuple[str, str, str], Record]


def _on() -> None:
    """Goes on; the default of `advance`."""


def write_tree(tree: GedTree, version: Version = Version.V7, advance: Callable[[], None] = _on) -> Iterator[bytes]:
    """Yields one record at a time. Keeps an xref if the version allows it and it is unique.

    Calls `advance` for each person and family while it prepares them.
    """
    return write_records(_renamed(_records(tree, version, advance), XREFS[version]), version)


def _records(tree: GedTree, version: Version, advance: Callable[[], None]) -> list[Record]:
    others = [record for other in tree.others for record in kept_records(other.kept)]
    shared = shared_by(others)
    with_photos = [person for person in tree.persons if has_new_photo(person, shared)]
    links = _links(tree, advance)
    return [
        *header_records(kept_records(tree.header), others, version),
        *_person_records(tree.persons, links, shared, advance),
        *(family_record(family, links[family.xref]) for family in tree.families),
        *others,
        *(photo_record(_photo_xref(person), person.photo_url, version) for person in with_photos),
        Record("TRLR"),
    ]


def _photo_xref(person: GedPerson) -> str:
    """Returns an xref that no file can have, so that a new one is assigned."""
    return f"\0{person.xref}"


def _person_records(
    persons: Sequence[GedPerson], links: dict[str, Links], shared: Shared, advance: Callable[[], None]
) -> Iterator[Record]:
    families = families_of(links.values())
    for person in persons:
        advance()
        kept = Record("INDI", children=_kept_links(person))
        told = [
            link
            for tag in PERSON_TAGS
            for link in person_links(person.xref, kept.all(tag), tag, links, families[person.xref, tag])
        ]
        adoptions = _adoptions(person.xref, kept.all("ADOP"), [links[each] for each in families[person.xref, "FAMC"]])
        yield person_record(person, [*adoptions, *told], shared, _photo_xref(person))


def _adoptions(child: str, kept: list[Record], families: list[Links]) -> list[Record]:
    dates = {
        (each.family, partner): date
        for each in families
        for partner, date in zip(PARTNERS, each.adoption_dates.get(child, NOBODY), strict=True)
        if date
    }
    if not dates:
        return kept
    return adoption_records(kept, {each.family: each.kinds(child) for each in families}, dates)


def _links(tree: GedTree, advance: Callable[[], None]) -> dict[str, Links]:
    """Returns the current family links merged with the preserved ones."""
    persons = {person.xref for person in tree.persons}
    of_persons = {(each.xref, link.pointer, link.tag): link for each in tree.persons for link in _kept_links(each)}
    links: dict[str, Links] = {}
    for family in tree.families:
        advance()
        links[family.xref] = _family_links(family, persons, of_persons)
    return links


def _family_links(family: GedFamily, persons: set[str], of_persons: Kept) -> Links:
    links = Links(family.xref)
    kept = {(link.tag, link.pointer): link for link in _kept_links(family)}
    for tag, xref in (("HUSB", family.husband), ("WIFE", family.wife)):
        if xref in persons:
            links.add_partner(kept.get((tag, xref), Record(tag, pointer=xref)))
    for child in family.children:
        if child.xref in persons:
            links.add_child(kept.get(("CHIL", child.xref), Record("CHIL", pointer=child.xref)))
    for tag, back in links.back.items():
        back.update({xref: of_persons.get((xref, family.xref, tag), link) for xref, link in back.items()})
    for child in family.children:
        if child.xref in links.children:
            kinds = child.husband_pedigree, child.wife_pedigree
            both = saying(kinds, links.children[child.xref], links.back["FAMC"][child.xref])
            links.children[child.xref] = both[0]
            links.back["FAMC"][child.xref] = with_notes(both[1], (child.husband_notes, child.wife_notes))
            links.adoption_dates[child.xref] = child.husband_adoption_date, child.wife_adoption_date
    return links


def _kept_links(told_of: GedPerson | GedFamily) -> tuple[Record, ...]:
    tags = (*PERSON_TAGS, "ADOP") if isinstance(told_of, GedPerson) else FAMILY_TAGS
    if not any(tag in told_of.kept for tag in tags):
        return ()
    return tuple(record for record in kept_records(told_of.kept) if record.tag in tags)


class _Xrefs:
    """The xrefs of a file: one per record, and the new one for every pointer."""

    def __init__(self, records: Sequence[Record], allowed: re.Pattern[str]) -> None:
        self.moved: dict[str, str] = {}
        self._free = {record.xref for record in records if allowed.fullmatch(record.xref)}
        self._taken = set(self._free)
        self._counts: Counter[str] = Counter()

    def take(self, record: Record) -> str:
        if record.xref in self._free:
            self._free.remove(record.xref)
            return record.xref
        if not record.xref and record.tag not in ("INDI", "FAM"):
            return ""
        xref = self._made(LETTERS.get(record.tag, "X"))
        if record.xref not in self._taken:
            self.moved.setdefault(record.xref, xref)
        return xref

    def _made(self, letter: str) -> str:
        while True:
            self._counts[letter] += 1
            xref = f"{letter}{self._counts[letter]}"
            if xref not in self._taken:
                return xref


def _renamed(records: list[Record], allowed: re.Pattern[str]) -> Iterator[Record]:
    xrefs = _Xrefs(records, allowed)
    taken = [
        record if (xref := xrefs.take(record)) == record.xref else replace(record, xref=xref) for record in records
    ]
    return (_pointing(record, xrefs.moved) if xrefs.moved else record for record in taken)


def _pointing(record: Record, moved: dict[str, str]) -> Record:
    pointer = moved.get(record.pointer, "") or record.pointer
    return replace(record, pointer=pointer, children=tuple(_pointing(child, moved) for child in record.children))
