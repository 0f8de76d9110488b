"""Preserved content: long texts, adoptions and notes."""

from dataclasses import replace

import pytest

from resolvers.genealogy.gedcom.model import GedChild, GedFamily, GedPerson, GedTree, Pedigree
from resolvers.genealogy.gedcom.records import Version
from tests.support.gedcom import family_of, report_of, tree_of, written


def test_a_note_that_is_pointed_to_again_and_again_is_told_once():
    tree = tree_of(
        "\n".join(["0 HEAD", "0 @I1@ INDI", *["1 NOTE @N@"] * 3, "1 NOTE own", "0 @N@ NOTE shared", "0 TRLR"])
    )
    assert tree.persons[0].notes == ("shared", "own")
    assert written(tree).count("1 NOTE @N@") == 3


def test_a_biography_has_an_end_and_what_is_behind_it_is_written_again():
    long = "x" * 30_000
    tree = tree_of("\n".join(["0 HEAD", "0 @I1@ INDI", f"1 NOTE {long}", f"1 NOTE {long}", "0 TRLR"]))
    assert tree.persons[0].biography == f"{long}\n\n{long[:19_998]}"
    stored = replace(tree, persons=(replace(tree.persons[0], notes=(tree.persons[0].biography,)),))
    assert tree_of(written(stored)) == tree


@pytest.mark.parametrize(
    ("said", "line", "tag"),
    [
        (["1 NAME " + "x" * 700], 3, "NAME"),
        (["1 NAME Ann", "2 GIVN " + "x" * 201], 4, "GIVN"),
        (["1 BIRT", "2 PLAC " + "x" * 301], 4, "PLAC"),
        (["1 DEAT", "2 DATE " + "x" * 241], 4, "DATE"),
    ],
)
def test_what_is_too_long_for_a_field_is_told_and_kept(said, line, tag):
    content = "\n".join(["0 HEAD", "0 @I1@ INDI", *said, "0 TRLR"])
    tree = tree_of(content)
    person = tree.persons[0]
    assert (person.birth_place, person.death_date) == ("", "")
    assert max(map(len, (person.first_name, person.last_name))) < 200
    assert [(remark.line, remark.tag) for remark in report_of(content).repaired] == [(line, tag)]
    assert tree_of(written(tree)) == tree


ADOPTED = "2 PEDI adopted\n1 ADOP\n2 DATE 5 MAY 1900\n2 FAMC @F1@"


@pytest.mark.parametrize(
    ("event", "dates"),
    [
        ("", ("5 MAY 1900", "5 MAY 1900")),
        ("3 ADOP BOTH", ("5 MAY 1900", "5 MAY 1900")),
        ("3 ADOP HUSB", ("5 MAY 1900", "")),
        ("3 ADOP WIFE", ("", "5 MAY 1900")),
        ("3 ADOP HUSB\n1 ADOP\n2 DATE 1901\n2 FAMC @F1@\n3 ADOP WIFE", ("5 MAY 1900", "1901")),
        ("1 ADOP\n2 DATE 1901\n2 FAMC @F1@", ("", "")),
    ],
)
def test_an_adoption_has_a_date_where_it_is_clear_whose(event, dates):
    tree = family_of("1 HUSB @I1@", "1 WIFE @I2@", "1 CHIL @I3@", child="\n".join(filter(None, [ADOPTED, event])))
    (child,) = tree.families[0].children
    assert (child.husband_adoption_date, child.wife_adoption_date) == dates
    for version in Version:
        content = written(tree, version)
        assert tree_of(content) == tree
        assert content.count("5 MAY 1900") == 1


def test_an_adoption_of_no_adopted_child_is_kept_as_it_is():
    tree = family_of("1 HUSB @I1@", "1 CHIL @I3@", child="1 ADOP\n2 DATE 1900\n2 FAMC @F1@")
    assert tree.families[0].children == (GedChild("I3"),)
    assert tree.persons[2].kept == "1 ADOP\n2 DATE 1900\n2 FAMC @F1@"


def test_dates_of_adoptions_that_were_typed_are_written_as_events():
    child = GedChild("I3", Pedigree.ADOPTIVE, Pedigree.ADOPTIVE, "1900", "1901")
    family = GedFamily("F1", husband="I1", wife="I2", children=(child,))
    tree = GedTree(persons=(GedPerson("I1"), GedPerson("I2"), GedPerson("I3")), families=(family,))
    content = written(tree)
    assert "1 ADOP\n2 DATE 1900\n2 FAMC @F1@\n3 ADOP HUSB\n1 ADOP\n2 DATE 1901\n2 FAMC @F1@\n3 ADOP WIFE\n" in content
    assert tree_of(content).families == tree.families


@pytest.mark.parametrize(
    ("notes", "lines"),
    [
        (("both", "both"), "2 NOTE both"),
        (("his", ""), "2 NOTE his\n3 _PARENT HUSB"),
        (("his", "hers"), "2 NOTE his\n3 _PARENT HUSB\n2 NOTE hers\n3 _PARENT WIFE"),
    ],
)
def test_notes_on_parents_are_below_the_link_of_the_child(notes, lines):
    child = GedChild("I3", husband_notes=notes[0], wife_notes=notes[1])
    family = GedFamily("F1", husband="I1", wife="I2", children=(child,), notes="of the couple")
    tree = GedTree(persons=(GedPerson("I1"), GedPerson("I2"), GedPerson("I3")), families=(family,))
    content = written(tree)
    assert f"1 FAMC @F1@\n{lines}\n" in content
    assert "1 NOTE of the couple\n" in content
    assert tree_of(content).families == tree.families


@pytest.mark.parametrize("said", ["2 NOTE a\n2 NOTE b", "2 NOTE a\n3 SOUR x", "2 NOTE " + "x" * 2_001])
def test_notes_of_which_it_is_not_clear_what_they_are_about_are_kept(said):
    tree = family_of("1 HUSB @I1@", "1 CHIL @I3@", child=said)
    assert tree.families[0].children == (GedChild("I3"),)
    assert tree.persons[2].kept == f"1 FAMC @F1@\n{said}"
    assert tree_of(written(tree)) == tree
