"""Historic dates: parsing, formatting, ordering and bounds."""

from datetime import date, timedelta
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from datastore.model.calendars import FRENCH, GREGORIAN, HEBREW, JULIAN, day_of
from datastore.model.dates import (
    MAX_CHARACTERS,
    earliest,
    latest,
    parse_date,
    sort_key,
)

# The machine may be slow.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("1950-05-15", "1950-05-15"),
        ("1950-05", "1950-05"),
        ("1950", "1950"),
        (" 1950 ", "1950"),
        ("987", "0987"),
        ("0987-05-15", "0987-05-15"),
        ("15 MAY 1950", "1950-05-15"),
        ("5 may 1950", "1950-05-05"),
        ("15  December\t1950", "1950-12-15"),
        ("Sept. 1950", "1950-09"),
        ("MAY 1950", "1950-05"),
        ("29 FEB 2000", "2000-02-29"),
        ("@#DGREGORIAN@ 15 MAY 1950", "1950-05-15"),
        ("abt 1950", "ABT 1950"),
        ("About 15 May 1950", "ABT 1950-05-15"),
        ("circa 1950", "ABT 1950"),
        ("CAL 1950", "CAL 1950"),
        ("EST MAY 1950", "EST 1950-05"),
        ("BEF 1950-05", "BEF 1950-05"),
        ("after 1950", "AFT 1950"),
        ("BET 1950 AND 1952", "BET 1950 AND 1952"),
        ("between may 1950 and 3 jun 1950", "BET 1950-05 AND 1950-06-03"),
        ("BET 1950 AND 1950-06", "BET 1950 AND 1950-06"),
        ("FROM 1950 TO 1952", "FROM 1950 TO 1952"),
        ("FROM 1950", "FROM 1950"),
        ("TO 3 FEB 1952", "TO 1952-02-03"),
        ("44 B.C.", "44 BCE"),
        ("44bc", "44 BCE"),
        ("15 mar 44 bce", "15 MAR 44 BCE"),
        ("FROM 44 BCE TO 14", "FROM 44 BCE TO 0014"),
        ("@#DJULIAN@ 5 OCT 1700", "JULIAN 5 OCT 1700"),
        ("julian 5 october 1700", "JULIAN 5 OCT 1700"),
        ("JULIAN 29 FEB 1700", "JULIAN 29 FEB 1700"),
        ("@#DFRENCH R@ 12 vend 3", "FRENCH_R 12 VEND 3"),
        ("FRENCH_R 6 COMP 3", "FRENCH_R 6 COMP 3"),
        ("@#DHEBREW@ 1 TSH 5784", "HEBREW 1 TSH 5784"),
        ("HEBREW ADS 5784", "HEBREW ADS 5784"),
        ("BET JULIAN 1690 AND 1700", "BET JULIAN 1690 AND 1700"),
        ("1699/00", "1699/00"),
        ("5 feb 1699/1700", "5 FEB 1699/00"),
        ("JULIAN 29 FEB 1699/00", "JULIAN 29 FEB 1699/00"),
        ("int 15 may 1950 (About the war)", "INT 1950-05-15 (About the war)"),
        ("( the winter  after the war )", "(the winter after the war)"),
        ("(Ostern (früh))", "(Ostern (früh))"),
    ],
)
def test_a_date_is_written_in_one_way(text, canonical):
    assert parse_date(text) == canonical
    assert parse_date(canonical) == canonical


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1950-02-30", "'1950-02-30' is not possible: that month has the days 1 to 28"),
        ("1900-02-29", "'1900-02-29' is not possible: that month has the days 1 to 28"),
        ("31 APR 1950", "'31 APR 1950' is not possible: that month has the days 1 to 30"),
        ("00 APR 1950", "'00 APR 1950' is not possible: that month has the days 1 to 30"),
        ("ABT 1950-04-31", "'1950-04-31' is not possible: that month has the days 1 to 30"),
        ("1950-13", "'1950-13' is not possible: the months are 01 to 12"),
        ("1950-00-01", "'1950-00-01' is not possible: the months are 01 to 12"),
        ("0", "'0' is not possible: the years are 9999 BCE to 9999, and none is 0"),
        ("0000-01-01", "'0000-01-01' is not possible: the years are 9999 BCE to 9999, and none is 0"),
        ("0 BCE", "'0 BCE' is not possible: the years are 9999 BCE to 9999, and none is 0"),
        ("FRENCH_R 15", "'FRENCH_R 15' is not possible: the years are 1 to 14, and none is 0"),
        ("FRENCH_R 6 COMP 4", "'FRENCH_R 6 COMP 4' is not possible: that month has the days 1 to 5"),
        ("HEBREW 1 ADS 5783", "'HEBREW 1 ADS 5783' is not possible: that year has no such month"),
        ("BET 1952 AND 1950", "'BET 1952 AND 1950' ends before it begins; write the earlier date first"),
        ("FROM 1950 TO 50 BCE", "'FROM 1950 TO 50 BCE' ends before it begins; write the earlier date first"),
        ("1056/1060", "'1056/1060' is not a year and the next; write 1699/00, or BET 1695 AND 1700"),
        ("()", "a phrase for a date is one line of text in brackets, like (the winter after the war)"),
        ("(a\x00b)", "a phrase for a date is one line of text in brackets, like (the winter after the war)"),
        (f"({'x' * MAX_CHARACTERS})", "a date has at most 250 characters, this has 252"),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(text, message):
    with pytest.raises(ValueError) as refused:  # noqa: PT011
        parse_date(text)

    assert str(refused.value) == message


