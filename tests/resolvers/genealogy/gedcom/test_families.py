"""Family records and the links between people and families."""

from dataclasses import replace

import pytest

from resolvers.genealogy.gedcom.model import GedChild, GedFamily, Pedigree, Status
from resolvers.genealogy.gedcom.records import Version
from resolvers.genealogy.gedcom.report import GedcomRemark
from tests.support.gedcom import both_versions, family_of, report_of, tree_of, written


@pytest.mark.parametrize(
    ("said", "child", "kinds"),
    [
        ("1 CHIL @I3@", "", (Pedigree.BIOLOGICAL, Pedigree.BIOLOGICAL)),
        ("1 CHIL @I3@", "2 PEDI birth", (Pedigree.BIOLOGICAL, Pedigree.BIOLOGICAL)),
        ("1 CHIL @I3@", "2 PEDI adopted", (Pedigree.ADOPTIVE, Pedigree.ADOPTIVE)),
        ("1 CHIL @I3@", "2 PEDI FOSTER", (Pedigree.FOSTER, Pedigree.FOSTER)),
        ("1 CHIL @I3@", "2 PEDI sealing", (Pedigree.BIOLOGICAL, Pedigree.BIOLOGICAL)),
        ("1 CHIL @I3@\n2 _FREL Step\n2 _MREL Natural", "", (Pedigree.STEP, Pedigree.BIOLOGICAL)),
        ("1 CHIL @I3@\n2 _FREL Natural", "2 PEDI adopted", (Pedigree.BIOLOGICAL, Pedigree.ADOPTIVE)),
        ("1 CHIL @I3@\n2 NOTE x", "2 PEDI adopted\n2 NOTE y", (Pedigree.ADOPTIVE, Pedigree.ADOPTIVE)),
    ],
)
def test_a_child_is_to_each_partner_what_its_links_say(said, child, kinds):
    tree = family_of("1 HUSB @I1@", "1 WIFE @I2@", said, child=child)
    notes = ("y", "y") if "NOTE" in child else ("", "")
    assert tree.families[0].children == (GedChild("I3", *kinds, "", "", *notes),)
    for version in Version:
        content = written(tree, version)
        assert tree_of(content) == tree
        assert said in content
        assert child.casefold() in content.casefold()


def test_what_a_child_is_can_be_changed_and_notes_on_it_stay():
    tree = family_of("1 HUSB @I1@", "1 CHIL @I3@\n2 NOTE x", child="2 PEDI adopted\n2 NOTE y")
    step = replace(tree.families[0].children[0], husband_pedigree=Pedigree.STEP, wife_pedigree=Pedigree.STEP)
    content = written(replace(tree, families=(replace(tree.families[0], children=(step,)),)))
    assert "1 CHIL @I3@\n2 _FREL Step\n2 _MREL Step\n2 NOTE x\n" in content
    assert "1 FAMC @F1@\n2 NOTE y\n" in content


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ([], Status.UNKNOWN),
        (["1 MARR Y"], Status.MARRIED),
        (["1 MARR", "2 DATE 1900", "1 DIV N"], Status.MARRIED),
        (["1 MARR", "2 DATE 1900", "1 DIV Y"], Status.DIVORCED),
        (["1 DIV", "2 DATE 1910", "2 PLAC Reno"], Status.DIVORCED),
        (["1 MARR Y", "1 EVEN", "2 TYPE Separation"], Status.SEPARATED),
        (["1 MARR Y", "1 _STAT WIDOWED"], Status.WIDOWED),
        (["1 _STAT Partners", "1 MARR Y"], Status.MARRIED),
        (["1 MARR N", "2 DATE 1900"], Status.UNKNOWN),
    ],
)
def test_a_couple_is_what_its_events_say(said, status):
    tree = family_of("1 HUSB @I1@", "1 WIFE @I2@", *said)
    assert tree.families[0].status is status
    assert "\n".join(["1 CHIL @I3@", *said, "0 TRLR"]) in written(tree)


def test_two_husbands_are_a_couple_and_a_third_is_refused():
    tree = family_of("1 HUSB @I1@", "1 HUSB @I2@", "2 AGE 30y")
    assert (tree.families[0].husband, tree.families[0].wife) == ("I1", "I2")
    assert "1 HUSB @I1@\n1 WIFE @I2@\n2 AGE 30y\n" in written(tree)
    reason = "The partner is a duplicate, or the family has two other partners."
    content = "0 HEAD\n0 @A@ INDI\n0 @B@ INDI\n0 @C@ INDI\n0 @F@ FAM\n1 HUSB @A@\n1 WIFE @B@\n1 WIFE @C@\n0 TRLR"
    assert report_of(content).refused == [GedcomRemark(8, "WIFE", reason, "@C@")]


def test_a_link_that_only_a_person_has_counts():
    content = "0 HEAD\n0 @I1@ INDI\n1 FAMS @F1@\n0 @I2@ INDI\n1 FAMC @F1@\n0 @F1@ FAM\n0 TRLR"
    assert tree_of(content).families == (GedFamily("F1", husband="I1", children=(GedChild("I2"),)),)
    assert [(remark.line, remark.tag) for remark in report_of(content).repaired] == [(3, "FAMS"), (5, "FAMC")]


def test_what_is_said_of_partners_is_kept_whoever_comes_first():
    tree = family_of("1 WIFE @I2@", "2 AGE 20", "1 HUSB @I1@", "2 AGE 30")
    assert tree.families[0].kept == "1 HUSB @I1@\n2 AGE 30\n1 WIFE @I2@\n2 AGE 20"
    assert tree_of(written(tree)) == tree


def test_families_of_a_person_stay_in_their_order():
    content = "0 HEAD\n0 @I1@ INDI\n1 FAMS @F2@\n1 FAMS @F1@\n0 @F1@ FAM\n1 HUSB @I1@\n0 @F2@ FAM\n1 HUSB @I1@\n0 TRLR"
    tree = tree_of(content)
    assert "0 @I1@ INDI\n1 FAMS @F2@\n1 FAMS @F1@\n" in written(tree)
    assert "0 @I1@ INDI\n1 FAMS @F1@\n0 @F1@" in written(replace(tree, families=tree.families[:1]))


@both_versions
def test_a_partner_who_is_void_stays(version):
    tree = family_of("1 HUSB @VOID@", "2 PHRASE not known", "1 WIFE @I2@")
    assert (tree.families[0].husband, tree.families[0].wife) == ("", "I2")
    assert "1 HUSB @VOID@\n2 PHRASE not known\n" in written(tree, version)
