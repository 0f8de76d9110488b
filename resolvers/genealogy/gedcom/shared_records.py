"""Shared records: notes and media objects that several people point to."""

import mimetypes
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from resolvers.genealogy.gedcom.limits import MAX_BIOGRAPHY, MAX_URL
from resolvers.genealogy.gedcom.records import Record, Version

BETWEEN_NOTES = "\n\n"


@dataclass(slots=True)
class Shared:
    """Texts of notes and URLs of media, by the xrefs of their records."""

    notes: dict[str, str] = field(default_factory=dict)
    photo_urls: dict[str, str] = field(default_factory=dict)

    def notes_of(self, records: Sequence[Record]) -> tuple[str, ...]:
        """Returns a person's notes. A note referenced repeatedly counts once."""
        pointers: set[str] = set()
        texts = []
        for record in records:
            if not record.pointer:
                texts.append(record.value)
            elif record.pointer not in pointers:
                texts.append(self.notes.get(record.pointer, ""))
                pointers.add(record.pointer)
        return tuple(filter(None, texts))

    def photo_url_of(self, records: Sequence[Record]) -> str:
        urls = (self.photo_urls.get(record.pointer, "") if record.pointer else _url(record) for record in records)
        return next(filter(None, urls), "")


def shared_by(records: Iterable[Record]) -> Shared:
    shared = Shared()
    for record in records:
        if record.tag == "SNOTE" and record.value:
            shared.notes.setdefault(record.xref, record.value)
        elif record.tag == "OBJE" and _url(record):
            shared.photo_urls.setdefault(record.xref, _url(record))
    return shared


def biography_of(notes: Sequence[str]) -> str:
    """Joins notes up to the limit of a biography, so that nothing is built only to be cut off."""
    told: list[str] = []
    room = MAX_BIOGRAPHY
    for note in notes:
        if room <= 0:
            break
        told.append(note[:room])
        room -= len(note) + len(BETWEEN_NOTES)
    return BETWEEN_NOTES.join(told)


def photo_record(xref: str, url: str, version: Version) -> Record:
    kind = mimetypes.guess_type(url)[0] or "image/jpeg"
    form = Record("FORM", kind if version is Version.V7 else kind.partition("/")[2])
    return Record("OBJE", xref=xref, children=(Record("FILE", url, children=(form,)),))


def _url(record: Record) -> str:
    urls = (file.value.strip() for file in record.all("FILE"))
    return next((url for url in urls if url.startswith("https://") and len(url) <= MAX_URL), "")
