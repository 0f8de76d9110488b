"""Historic dates as text: full, partial, qualified, in other calendars, or a phrase."""

import re
from typing import NamedTuple, NewType

from datastore.model.calendars import FRENCH, GREGORIAN, HEBREW, JULIAN, Calendar, Day, day_of

# 1950-05-15, 1950-05, 1950, ABT 1950, BET 1950 AND 1952, 44 BCE, JULIAN 5 OCT 1700, 5 FEB 1699/00, (a phrase)
HistoricDate = NewType("HistoricDate", str)

MAX_CHARACTERS = 250
UNPLACED = "?"
CALENDARS = {calendar.name: calendar for calendar in (GREGORIAN, JULIAN, FRENCH, HEBREW)}
MONTHS = (
    "JANUARY", "FEBRUARY", "MARCH", "APRIL", "MAY", "JUNE",
    "JULY", "AUGUST", "SEPTEMBER", "OCTOBER", "NOVEMBER", "DECEMBER",
)  # fmt: skip
WORDS = {
    "ABT": "ABT", "ABOUT": "ABT", "CIRCA": "ABT", "CAL": "CAL", "CALCULATED": "CAL", "EST": "EST", "ESTIMATED": "EST",
    "BEF": "BEF", "BEFORE": "BEF", "AFT": "AFT", "AFTER": "AFT", "FROM": "FROM", "TO": "TO",
}  # fmt: skip
# Uncertainty in years of an inexact date.
SLACK = {"ABT": 10, "EST": 10, "CAL": 1}
HOW_TO_WRITE = (
    "write it like 1950-05-15, 15 MAY 1950, 1950-05, 1950, ABT 1950, BEF 1950, AFT 1950, BET 1950 AND 1952, "
    "FROM 1950 TO 1952, 44 BCE, JULIAN 5 OCT 1700 or, in your own words, (the winter after the war)"
)

_iso = re.compile(r"([0-9]{4})-([0-9]{2})(?:-([0-9]{2}))?").fullmatch
_spelled = re.compile(
    r"(?:@#D(?P<escape>[A-Z ]+)@ ?|(?P<calendar>GREGORIAN|JULIAN|FRENCH[_ ]R|HEBREW) )?"
    r"(?:(?:(?P<day>[0-9]{1,2}) )?(?P<month>[A-Z]+)\.? )?"
    r"(?P<year>[0-9]{1,4})(?:/(?P<dual>[0-9]{4}|[0-9]{2}))?(?P<before> ?B\.? ?C\.?(?:E\.?)?)?"
).fullmatch
_pair = re.compile(r"(?:(BET|BETWEEN) (.+) AND|(FROM) (.+) TO) (.+)", re.IGNORECASE).fullmatch
_interpreted = re.compile(r"INT ([^(]+?) ?\((.*)\)", re.IGNORECASE).fullmatch
_phrase = re.compile(r"\((.*)\)").fullmatch
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


class SingleDate(NamedTuple):
    """A single date without its qualifier. A dual year is this year or the next."""

    calendar: Calendar
    year: int
    month: int | None = None
    day: int | None = None
    dual: bool = False

    def begin(self) -> int:
        # From January to March a dual year means the later year, because the year began in March; else it is unknown.
        year = self.year + 1 if self.dual and self.month in (1, 2, 3) else self.year
        return self.calendar.month_begin(year, self.month or 1) + (self.day or 1) - 1

    def end(self) -> int:
        year = self.year + 1 if self.dual else self.year
        if self.day and self.month:
            return self.calendar.month_begin(year, self.month) + self.day - 1
        return self.calendar.month_end(year, self.month or len(self.calendar.months))


class Reading(NamedTuple):
    """A parsed date: qualifier, dates and phrase."""

    word: str
    dates: tuple[SingleDate, ...]
    phrase: str = ""


def parse_date(text: str) -> HistoricDate:
    """Parses a date in any spelling. Raises ValueError that says how to write it."""
    written = _written(read(text))
    if len(written) > MAX_CHARACTERS:
        raise _too_long(written)
    return HistoricDate(written)


def sort_key(date: HistoricDate) -> str:
    """Returns text that sorts chronologically; of dates that start on the same day, the vaguer one comes first."""
    word, dates, _ = stored_reading(date)
    if not dates:
        return UNPLACED
    first = dates[0]
    if word == "AFT":
        return _key(first.end(), 9)
    return _key(first.begin(), 0 if word in ("BEF", "TO") else 1 + bool(first.month) + bool(first.day))


def earliest(date: HistoricDate) -> Day | None:
    """Returns the earliest possible day, or None."""
    word, dates, _ = stored_reading(date)
    if not dates or word in ("BEF", "TO"):
        return None
    if word in SLACK:
        return Day(day_of(dates[0].begin()).year - SLACK[word], 1, 1)
    return day_of(dates[0].end() + 1 if word == "AFT" else dates[0].begin())


def latest(date: HistoricDate) -> Day | None:
    """Returns the latest possible day, or None."""
    word, dates, _ = stored_reading(date)
    if not dates or word == "AFT" or (word == "FROM" and len(dates) == 1):
        return None
    if word in SLACK:
        return Day(day_of(dates[0].end()).year + SLACK[word], 12, 31)
    return day_of(dates[0].begin() - 1 if word == "BEF" else dates[-1].end())


def stored_reading(date: HistoricDate) -> Reading:
    """Parses a stored date. An unreadable one is a phrase without a place in time."""
    try:
        return read(date)
    except ValueError:
        return Reading("", (), date)


def _too_long(text: str) -> ValueError:
    return ValueError(f"a date has at most {MAX_CHARACTERS} characters, this has {len(text)}")


