"""Writing files: xrefs, folding, versions, and fingerprints."""

from dataclasses import replace

import pytest

from resolvers.genealogy.gedcom.fingerprint import fingerprint
from resolvers.genealogy.gedcom.model import GedFamily, GedPerson, GedTree
from resolvers.genealogy.gedcom.records import Version
from resolvers.genealogy.gedcom.report import GedcomRemark
from tests.support.gedcom import BACH, both_versions, person_of, report_of, tree_of, written, written_person


def test_records_that_share_an_xref_are_told_apart():
    content = "0 HEAD\n0 @I1@ INDI\n1 NAME Ann\n0 @I1@ INDI\n1 NAME Bob\n0 INDI\n1 NAME Cal\n0 TRLR"
    assert [(person.xref, person.first_name) for person in tree_of(content).persons] == [
        ("I1", "Ann"),
        ("X1", "Bob"),
        ("X2", "Cal"),
    ]
    assert report_of(content).repaired == [
        GedcomRemark(4, "INDI", "@I1@ is a duplicate xref. It becomes @X1@."),
        GedcomRemark(6, "INDI", "The record has no xref. It becomes @X2@."),
    ]


def test_xrefs_that_a_version_does_not_allow_are_made_anew():
    tree = GedTree(
        persons=(GedPerson("a b", kept="1 ASSO @I1@"), GedPerson("I1", kept="1 ASSO @a b@"), GedPerson("x-1")),
        families=(GedFamily("f@", husband="a b", wife="I1"),),
    )
    assert "\n0 @I2@ INDI\n1 ASSO @I1@\n1 FAMS @F1@\n0 @I1@ INDI\n1 ASSO @I2@\n1 FAMS @F1@\n" in written(tree)
    assert "\n0 @x-1@ INDI\n0 @F1@ FAM\n1 HUSB @I2@\n1 WIFE @I1@\n" in written(tree)
    assert "\n0 @I3@ INDI\n" in written(tree, Version.V7)


def test_an_empty_tree_is_a_file():
    assert written(GedTree(), Version.V5) == (
        "0 HEAD\n1 GEDC\n2 VERS 5.5.1\n2 FORM LINEAGE-LINKED\n1 CHAR UTF-8\n1 SOUR HEARTWOOD\n"
        "1 SUBM @HEARTWOOD@\n0 @HEARTWOOD@ SUBM\n1 NAME Heartwood\n0 TRLR\n"
    )
    assert written(GedTree(), Version.V7) == (
        "0 HEAD\n1 GEDC\n2 VERS 7.0\n1 SOUR HEARTWOOD\n1 SUBM @HEARTWOOD@\n"
        "0 @HEARTWOOD@ SUBM\n1 NAME Heartwood\n0 TRLR\n"
    )
    assert tree_of(written(GedTree())) == GedTree()


def test_long_lines_are_folded_in_5_5_1_beside_no_space():
    text = "word " * 200 + "word\n" + "x" * 600 + " " * 400 + "@" * 300
    found = written_person(GedPerson("I1", notes=(text,)))
    assert max(map(len, found)) <= 255
    assert [line for line in found if "word" in line and (line != line.strip() or "CONC  " in line)] == []
    assert tree_of(written(GedTree(persons=(GedPerson("I1", notes=(text,)),)))).persons[0].biography == text


def test_lines_are_not_folded_in_7_0():
    text = "word " * 200
    assert f"1 NOTE {text}\n" in written(GedTree(persons=(GedPerson("I1", notes=(text,)),)), Version.V7)


@both_versions
def test_what_a_user_typed_cannot_add_lines(version):
    text = "a\r\n0 @I9@ INDI\r1 NAME x\x00\x1b\ud800\n@I1@\n@@"
    tree = tree_of(written(GedTree(persons=(GedPerson("I1", last_name=text, notes=(text,)),)), version))
    assert [person.xref for person in tree.persons] == ["I1"]
    assert tree.persons[0].biography == "a\n0 @I9@ INDI\n1 NAME x\n@I1@\n@@"


def test_a_fingerprint_is_of_what_a_file_tells():
    tree = tree_of(BACH)
    same = [
        tree_of(BACH.encode("utf-16")),
        tree_of(BACH.replace("\n", "\r\n")),
        tree_of(written(tree, Version.V7)),
        replace(tree, persons=tree.persons[::-1], header="1 SOUR OTHER"),
    ]
    other = [tree_of(BACH.replace("1750", "1751")), tree_of(BACH.replace("PAGE 12", "PAGE 13"))]
    assert {fingerprint(each) for each in same} == {fingerprint(tree)}
    assert fingerprint(tree) not in {fingerprint(each) for each in other}


def test_a_fingerprint_does_not_tell_composed_letters_from_others():
    assert fingerprint(tree_of(BACH.replace("Eisenach", "Ko\u0308ln"))) == fingerprint(
        tree_of(BACH.replace("Eisenach", "Köln"))
    )


def test_a_fingerprint_does_not_tell_spellings_of_a_date_from_each_other():
    spelled = tree_of(BACH.replace("28 JUL 1750", "28 July 1750").replace("17 OCT 1707", "17 oct 1707"))
    assert fingerprint(spelled) == fingerprint(tree_of(BACH))


@pytest.mark.parametrize(
    ("said", "in_5", "in_7"),
    [
        ("INT 1800 (about)", "2 DATE INT 1800 (about)", "2 DATE 1800\n3 PHRASE about"),
        ("(in winter)", "2 DATE (in winter)", "2 DATE\n3 PHRASE in winter"),
        ("11 FEB 1731/32", "2 DATE 11 FEB 1731/32", "2 DATE 11 FEB 1732\n3 PHRASE 11 FEB 1731/32"),
        ("44 B.C.", "2 DATE 44 B.C.", "2 DATE 44 BCE"),
        ("BET 1900 AND 1902", "2 DATE BET 1900 AND 1902", "2 DATE BET 1900 AND 1902"),
    ],
)
def test_a_date_with_words_is_written_as_the_version_has_it(said, in_5, in_7):
    tree = tree_of(BACH.replace("28 JUL 1750", said))
    for version, expected in ((Version.V5, in_5), (Version.V7, in_7)):
        content = written(tree, version)
        assert f"1 DEAT\n{expected}\n" in content
        assert tree_of(content).persons == tree.persons


def test_a_phrase_on_dates_that_5_5_1_has_no_words_for_stays_below_them():
    tree = person_of("1 BIRT", "2 DATE BET 1900 AND 1902", "3 PHRASE or so")
    assert (tree.birth_date, tree.kept) == ("BET 1900 AND 1902", "1 BIRT\n2 DATE\n3 PHRASE or so")
