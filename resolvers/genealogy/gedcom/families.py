"""Converts family records to and from the model."""

from collections.abc import Sequence

from resolvers.genealogy.gedcom.events import details_of, event_records, happened, kept_events
from resolvers.genealogy.gedcom.limits import MAX_NOTES
from resolvers.genealogy.gedcom.links import FAMILY_TAGS, Links, is_link
from resolvers.genealogy.gedcom.model import GedFamily, Status
from resolvers.genealogy.gedcom.parser import kept_records
from resolvers.genealogy.gedcom.pedigrees import says_more
from resolvers.genealogy.gedcom.records import PARTNERS, Record
from resolvers.genealogy.gedcom.serializer import kept_text

MAPPED = {*FAMILY_TAGS, "MARR", "DIV"}


def family_of(record: Record, links: Links) -> GedFamily:
    marriages, divorces = record.all("MARR"), record.all("DIV")
    marriage_date, marriage_place = details_of(marriages, "DATE", "PLAC")
    status = _status_of(record.children)
    told = _telling(record.children, status)
    notes = _plain_note(record.all("NOTE", "SNOTE"))
    kept = [
        *(child for child in record.all(*FAMILY_TAGS) if not is_link(child)),
        *(links.partners[place] for place in PARTNERS if place in links.partners and links.partners[place].children),
        *(link for xref, link in links.children.items() if link.children and says_more(link, links.back["FAMC"][xref])),
        *(kept_events(marriages, "DATE", "PLAC") if marriages != told else ()),
        *(kept_events(divorces, "DATE") if divorces != told else ()),
        *(child for child in record.children if child.tag not in MAPPED and [child] != told and child not in notes),
    ]
    return GedFamily(
        xref=record.xref,
        husband=_pointer(links, "HUSB"),
        wife=_pointer(links, "WIFE"),
        children=tuple(map(links.child, links.children)),
        marriage_date=marriage_date,
        marriage_place=marriage_place,
        divorce_date=details_of(divorces, "DATE")[0],
        status=status,
        notes=notes[0].value if notes else "",
        kept=kept_text(kept),
        line=record.line,
    )


def family_record(family: GedFamily, links: Links) -> Record:
    kept = Record("FAM", children=kept_records(family.kept))
    children = [
        *(links.partners[place] for place in PARTNERS if place in links.partners),
        *links.children.values(),
        *(child for child in kept.all(*FAMILY_TAGS) if not is_link(child)),
        *event_records(kept.all("MARR"), "MARR", DATE=family.marriage_date, PLAC=family.marriage_place),
        *event_records(kept.all("DIV"), "DIV", DATE=family.divorce_date),
        *(child for child in kept.children if child.tag not in MAPPED),
        *([Record("NOTE", family.notes)] if family.notes else ()),
    ]
    if _status_of(children) != family.status:
        children = [child for child in children if not _said_status(child)]
        children += _status_records(children, family.status)
    return Record("FAM", xref=family.xref, children=tuple(children))


def without_marriage(kept: str) -> str:
    """Returns the preserved lines of a couple that no longer exists, without its marriage events."""
    records = kept_records(kept)
    return kept_text(
        record
        for record in records
        if record.tag not in ("MARR", "DIV") and not _said_status(record) and not _is_separation(record)
    )


def _plain_note(notes: list[Record]) -> list[Record]:
    """Returns the only note, if it is plain text within the limit."""
    is_plain = len(notes) == 1 and notes[0] == Record("NOTE", notes[0].value) and 0 < len(notes[0].value) <= MAX_NOTES
    return notes if is_plain else []


def _status_of(children: Sequence[Record]) -> Status:
    said = next(filter(None, map(_said_status, children)), None)
    if said:
        return said
    if happened([child for child in children if child.tag == "DIV"]):
        return Status.DIVORCED
    if any(map(_is_separation, children)):
        return Status.SEPARATED
    return Status.MARRIED if happened([child for child in children if child.tag == "MARR"]) else Status.UNKNOWN


def _said_status(record: Record) -> Status | None:
    """Parses the marriage status, tolerating other texts that programs write there."""
    return Status.__members__.get(record.value.strip().upper()) if record.tag == "_STAT" else None


def _is_separation(record: Record) -> bool:
    return record.tag == "_SEPR" or (record.tag == "EVEN" and record.text("TYPE").strip().lower() == "separation")


def _status_records(children: Sequence[Record], status: Status) -> list[Record]:
    """Returns the lines that express the status: a marriage or divorce event if that is sufficient."""
    if _status_of(children) is status:
        return []
    for tag in ("MARR", "DIV"):
        event = Record(tag, "Y")
        if all(child.tag != tag for child in children) and _status_of([*children, event]) is status:
            return [event]
    return [Record("_STAT", status)]


def _telling(children: Sequence[Record], status: Status) -> list[Record]:
    """Returns the records that state the status and would be generated anyway; empty if there are none."""
    for tag in ("MARR", "DIV", "_STAT"):
        found = [child for child in children if child.tag == tag]
        if found and _status_records([child for child in children if child.tag != tag], status) == found:
            return found
    return []


def _pointer(links: Links, place: str) -> str:
    return links.partners[place].pointer if place in links.partners else ""
