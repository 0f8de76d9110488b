"""Person records: names, gender, events, notes and photos."""

from dataclasses import replace

import pytest

from resolvers.genealogy.gedcom.model import GedPerson, GedTree, Gender
from resolvers.genealogy.gedcom.records import Version
from tests.support.gedcom import both_versions, person_of, tree_of, written, written_person


@pytest.mark.parametrize(
    ("said", "names"),
    [
        (["1 NAME Ann /Lee/"], ("Ann", "", "Lee", "", "", "")),
        (["1 NAME Ann Mary Jane  /Lee/ Jr."], ("Ann", "Mary Jane", "Lee", "Jr.", "", "")),
        (["1 NAME Ann"], ("Ann", "", "", "", "", "")),
        (["1 NAME Ann /Lee"], ("Ann", "", "Lee", "", "", "")),
        (["1 NAME /Lee/ Ann"], ("Ann", "", "Lee", "", "", "")),
        (["1 NAME Ann Lee", "2 GIVN Ann", "2 SURN Lee"], ("Ann", "", "Lee", "", "", "")),
        (["1 NAME", "2 GIVN Ann", "2 SURN Lee"], ("Ann", "", "Lee", "", "", "")),
        (["1 NAME Mary Ann /Lee/", "2 GIVN Mary Ann,", "2 SURN Lee"], ("Mary Ann", "", "Lee", "", "", "")),
        (['1 NAME Joseph "Joe" /Lee/'], ("Joseph", "", "Lee", "", "Joe", "")),
        (["1 NAME Joseph /Lee/", "2 NICK Joe"], ("Joseph", "", "Lee", "", "Joe", "")),
        (
            ["1 NAME Dr. Ludwig van /Beethoven/", "2 NPFX Dr.", "2 GIVN Ludwig", "2 SPFX van", "2 SURN Beethoven"],
            ("Ludwig", "", "van Beethoven", "", "", ""),
        ),
        (["1 NAME Ann /Lee/", "1 NAME Ann /Ray/", "2 TYPE maiden"], ("Ann", "", "Lee", "", "", "Ray")),
        (["1 NAME Ann /Lee/", "1 NAME Anny /Ray/", "2 TYPE aka"], ("Ann", "", "Lee", "", "", "")),
        (["1 NAME Ann /Lee/", "2 TYPE birth"], ("Ann", "", "Lee", "", "", "")),
    ],
)
def test_a_name_is_told_apart(said, names):
    person = person_of(*said)
    found = (person.first_name, person.middle_name, person.last_name, person.suffix)
    assert (*found, person.preferred_name, person.birth_name) == names
    assert {line for line in said if line.startswith("1 NAME") and "  " not in line} <= {
        line.replace(" birth", " BIRTH") for line in written_person(person)
    }


@pytest.mark.parametrize(
    ("said", "gender", "lines_written"),
    [
        (["1 SEX M"], Gender.MALE, ["1 SEX M"]),
        (["1 SEX F"], Gender.FEMALE, ["1 SEX F"]),
        (["1 SEX X"], Gender.OTHER, ["1 SEX X"]),
        (["1 SEX U"], Gender.UNKNOWN, ["1 SEX U"]),
        (["1 SEX ?"], Gender.UNKNOWN, ["1 SEX ?"]),
        ([], Gender.UNKNOWN, []),
    ],
)
def test_a_gender_is_what_sex_says(said, gender, lines_written):
    assert person_of(*said).gender is gender
    assert written_person(person_of(*said)) == lines_written


@pytest.mark.parametrize(
    ("said", "is_deceased"),
    [
        (["1 DEAT Y"], True),
        (["1 DEAT"], False),
        (["1 DEAT", "2 DATE 1900"], True),
        (["1 BURI", "2 PLAC Rome"], True),
        (["1 DEAT N"], False),
        (["1 BIRT Y"], False),
    ],
)
def test_who_died_is_told_even_if_it_is_not_known_when(said, is_deceased):
    assert person_of(*said).is_deceased is is_deceased
    assert written_person(person_of(*said)) == said


def test_somebody_who_died_is_written_as_such():
    assert written_person(GedPerson("I1", is_deceased=True)) == ["1 DEAT Y"]


