"""What people share: notes and pictures in records of their own, which others point to."""

import mimetypes
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from resolvers.gedcom.records import Record, Version


@dataclass(slots=True)
class Shared:
    """The texts of notes and the addresses of pictures, by the xrefs of their records."""

    notes: dict[str, str] = field(default_factory=dict)
    photo_urls: dict[str, str] = field(default_factory=dict)

    def notes_of(self, records: Sequence[Record]) -> tuple[str, ...]:
        texts = (self.notes.get(record.pointer, "") if record.pointer else record.value for record in records)
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


def photo_record(xref: str, url: str, version: Version) -> Record:
    kind = mimetypes.guess_type(url)[0] or "image/jpeg"
    form = Record("FORM", kind if version is Version.V7 else kind.partition("/")[2])
    return Record("OBJE", xref=xref, children=(Record("FILE", url, children=(form,)),))


def _url(record: Record) -> str:
    urls = (file.value.strip() for file in record.all("FILE"))
    return next((url for url in urls if url.startswith("https://")), "")
