"""GEDCOM dates: their forms in both versions, and phrases, which are part of the text in 5.5.1 and apart in 7.0."""

import re
from dataclasses import replace

from datastore.model.calendars import GREGORIAN
from datastore.model.dates import (
    CONTROL,
    MAX_CHARACTERS,
    HistoricDate,
    SingleDate,
    joined,
    on_one_line,
    parse_date,
    read,
    spelling,
    stored_reading,
)
from resolvers.genealogy.gedcom.records import Record

INTERPRETED = re.compile(r"INT ([^(]*[^( ]) \((.+)\)")
WORDS = re.compile(r"\((.+)\)")
DUAL = re.compile(r"[0-9]/[0-9]")


def from_gedcom(text: str, phrase: str = "") -> HistoricDate | None:
    """Parses a DATE value and, in 7.0, its PHRASE. Text that is not a date becomes a phrase; empty text is None."""
    text, phrase = (on_one_line(CONTROL.sub(" ", each)) for each in (text, phrase))
    if not text:
        return _as_phrase(phrase)
    try:
        date = parse_date(text)
        plain = not read(date).word
        return parse_date(f"INT {date} ({phrase})") if phrase and plain else date
    except ValueError:
        return _as_phrase(f"{text}: {phrase}" if phrase else text)


def to_gedcom(date: HistoricDate) -> str:
    """Formats a date for 5.5.1."""
    word, dates, phrase = stored_reading(date)
    return joined(word, [_gedcom(each) for each in dates], phrase)


def to_gedcom7(date: HistoricDate) -> tuple[str, str]:
    """Formats a date for 7.0 as DATE value and PHRASE, either may be empty. A dual year becomes the later one."""
    word, dates, phrase = stored_reading(date)
    if any(each.dual for each in dates):
        phrase = phrase or to_gedcom(date)
        dates = tuple(each._replace(year=each.year + 1, dual=False) if each.dual else each for each in dates)
    return joined("" if word == "INT" else word, [spelling(each) for each in dates], ""), phrase


def with_phrase(record: Record) -> Record:
    """Converts a record whose dates are single texts to 7.0."""
    children = tuple(map(with_phrase, record.children)) if record.children else ()
    if record.tag == "DATE" and not record.pointer and not record.first("PHRASE"):
        date, phrase = _apart(record.value)
        if phrase:
            return replace(record, value=date, children=(Record("PHRASE", phrase), *children))
    return record if children == record.children else replace(record, children=children)


def as_one(date: str, children: tuple[Record, ...]) -> tuple[str, tuple[Record, ...]]:
    """Joins a date and its PHRASE into one text where the two can be split again without loss."""
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


def _gedcom(date: SingleDate) -> str:
    spelled = spelling(date).replace("BCE", "B.C.")
    name = date.calendar.name
    return spelled if date.calendar is GREGORIAN else spelled.replace(name, f"@#D{name.replace('_', ' ')}@", 1)


def _as_phrase(words: str) -> HistoricDate | None:
    if not words.strip("() "):
        return None
    return HistoricDate(f"({words if len(words) <= MAX_CHARACTERS - 2 else words[: MAX_CHARACTERS - 3] + '…'})")