def read(text: str) -> Reading:
    tidy = on_one_line(text)
    if len(tidy) > MAX_CHARACTERS:
        raise _too_long(tidy)
    if match := _phrase(tidy):
        return Reading("", (), _words_of(match[1]))
    if match := _interpreted(tidy):
        return Reading("INT", (_date(match[1]),), _words_of(match[2]))
    if match := _pair(tidy):
        return _range("BET" if match[1] else "FROM", _date(match[2] or match[4]), _date(match[5]), tidy)
    word, _, rest = tidy.partition(" ")
    if known := WORDS.get(word.upper().rstrip(".")):
        return Reading(known, (_date(rest),))
    return Reading("", (_date(tidy),))


def _range(word: str, first: SingleDate, last: SingleDate, text: str) -> Reading:
    if last.end() < first.begin():
        raise ValueError(f"{_short(text)} ends before it begins; write the earlier date first")
    return Reading(word, (first, last))


def _words_of(phrase: str) -> str:
    if not phrase.strip() or CONTROL.search(phrase):
        raise ValueError("a phrase for a date is one line of text in brackets, like (the winter after the war)")
    return phrase.strip()


def _date(text: str) -> SingleDate:
    if match := _iso(text):
        year, month, day = (int(part) if part else None for part in match.groups())
        return _checked(SingleDate(GREGORIAN, year or 0, month, day), text)
    match = _spelled(text.upper())
    name = (match["escape"] or match["calendar"] or GREGORIAN.name).replace(" ", "_") if match else ""
    if not match or name not in CALENDARS:
        raise ValueError(f"{_short(text)} is not a date; {HOW_TO_WRITE}")
    calendar, year = CALENDARS[name], int(match["year"])
    if match["dual"] and not _is_next(year, match["dual"], calendar):
        raise ValueError(f"{_short(text)} is not a year and the next; write 1699/00, or BET 1695 AND 1700")
    date = SingleDate(
        calendar=calendar,
        year=-year if match["before"] else year,
        month=_month(calendar, match["month"], text) if match["month"] else None,
        day=int(match["day"]) if match["day"] else None,
        dual=match["dual"] is not None,
    )
    return _checked(date, text)


def _month(calendar: Calendar, name: str, text: str) -> int:
    if name in calendar.months:
        return calendar.months.index(name) + 1
    if calendar in (GREGORIAN, JULIAN) and len(name) > 2:
        for month, full in enumerate(MONTHS, 1):
            if full.startswith(name):
                return month
    if calendar is GREGORIAN:
        raise ValueError(f"{_short(text)} is not a date; {HOW_TO_WRITE}")
    raise ValueError(f"{_short(text)} names no month of its calendar; these are {', '.join(calendar.months)}")


def _is_next(year: int, dual: str, calendar: Calendar) -> bool:
    return calendar in (GREGORIAN, JULIAN) and year > 0 and (year + 1) % 10 ** len(dual) == int(dual)


def _checked(date: SingleDate, text: str) -> SingleDate:
    """Rejects impossible dates. Years are counted astronomically, with a year 0."""
    calendar, year, month, day, dual = date
    counted = year + 1 if year < 0 else year
    if not year or counted not in calendar.years:
        first, last = calendar.years[0], calendar.years[-1]
        years = f"{first if first > 0 else f'{1 - first} BCE'} to {last}"
        raise ValueError(f"{_short(text)} is not possible: the years are {years}, and none is 0")
    if month is None:
        return date._replace(year=counted)
    if not 1 <= month <= len(calendar.months):
        raise ValueError(f"{_short(text)} is not possible: the months are 01 to 12")
    length = calendar.month_end(counted + dual, month) - calendar.month_begin(counted + dual, month) + 1
    if not length:
        raise ValueError(f"{_short(text)} is not possible: that year has no such month")
    if day is not None and not 1 <= day <= length:
        raise ValueError(f"{_short(text)} is not possible: that month has the days 1 to {length}")
    return date._replace(year=counted)


def _written(reading: Reading) -> str:
    word, dates, phrase = reading
    return joined(word, [_iso_or_spelled(each) for each in dates], phrase)


def joined(word: str, dates: list[str], phrase: str) -> str:
    second = {"BET": "AND", "FROM": "TO"}.get(word, "")
    parts = [word, dates[0] if dates else "", *([second, dates[1]] if len(dates) == 2 else [])]
    return " ".join(part for part in [*parts, f"({phrase})" if phrase else ""] if part)


def _iso_or_spelled(date: SingleDate) -> str:
    calendar, year, month, day, dual = date
    if calendar is not GREGORIAN or year < 1 or dual:
        return spelling(date)
    return f"{year:04d}" + (f"-{month:02d}" if month else "") + (f"-{day:02d}" if day else "")


def spelling(date: SingleDate) -> str:
    calendar, year, month, day, dual = date
    return " ".join(
        part
        for part in (
            calendar.name if calendar is not GREGORIAN else "",
            str(day) if day else "",
            calendar.months[month - 1] if month else "",
            f"{year if year > 0 else 1 - year}" + (f"/{(year + 1) % 100:02d}" if dual else ""),
            "BCE" if year < 1 else "",
        )
        if part
    )


def _key(number: int, rank: int) -> str:
    year, month, day = day_of(number)
    # A dash sorts before every digit, and the years before year 1 count up toward it.
    years = f"{year:04d}" if year > 0 else f"-{9_999 + year:04d}"
    return f"{years}-{month:02d}-{day:02d}.{rank}"


def on_one_line(text: str) -> str:
    return " ".join(text.split())


def _short(text: str) -> str:
    return repr(text[:40])
