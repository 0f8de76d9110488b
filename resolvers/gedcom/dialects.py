"""The same said in both versions: records are mapped as 7.0 says it, and written as the version asked for does."""

import re
from dataclasses import replace

from resolvers.gedcom.records import Record

CALENDAR = re.compile(r"@#D(GREGORIAN|JULIAN|HEBREW|FRENCH R)@ *")
CALENDAR_NAME = re.compile(r"\b(GREGORIAN|JULIAN|HEBREW|FRENCH_R) +")
PEDIGREES = {"ADOPTED", "BIRTH", "FOSTER", "OTHER", "SEALING"}
NAME_TYPES = {"AKA", "BIRTH", "IMMIGRANT", "MAIDEN", "MARRIED"}


def modern(record: Record, above: str = "") -> Record:
    """As 7.0 says it. Where that is the same, the record is the one that was given."""
    tag = "SNOTE" if record.tag == "NOTE" and (record.pointer or (record.xref and not above)) else record.tag
    value = record.value
    if tag == "DATE":
        value = " ".join(CALENDAR.sub(lambda found: found[1].replace(" ", "_") + " ", value).split())
    elif _is_choice(tag, value, above):
        value = value.upper()
    return _changed(record, tag, value, tuple(modern(child, tag) for child in record.children))


def classic(record: Record, above: str = "") -> Record:
    """As 5.5.1 says it, of a record as 7.0 says it."""
    tag = "NOTE" if record.tag == "SNOTE" and (record.pointer or (record.xref and not above)) else record.tag
    value = record.value
    if tag == "DATE":
        value = CALENDAR_NAME.sub(lambda found: f"@#D{found[1].replace('_', ' ')}@ ", value)
    elif _is_choice(tag, value, above):
        value = value.lower()
    return _changed(record, tag, value, tuple(classic(child, tag) for child in record.children))


def _is_choice(tag: str, value: str, above: str) -> bool:
    if tag == "PEDI":
        return value.upper() in PEDIGREES
    return tag == "TYPE" and above == "NAME" and value.upper() in NAME_TYPES


def _changed(record: Record, tag: str, value: str, children: tuple[Record, ...]) -> Record:
    if tag == record.tag and value == record.value and children == record.children:
        return record
    return replace(record, tag=tag, value=value, children=children)
