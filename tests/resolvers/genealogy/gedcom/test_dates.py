"""GEDCOM dates in both versions, and arbitrary text in their place."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from datastore.model.dates import parse_date
from resolvers.genealogy.gedcom.dates import from_gedcom, to_gedcom, to_gedcom7

unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize(
    ("text", "gedcom", "gedcom7"),
    [
        ("1950-05-05", "5 MAY 1950", ("5 MAY 1950", "")),
        ("1950-05", "MAY 1950", ("MAY 1950", "")),
        ("0987", "987", ("987", "")),
        ("ABT 1950-05", "ABT MAY 1950", ("ABT MAY 1950", "")),
        ("BET 1950 AND 1952-01-01", "BET 1950 AND 1 JAN 1952", ("BET 1950 AND 1 JAN 1952", "")),
        ("FROM 1950", "FROM 1950", ("FROM 1950", "")),
        ("44 BCE", "44 B.C.", ("44 BCE", "")),
        ("JULIAN 5 OCT 1700", "@#DJULIAN@ 5 OCT 1700", ("JULIAN 5 OCT 1700", "")),
        ("FRENCH_R 12 VEND 3", "@#DFRENCH R@ 12 VEND 3", ("FRENCH_R 12 VEND 3", "")),
        ("HEBREW 1 TSH 5784", "@#DHEBREW@ 1 TSH 5784", ("HEBREW 1 TSH 5784", "")),
        ("5 FEB 1699/00", "5 FEB 1699/00", ("5 FEB 1700", "5 FEB 1699/00")),
        ("INT 1950 (about the war)", "INT 1950 (about the war)", ("1950", "about the war")),
        ("(about the war)", "(about the war)", ("", "about the war")),
    ],
)
def test_a_date_is_written_for_gedcom_and_comes_back(text, gedcom, gedcom7):
    stored = parse_date(text)

    assert (to_gedcom(stored), to_gedcom7(stored)) == (gedcom, gedcom7)
    assert from_gedcom(gedcom) == stored


@pytest.mark.parametrize(
    ("text", "phrase", "expected"),
    [
        ("ABT    1103/1105", "", "(ABT 1103/1105)"),
        ("31 JUL", "", "(31 JUL)"),
        ("30 FEB 1900", "", "(30 FEB 1900)"),
        ("x" * 300, "", f"({'x' * 247}…)"),
        ("", "", None),
        ("()", "", None),
        ("", "about the war", "(about the war)"),
        ("1950", "about the war", "INT 1950 (about the war)"),
        ("ABT 1950", "about the war", "ABT 1950"),
        ("30 FEB 1900", "about the war", "(30 FEB 1900: about the war)"),
    ],
)
def test_what_gedcom_says_is_kept_even_if_it_is_no_date(text, phrase, expected):
    assert from_gedcom(text, phrase) == expected


@unhurried
@given(st.text(max_size=300), st.text(max_size=20))
def test_whatever_stands_in_a_file_becomes_a_date_we_can_read(text, phrase):
    stored = from_gedcom(text, phrase)

    assert stored is None or parse_date(stored) == stored
