"""Notes on parent-child relationships, stored below the child's family link."""

from dataclasses import replace

from resolvers.genealogy.gedcom.limits import MAX_NOTES
from resolvers.genealogy.gedcom.records import PARTNERS, Record

NOBODY = ("", "")
# A custom tag, because GEDCOM has none for a note on one parent.
NAMED = "_PARENT"

Notes = tuple[str, str]


def notes_of(link: Record) -> tuple[Notes, Record]:
    """Splits a link into the notes for husband and wife and the rest. An ambiguous link stays as it is."""
    notes = link.all("NOTE")
    found: dict[str, str] = {}
    for note in notes:
        named = note.text(NAMED)
        partners = (named,) if named else PARTNERS
        is_plain = note == _note(note.value, named) and 0 < len(note.value) <= MAX_NOTES and named in ("", *PARTNERS)
        if not is_plain or not found.keys().isdisjoint(partners):
            return NOBODY, link
        found |= dict.fromkeys(partners, note.value)
    rest = replace(link, children=tuple(child for child in link.children if child.tag != "NOTE"))
    return (found.get("HUSB", ""), found.get("WIFE", "")), rest


def with_notes(link: Record, notes: Notes) -> Record:
    husband, wife = notes
    told = [_note(husband)] if husband == wife else [_note(husband, "HUSB"), _note(wife, "WIFE")]
    return replace(link, children=(*link.children, *(note for note in told if note.value)))


def _note(value: str, named: str = "") -> Record:
    return Record("NOTE", value, children=(Record(NAMED, named),) if named else ())