def test_details_of_an_event_stay_below_it():
    said = ["1 BIRT", "2 DATE 1900", "3 _HOUR at dawn", "2 PLAC Rome", "3 MAP", "4 LATI N41.9", "2 SOUR @S1@"]
    person = person_of(*said)
    assert (person.birth_date, person.birth_place) == ("1900", "Rome")
    assert person.kept == "1 BIRT\n2 DATE\n3 _HOUR at dawn\n2 PLAC\n3 MAP\n4 LATI N41.9\n2 SOUR @S1@"
    assert written_person(person) == said


def test_of_two_births_the_first_counts_and_both_are_written():
    said = ["1 BIRT", "2 DATE 1900", "1 BIRT", "2 DATE 1901"]
    person = person_of(*said)
    assert (person.birth_date, person.kept) == ("1900", "1 BIRT\n1 BIRT\n2 DATE 1901")
    assert written_person(person) == said


def test_a_birth_date_that_was_changed_keeps_its_sources():
    person = replace(person_of("1 BIRT", "2 DATE 1900", "2 SOUR @S1@"), birth_date="1901")
    assert written_person(person) == ["1 BIRT", "2 DATE 1901", "2 SOUR @S1@"]


def test_a_name_that_was_changed_keeps_its_sources_and_loses_what_spelled_it():
    person = person_of("1 NAME Bill /Lee/", "2 GIVN William", "2 SOUR @S1@", "1 NAME Billy", "2 TYPE aka")
    assert written_person(replace(person, first_name="Will")) == [
        "1 NAME Will /Lee/",
        "2 GIVN Will",
        "2 SURN Lee",
        "2 SOUR @S1@",
        "1 NAME Billy",
        "2 TYPE aka",
    ]


NOTED = "0 HEAD\n0 @I1@ INDI\n1 NOTE own\n2 SOUR @S1@\n1 NOTE @N1@\n0 @N1@ NOTE shared\n1 CONT by all\n0 TRLR\n"


@both_versions
def test_a_biography_is_of_all_notes(version):
    tree = tree_of(NOTED)
    assert tree.persons[0].biography == "own\n\nshared\nby all"
    assert tree_of(written(tree, version)) == tree


def test_a_shared_note_is_named_as_the_version_names_it():
    assert "1 NOTE @N1@\n" in written(tree_of(NOTED), Version.V5)
    assert "0 @N1@ NOTE shared\n" in written(tree_of(NOTED), Version.V5)
    assert "1 SNOTE @N1@\n" in written(tree_of(NOTED), Version.V7)
    assert "0 @N1@ SNOTE shared\n" in written(tree_of(NOTED), Version.V7)


def test_a_biography_that_was_changed_takes_the_place_of_the_notes():
    tree = tree_of(NOTED)
    changed = replace(tree, persons=(replace(tree.persons[0], notes=("new",)),))
    assert "0 @I1@ INDI\n1 NOTE new\n0 @N1@ NOTE shared\n" in written(changed)


def test_a_biography_that_was_removed_is_not_written():
    tree = tree_of(NOTED)
    assert "0 @I1@ INDI\n0 @N1@" in written(replace(tree, persons=(replace(tree.persons[0], notes=()),)))


@pytest.mark.parametrize(
    ("said", "url"),
    [
        ("1 OBJE\n2 FILE https://example.org/ann.png", "https://example.org/ann.png"),
        ("1 OBJE\n2 FILE ann.png\n1 OBJE @O1@", "https://example.org/shared.jpg"),
        ("1 OBJE\n2 FILE http://example.org/ann.png", ""),
    ],
)
def test_a_photo_is_one_that_can_be_shown(said, url):
    tree = tree_of(f"0 HEAD\n0 @I1@ INDI\n{said}\n0 @O1@ OBJE\n1 FILE https://example.org/shared.jpg\n0 TRLR")
    assert tree.persons[0].photo_url == url
    assert f"0 @I1@ INDI\n{said}\n0 @O1@ OBJE\n" in written(tree)


@pytest.mark.parametrize(("version", "form"), [(Version.V5, "png"), (Version.V7, "image/png")])
def test_a_new_photo_has_a_record(version, form):
    tree = GedTree(persons=(GedPerson("I1", photo_url="https://example.org/ann.png"),))
    content = written(tree, version)
    assert "0 @I1@ INDI\n1 OBJE @O1@\n" in content
    assert f"0 @O1@ OBJE\n1 FILE https://example.org/ann.png\n2 FORM {form}\n" in content
    assert tree_of(content).persons[0].photo_url == "https://example.org/ann.png"
