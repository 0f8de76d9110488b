"""Conversion between versions: records are mapped as 7.0 and written in the requested version."""

import re
from dataclasses import replace

from resolvers.genealogy.gedcom.dates import as_one
from resolvers.genealogy.gedcom.records import Record

CALENDAR = re.compile(r"@#D(GREGORIAN|JULIAN|HEBREW|FRENCH R)@ *")
CALENDAR_NAME = re.compile(r"\b(GREGORIAN|JULIAN|HEBREW|FRENCH_R) +")
BEFORE_CHRIST = re.compile(r"(?<=[0-9]) B\.C\.(?= |$)")
BEFORE_COMMON_ERA = re.compile(r"(?<=[0-9]) BCE(?= |$)")
PEDIGREES = {"ADOPTED", "BIRTH", "FOSTER", "OTHER", "SEALING"}
# Most lines are neither one of these nor a parent of one.
DIFFERENT = {"NOTE", "SNOTE", "DATE", "PEDI", "TYPE"}
NAME_TYPES = {"AKA", "BIRTH", "IMMIGRANT", "MAIDEN", "MARRIED"}


def modern(record: Record, above: str = "") -> Record:
    """Converts a record to 7.0, except that dates stay single texts. Returns the same object if nothing changes."""
    if not record.children and record.tag not in DIFFERENT:
        return record
    tag = "SNOTE" if record.tag == "NOTE" and (record.pointer or (record.xref and not above)) else record.tag
    value = record.value
    children = tuple(modern(child, tag) for child in record.children)
    if tag == "DATE" and not record.pointer:
        value = CALENDAR.sub(lambda found: found[1].replace(" ", "_") + " ", value)
        value = " ".join(BEFORE_CHRIST.sub(" BCE", value).split())
        value, children = as_one(value, children)
    elif _is_choice(tag, value, above):
        value = value.upper()
    return _changed(record, tag, value, children)


def classic(record: Record, above: str = "") -> Record:
    """Converts a 7.0 record to 5.5.1."""
    if not record.children and record.tag not in DIFFERENT:
        return record
    tag = "NOTE" if record.tag == "SNOTE" and (record.pointer or (record.xref and not above)) else record.tag
    value = record.value
    if tag == "DATE":
        value = CALENDAR_NAME.sub(lambda found: f"@#D{found[1].replace('_', ' ')}@ ", value)
        value = BEFORE_COMMON_ERA.sub(" B.C.", value)
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
