"""Historic calendars. Each computes the day number on which a month begins; day 1 is 0001-01-01 Gregorian."""

from collections.abc import Callable
from datetime import date
from itertools import accumulate
from typing import NamedTuple

DAYS_IN_400_YEARS = 146_097
JULIAN_EPOCH = date(1, 1, 1).toordinal() - 2
FRENCH_EPOCH = date(1792, 9, 22).toordinal()
HEBREW_EPOCH = -1_373_427


class Day(NamedTuple):
    """A day of the proleptic Gregorian calendar; 1 BCE is the year 0, 2 BCE is -1."""

    year: int
    month: int
    day: int


class Calendar(NamedTuple):
    """A calendar: its months, the start of each month, and its years."""

    name: str
    months: tuple[str, ...]
    month_begin: Callable[[int, int], int]
    years: range

    def month_end(self, year: int, month: int) -> int:
        """Returns the last day of a month, or the day before its first if the year has no such month."""
        last = month == len(self.months)
        return (self.month_begin(year + 1, 1) if last else self.month_begin(year, month + 1)) - 1


def day_of(number: int) -> Day:
    cycles, number_in_cycle = divmod(number - 1, DAYS_IN_400_YEARS)
    found = date.fromordinal(number_in_cycle + 1)
    return Day(found.year + 400 * cycles, found.month, found.day)


def _gregorian(year: int, month: int) -> int:
    # Python's dates support the years 1 to 9999; the calendar repeats every 400 years.
    cycles, year_in_cycle = divmod(year - 1, 400)
    return date(year_in_cycle + 1, month, 1).toordinal() + cycles * DAYS_IN_400_YEARS


def _julian(year: int, month: int) -> int:
    days_before = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)[month - 1]
    leap_day = int(year % 4 == 0 and month > 2)
    return JULIAN_EPOCH + 365 * (year - 1) + (year - 1) // 4 + days_before + leap_day


def _french(year: int, month: int) -> int:
    return FRENCH_EPOCH + 365 * (year - 1) + year // 4 + 30 * (month - 1)


def _hebrew(year: int, month: int) -> int:
    """Returns the first day of a month. Two months and the leap month Adar Sheni depend on the length of the year."""
    new_year = _hebrew_new_year(year)
    length = _hebrew_new_year(year + 1) - new_year
    leap = length > 380
    heshvan, kislev = 29 + (length % 10 == 5), 30 - (length % 10 == 3)
    adar, adar_sheni = (30, 29) if leap else (29, 0)
    lengths = (30, heshvan, kislev, 29, 30, adar, adar_sheni, 30, 29, 30, 29, 30, 29)
    return new_year + list(accumulate(lengths, initial=0))[month - 1]


def _hebrew_new_year(year: int) -> int:
    """Returns New Year's Day: the mean new moon, with postponements (Dershowitz and Reingold)."""
    before, this, after = (_hebrew_days(each) for each in (year - 1, year, year + 1))
    delay = 2 if after - this == 356 else 1 if this - before == 382 else 0
    return HEBREW_EPOCH + this + delay


def _hebrew_days(year: int) -> int:
    months = (235 * year - 234) // 19
    days = 29 * months + (12_084 + 13_753 * months) // 25_920
    return days + (3 * (days + 1) % 7 < 3)


WESTERN_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
FRENCH_MONTHS = (
    "VEND", "BRUM", "FRIM", "NIVO", "PLUV", "VENT", "GERM", "FLOR", "PRAI", "MESS", "THER", "FRUC", "COMP",
)  # fmt: skip
HEBREW_MONTHS = ("TSH", "CSH", "KSL", "TVT", "SHV", "ADR", "ADS", "NSN", "IYR", "SVN", "TMZ", "AAV", "ELL")

GREGORIAN = Calendar("GREGORIAN", WESTERN_MONTHS, _gregorian, range(-9998, 10_000))
JULIAN = Calendar("JULIAN", WESTERN_MONTHS, _julian, range(-9998, 9_999))
# Used for 14 years; the leap years after that are disputed.
FRENCH = Calendar("FRENCH_R", FRENCH_MONTHS, _french, range(1, 15))
HEBREW = Calendar("HEBREW", HEBREW_MONTHS, _hebrew, range(1, 10_000))