@pytest.mark.parametrize(
    "text",
    ["", "hello", "31 JUL", "15.5.1950", "5/15/1950", "May 15, 1950", "19500515", "195O", "1950-5", "1950-05-15T00:00Z",
     "ABT BEF 1950", "BEF", "@#DROMAN@ 1 JAN 1", "15 MAI 1950", "١٩٥٠", "INT (x)"],
)  # fmt: skip
def test_what_is_no_date_is_refused_with_how_to_write_one(text):
    with pytest.raises(ValueError, match=r"is not a date; write it like 1950-05-15, 15 MAY 1950, 1950-05, 1950, ABT"):
        parse_date(text)


def test_months_of_another_calendar_are_listed_when_one_is_wrong():
    with pytest.raises(ValueError, match="'HEBREW 1 MAY 5784' names no month of its calendar; these are TSH, CSH, KSL"):
        parse_date("HEBREW 1 MAY 5784")


IN_ORDER = [
    "9999 BCE",
    "45 BCE",
    "BEF 44 BCE",
    "44 BCE",
    "15 MAR 44 BCE",
    "AFT 44 BCE",
    "1 BCE",
    "0001",
    "0987",
    "1699",
    "5 FEB 1699/00",
    "JULIAN 5 OCT 1700",
    "1700-10-17",
    "FRENCH_R 12 VEND 3",
    "1794-10-04",
    "1949-12-31",
    "AFT 1949",
    "BEF 1950",
    "1950",
    "1950-01",
    "1950-01-01",
    "BET 1950-02 AND 1952",
    "BEF 1950-05-15",
    "ABT 1950-05-15",
    "AFT 1950-05-15",
    "1950-05-16",
    "AFT 1950",
    "FROM 1951-02 TO 1960",
    "HEBREW 1 TSH 5784",
    "2023-09-17",
    "9999-12-31",
    "(the winter after the war)",
]


def test_the_order_of_keys_is_the_order_in_time():
    keys = [sort_key(parse_date(text)) for text in IN_ORDER]

    assert [(one, two) for one, two in pairwise(keys) if one >= two] == []


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("1950-05-15", (1950, 5, 15), (1950, 5, 15)),
        ("1950-05", (1950, 5, 1), (1950, 5, 31)),
        ("1952-02", (1952, 2, 1), (1952, 2, 29)),
        ("1950", (1950, 1, 1), (1950, 12, 31)),
        ("ABT 1950-05-15", (1940, 1, 1), (1960, 12, 31)),
        ("EST 1950", (1940, 1, 1), (1960, 12, 31)),
        ("CAL 1950", (1949, 1, 1), (1951, 12, 31)),
        ("BEF 1950-05", None, (1950, 4, 30)),
        ("AFT 1950", (1951, 1, 1), None),
        ("BET 1950 AND 1952-02", (1950, 1, 1), (1952, 2, 29)),
        ("FROM 1950 TO 1952", (1950, 1, 1), (1952, 12, 31)),
        ("FROM 1950", (1950, 1, 1), None),
        ("TO 1952", None, (1952, 12, 31)),
        ("44 BCE", (-43, 1, 1), (-43, 12, 31)),
        ("JULIAN 1700", (1700, 1, 11), (1701, 1, 11)),
        ("JULIAN 4 OCT 1582", (1582, 10, 14), (1582, 10, 14)),
        ("FRENCH_R 18 BRUM 8", (1799, 11, 9), (1799, 11, 9)),
        ("HEBREW 5784", (2023, 9, 16), (2024, 10, 2)),
        ("HEBREW 14 NSN 5784", (2024, 4, 22), (2024, 4, 22)),
        ("1699/00", (1699, 1, 1), (1700, 12, 31)),
        ("5 FEB 1699/00", (1700, 2, 5), (1700, 2, 5)),
        ("SEP 1396/97", (1396, 9, 1), (1397, 9, 30)),
        ("INT 1950 (about the war)", (1950, 1, 1), (1950, 12, 31)),
        ("(about the war)", None, None),
    ],
)
def test_a_date_has_a_first_and_a_last_day(text, first, last):
    assert (earliest(parse_date(text)), latest(parse_date(text))) == (first, last)


@unhurried
@given(st.dates(), st.dates())
def test_full_dates_are_ordered_and_bounded_as_pythons_are(one, two):
    stored = [parse_date(day.isoformat()) for day in (one, two)]

    assert [earliest(each) for each in stored] == [(day.year, day.month, day.day) for day in (one, two)]
    assert (sort_key(stored[0]) < sort_key(stored[1])) == (one < two)


@pytest.mark.parametrize("calendar", [GREGORIAN, JULIAN, FRENCH, HEBREW], ids=lambda calendar: calendar.name)
def test_a_month_begins_when_the_one_before_is_over(calendar):
    for year in calendar.years[:: max(1, len(calendar.years) // 500)]:
        for month in range(1, len(calendar.months)):
            assert calendar.month_end(year, month) + 1 == calendar.month_begin(year, month + 1)
        assert calendar.month_end(year, len(calendar.months)) + 1 == calendar.month_begin(year + 1, 1)


def test_days_are_numbered_through_the_beginning_of_our_era():
    first = date(1, 1, 1)

    assert day_of(first.toordinal()) == (1, 1, 1)
    assert day_of((first + timedelta(days=365)).toordinal()) == (2, 1, 1)
    assert [day_of(number) for number in (0, -365, -366)] == [(0, 12, 31), (0, 1, 1), (-1, 12, 31)]
