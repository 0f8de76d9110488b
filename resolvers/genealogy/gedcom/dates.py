"""Dates with phrases: one text in 5.5.1, a date with a PHRASE below it in 7.0. The model holds one text."""

import re
from dataclasses import replace

from datastore.model.dates import parse_date, to_gedcom7
from resolvers.genealogy.gedcom.records import Record

INTERPRETED = re.compile(r"INT ([^(]*[^( ]) \((.+)\)")
WORDS = re.compile(r"\((.+)\)")
DUAL = re.compile(r"[0-9]/[0-9]")


def with_phrase(record: Record) -> Record:
    """Converts a record whose dates are single texts to 7.0."""
    children = tuple(map(with_phrase, record.children)) if record.children else ()
    if record.tag == "DATE" and not record.pointer and not record.first("PHRASE"):
        date, phrase = _apart(record.value)
        if phrase:
            return replace(record, value=date, children=(Record("PHRASE", phrase), *children))
    return record if children == record.children else replace(record, children=children)


def as_one(date: str, children: tuple[Record, ...]) -> tuple[str, tuple[Record, ...]]:
    """Splits a date into value and phrase where the two can be joined again without loss."""
    phrases = [child for child in children if child.tag == "PHRASE"]
    if len(phrases) != 1 or phrases[0] != Record("PHRASE", phrases[0].value):
        return date, children
    phrase = phrases[0].value
    for text in (phrase, f"INT {date} ({phrase})" if date else f"({phrase})"):
        if _apart(text) == (date, phrase) and _is_date(text):
            return text, tuple(child for child in children if child.tag != "PHRASE")
    return date, children


def _is_date(text: str) -> bool:
    try:
        parse_date(text)
    except ValueError:
        return False
    return True


def _apart(text: str) -> tuple[str, str]:
    if "(" in text:
        if found := INTERPRETED.fullmatch(text):
            return found[1], found[2]
        if found := WORDS.fullmatch(text):
            return "", found[1]
    # In 7.0, a dual year is written as the later of the two.
    if DUAL.search(text) and _is_date(text):
        return to_gedcom7(parse_date(text))[0], text
    return text, ""
