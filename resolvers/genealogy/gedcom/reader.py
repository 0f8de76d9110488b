"""Reads all records of a file into a tree of people and families."""

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import BinaryIO

from resolvers.genealogy.gedcom.adoptions import adoptions_of
from resolvers.genealogy.gedcom.encoding import Progress
from resolvers.genealogy.gedcom.families import family_of
from resolvers.genealogy.gedcom.header import SUBMITTER, kept_header
from resolvers.genealogy.gedcom.limits import tell_long
from resolvers.genealogy.gedcom.links import PERSON_TAGS, Links, families_of, kept_links, links_of
from resolvers.genealogy.gedcom.model import GedOther, GedTree
from resolvers.genealogy.gedcom.parser import read_records
from resolvers.genealogy.gedcom.persons import person_of
from resolvers.genealogy.gedcom.records import PARTNERS, VOID, Record
from resolvers.genealogy.gedcom.report import Report
from resolvers.genealogy.gedcom.serializer import kept_text
from resolvers.genealogy.gedcom.shared_records import shared_by
from resolvers.genealogy.gedcom.versions import modern

STRUCTURE = re.compile(r"^[0-9]+ (?!CONT\b)", re.MULTILINE)


def read_tree(stream: BinaryIO, progress: Progress | None = None) -> tuple[GedTree, Report]:
    """Reads any bytes: returns a tree of what is readable and a report of what is not."""
    report = Report()
    return map_records(read_records(stream, report, progress), report), report


def map_records(records: Iterable[Record], report: Report) -> GedTree:
    """Maps records to the model, in file order."""
    found = _Found(report)
    for record in records:
        found.add(modern(record))
    found.end()
    tree = _tree(found, report)
    report.person_count, report.family_count = len(tree.persons), len(tree.families)
    report.other_record_count = len(tree.others)
    report.kept_count = sum(len(STRUCTURE.findall(text)) for text in tree.kept())
    return tree


class _Found:
    """The records of a file by type, each with a unique xref."""

    def __init__(self, report: Report) -> None:
        self.header: Record | None = None
        self.persons: dict[str, Record] = {}
        self.families: dict[str, Record] = {}
        self.others: list[Record] = []
        self._report = report
        self._xrefs: set[str] = {VOID}
        self._without_xref: list[Record] = []
        self._last = Record("")

    def add(self, record: Record) -> None:
        self._last = record
        if record.tag in ("HEAD", "TRLR"):
            self._add_end(record)
        elif record.xref in self._xrefs or (not record.xref and record.tag in ("INDI", "FAM")):
            self._without_xref.append(record)
        elif record != SUBMITTER:
            self._take(record)

    def end(self) -> None:
        """Assigns missing or duplicate xrefs once all others are known."""
        if self._last.tag != "TRLR":
            self._report.repair(
                self._last.line, "TRLR", "The file has no TRLR record. The end of the file may be missing."
            )
        if not self.header:
            self._report.repair(1, "HEAD", "The file has no header.")
        for number, record in enumerate(self._without_xref, 1):
            xref = f"X{number}"
            while xref in self._xrefs:
                xref += "X"
            was = f"@{record.xref}@ is a duplicate xref" if record.xref else "The record has no xref"
            self._report.repair(record.line, record.tag, f"{was}. It becomes @{xref}@.")
            self._take(replace(record, xref=xref))

    def _take(self, record: Record) -> None:
        if record.xref:
            self._xrefs.add(record.xref)
        if record.tag in ("INDI", "FAM"):
            tell_long(record, self._report)
        if record.tag == "INDI":
            self.persons[record.xref] = self._without_value(record)
        elif record.tag == "FAM":
            self.families[record.xref] = self._without_value(record)
        else:
            self.others.append(record)

    def _add_end(self, record: Record) -> None:
        if record.tag == "HEAD" and not self.header:
            self.header = self._without_value(record)
        elif record != Record("TRLR"):
            self._report.refuse(record.line, record.tag, "This record has no content here.", record.value)

    def _without_value(self, record: Record) -> Record:
        said = record.value or record.pointer
        if said:
            self._report.refuse(record.line, record.tag, "This type of record has no value.", said)
        return record


def _tree(found: _Found, report: Report) -> GedTree:
    links = links_of(found.persons, found.families, report)
    families = families_of(links.values())
    shared = shared_by(found.others)
    persons = []
    for xref, record in found.persons.items():
        kept = [
            link for tag in PERSON_TAGS for link in kept_links(xref, record.all(tag), tag, links, families[xref, tag])
        ]
        adoptions = _kept_adoptions(record, [links[family] for family in families[xref, "FAMC"]])
        persons.append(person_of(record, [*adoptions, *kept], shared))
    return GedTree(
        persons=tuple(persons),
        families=tuple(family_of(record, links[xref]) for xref, record in found.families.items()),
        others=tuple(GedOther(record.xref, record.tag, kept_text([record], 0)) for record in found.others),
        header=kept_text(kept_header(found.header, found.others)),
    )


def _kept_adoptions(person: Record, families: list[Links]) -> list[Record]:
    """Returns the adoption lines to preserve, and copies their dates into the families."""
    events = person.all("ADOP")
    if not events:
        return []
    kinds = {each.family: each.kinds(person.xref) for each in families}
    dates, kept = adoptions_of(events, kinds)
    for each in families:
        husband, wife = (dates.get((each.family, partner), "") for partner in PARTNERS)
        each.adoption_dates[person.xref] = husband, wife
    return kept
