"""Converts person records to and from the model, except for family links (see `links`)."""

from collections.abc import Sequence

from datastore.model.dates import earliest, latest
from resolvers.genealogy.gedcom.dates import from_gedcom
from resolvers.genealogy.gedcom.events import details_of, event_records, happened, kept_events
from resolvers.genealogy.gedcom.limits import MAX_BIOGRAPHY
from resolvers.genealogy.gedcom.model import GedPerson, Gender
from resolvers.genealogy.gedcom.names import Names, kept_names, name_records, names_of
from resolvers.genealogy.gedcom.parser import kept_records
from resolvers.genealogy.gedcom.records import Record
from resolvers.genealogy.gedcom.serializer import kept_text
from resolvers.genealogy.gedcom.shared_records import Shared, biography_of

GENDERS = {"M": Gender.MALE, "F": Gender.FEMALE, "X": Gender.OTHER}
SEXES = {gender: sex for sex, gender in GENDERS.items()}
ENDS_OF_LIFE = ("DEAT", "BURI", "CREM")
NOTES = ("NOTE", "SNOTE")
MAPPED = {"NAME", "SEX", "BIRT", "DEAT", "ADOP", "OBJE", "FAMC", "FAMS", *NOTES}


def person_of(record: Record, links: Sequence[Record], shared: Shared) -> GedPerson:
    """Maps a record. `links` are the preserved family links and adoptions."""
    names, births, deaths = record.all("NAME"), record.all("BIRT"), record.all("DEAT")
    sexes, notes, media = record.all("SEX"), record.all(*NOTES), record.all("OBJE")
    said = names_of(names)
    birth_date, birth_place = details_of(births, "DATE", "PLAC")
    death_date, death_place = details_of(deaths, "DATE", "PLAC")
    kept = [
        *kept_names(names),
        *_kept_sexes(sexes),
        *kept_events(births, "DATE", "PLAC"),
        *_kept_deaths(deaths),
        *_kept_notes(notes),
        *media,
        *(child for child in record.children if child.tag not in MAPPED),
        *links,
    ]
    return GedPerson(
        xref=record.xref,
        first_name=said.first,
        middle_name=said.middle,
        last_name=said.last,
        birth_name=said.birth,
        preferred_name=said.preferred,
        suffix=said.suffix,
        gender=_gender_of(sexes),
        birth_date=birth_date,
        birth_place=birth_place,
        death_date=death_date,
        death_place=death_place,
        is_deceased=any(map(_tells_of_death, record.all(*ENDS_OF_LIFE))),
        notes=shared.notes_of(notes),
        photo_url=shared.photo_url_of(media),
        kept=kept_text(kept),
        line=record.line,
    )


def person_record(person: GedPerson, links: Sequence[Record], shared: Shared, photo_xref: str) -> Record:
    """Builds a record with family links and adoptions. A photo without its own line is in the record with that xref."""
    kept = Record("INDI", children=kept_records(person.kept))
    names = Names(
        first=person.first_name,
        middle=person.middle_name,
        last=person.last_name,
        suffix=person.suffix,
        preferred=person.preferred_name,
        birth=person.birth_name,
    )
    children = [
        *name_records(names, kept.all("NAME")),
        *_sex_records(person.gender, kept.all("SEX")),
        *event_records(kept.all("BIRT"), "BIRT", DATE=person.birth_date, PLAC=person.birth_place),
        *event_records(kept.all("DEAT"), "DEAT", DATE=person.death_date, PLAC=person.death_place),
        *_note_records(person, kept.all(*NOTES), shared),
        *_media_records(person.photo_url, kept.all("OBJE"), shared, photo_xref),
        *(child for child in kept.children if child.tag not in MAPPED),
        *links,
    ]
    if person.is_deceased and not happened([child for child in children if child.tag in ENDS_OF_LIFE]):
        children.append(Record("DEAT", "Y"))
    return Record("INDI", xref=person.xref, children=tuple(children))


def has_new_photo(person: GedPerson, shared: Shared) -> bool:
    """Tells whether the photo differs from the one in the imported record."""
    if not person.photo_url:
        return False
    media = Record("INDI", children=kept_records(person.kept)).all("OBJE") if "OBJE" in person.kept else []
    return shared.photo_url_of(media) != person.photo_url


def _gender_of(records: Sequence[Record]) -> Gender:
    return GENDERS.get(records[0].value.strip()[:1].upper(), Gender.UNKNOWN) if records else Gender.UNKNOWN


def _kept_sexes(records: Sequence[Record]) -> list[Record]:
    return [] if list(records) == _sex_records(_gender_of(records)) else list(records)


def _sex_records(gender: Gender, kept: Sequence[Record] = ()) -> list[Record]:
    if kept and _gender_of(kept) == gender:
        return list(kept)
    return [Record("SEX", SEXES[gender])] if gender in SEXES else []


def _tells_of_death(record: Record) -> bool:
    """True if the event records a death. Programs write an empty event, or LIVING as its date, as a placeholder."""
    if record.value.strip():
        return happened([record])
    date = from_gedcom(record.text("DATE"))
    is_placed = date is not None and (earliest(date) or latest(date)) is not None
    return is_placed or any(record.text(tag).strip() for tag in ("PLAC", "CAUS", "AGE"))


def _kept_deaths(records: Sequence[Record]) -> list[Record]:
    return [] if list(records) == [Record("DEAT", "Y")] else kept_events(records, "DATE", "PLAC")


def _kept_notes(records: Sequence[Record]) -> list[Record]:
    """Returns the notes to preserve: none for a single plain note that fits into the biography."""
    value = records[0].value if len(records) == 1 else ""
    if value and len(value) <= MAX_BIOGRAPHY and records[0] == Record("NOTE", value):
        return []
    return list(records)


def _note_records(person: GedPerson, kept: Sequence[Record], shared: Shared) -> list[Record]:
    notes = shared.notes_of(kept)
    if kept and (notes == person.notes or biography_of(notes) == person.biography):
        return list(kept)
    return [Record("NOTE", person.biography)] if person.biography else []


def _media_records(photo_url: str, kept: Sequence[Record], shared: Shared, photo_xref: str) -> list[Record]:
    if shared.photo_url_of(kept) == photo_url:
        return list(kept)
    others = [record for record in kept if not shared.photo_url_of([record])]
    return [Record("OBJE", pointer=photo_xref), *others] if photo_url else others
