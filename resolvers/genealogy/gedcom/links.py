"""Links between people and families. Both records state them: they are merged on reading and written to both."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from resolvers.genealogy.gedcom.link_notes import NOBODY, Notes, notes_of
from resolvers.genealogy.gedcom.model import GedChild
from resolvers.genealogy.gedcom.pedigrees import Kinds, kinds_of, says_more
from resolvers.genealogy.gedcom.records import PARTNERS, VOID, Record
from resolvers.genealogy.gedcom.report import Report

PERSON_TAGS = ("FAMC", "FAMS")
FAMILY_TAGS = (*PARTNERS, "CHIL")


@dataclass(slots=True)
class Links:
    """The links of one family: to partners by position, to children by xref, and back from both by tag and xref.

    Notes and adoption dates belong to children, by xref.
    """

    family: str
    partners: dict[str, Record] = field(default_factory=dict)
    children: dict[str, Record] = field(default_factory=dict)
    back: dict[str, dict[str, Record]] = field(default_factory=lambda: {tag: {} for tag in PERSON_TAGS})
    notes: dict[str, Notes] = field(default_factory=dict)
    adoption_dates: dict[str, tuple[str, str]] = field(default_factory=dict)

    def add_partner(self, link: Record) -> bool:
        """Assigns a partner. Anyone may take either place: if one is taken, the other is used."""
        free = next((place for place in (link.tag, *PARTNERS) if place not in self.partners), None)
        if free is None or link.pointer in self.back["FAMS"]:
            return False
        self.partners[free] = replace(link, tag=free)
        self.back["FAMS"][link.pointer] = Record("FAMS", pointer=self.family)
        return True

    def add_child(self, link: Record) -> bool:
        if link.pointer in self.children:
            return False
        self.children[link.pointer] = link
        self.back["FAMC"][link.pointer] = Record("FAMC", pointer=self.family)
        return True

    def kinds(self, xref: str) -> Kinds:
        return kinds_of(self.children[xref], self.back["FAMC"][xref])

    def child(self, xref: str) -> GedChild:
        dates, notes = self.adoption_dates.get(xref, NOBODY), self.notes.get(xref, NOBODY)
        line = self.children[xref].line or self.back["FAMC"][xref].line
        return GedChild(xref, *self.kinds(xref), *dates, *notes, line=line)

    def says_more(self, tag: str, person: str) -> bool:
        """Tells whether a person's link carries more than its existence and, for a child, its kind."""
        link = self.back[tag][person]
        return bool(link.children) and (tag == "FAMS" or says_more(self.children[person], link))


def is_link(record: Record) -> bool:
    return bool(record.pointer) and record.pointer != VOID


def links_of(persons: dict[str, Record], families: dict[str, Record], report: Report) -> dict[str, Links]:
    """Merges the links of each family. A link stated by only one record counts; a dangling one is rejected."""
    links = {xref: _said_by_family(xref, family, persons, report) for xref, family in families.items()}
    for xref, person in persons.items():
        seen: set[tuple[str, str]] = set()
        for link in filter(is_link, person.all(*PERSON_TAGS)):
            if link.pointer not in links:
                _refuse(link, "There is no such family.", report)
            elif (link.tag, link.pointer) in seen:
                _refuse(link, "The link is a duplicate.", report)
            else:
                _add_said_by_person(links[link.pointer], xref, link, report)
            seen.add((link.tag, link.pointer))
    return links


def families_of(links: Iterable[Links]) -> dict[tuple[str, str], list[str]]:
    """Returns the families of each person and tag, in order."""
    families: dict[tuple[str, str], list[str]] = defaultdict(list)
    for family in links:
        for tag in PERSON_TAGS:
            for person in family.back[tag]:
                families[person, tag].append(family.family)
    return families


def kept_links(xref: str, told: list[Record], tag: str, links: dict[str, Links], families: list[str]) -> list[Record]:
    """Returns the links of a person to preserve: all of them in order, or none if they can be regenerated."""
    ordered = _ordered(told, families)
    is_needed = ordered != families or any(links[family].says_more(tag, xref) for family in families)
    return [*((links[family].back[tag][xref] for family in ordered) if is_needed else ()), *_others(told)]


def person_links(xref: str, kept: list[Record], tag: str, links: dict[str, Links], families: list[str]) -> list[Record]:
    return [*(links[family].back[tag][xref] for family in _ordered(kept, families)), *_others(kept)]


def _ordered(told: list[Record], families: list[str]) -> list[str]:
    """Orders families as the person lists them, falling back to the order of the families."""
    true, told_xrefs = set(families), dict.fromkeys(link.pointer for link in told)
    first = [xref for xref in told_xrefs if xref in true]
    if first == [xref for xref in families if xref in told_xrefs]:
        return families
    return list(dict.fromkeys([*first, *families]))


def _others(told: list[Record]) -> list[Record]:
    return [record for record in told if not is_link(record)]


def _said_by_family(xref: str, family: Record, persons: dict[str, Record], report: Report) -> Links:
    links = Links(xref)
    for link in filter(is_link, family.all(*FAMILY_TAGS)):
        if link.pointer not in persons:
            _refuse(link, "There is no such person.", report)
        elif link.tag == "CHIL" and not links.add_child(link):
            _refuse(link, "The child is a duplicate.", report)
        elif link.tag != "CHIL" and not links.add_partner(link):
            _refuse(link, "The partner is a duplicate, or the family has two other partners.", report)
    return links


def _add_said_by_person(links: Links, xref: str, link: Record, report: Report) -> None:
    if xref not in links.back[link.tag]:
        to_person = Record("CHIL" if link.tag == "FAMC" else "HUSB", pointer=xref)
        if not (links.add_child(to_person) if link.tag == "FAMC" else links.add_partner(to_person)):
            _refuse(link, "The family has two other partners.", report)
            return
        report.repair(link.line, link.tag, "The person is added to the family, which did not list them.", link.pointer)
    if link.tag == "FAMC":
        links.notes[xref], link = notes_of(link)
    links.back[link.tag][xref] = link


def _refuse(link: Record, reason: str, report: Report) -> None:
    report.refuse(link.line, link.tag, reason, f"@{link.pointer}@")
