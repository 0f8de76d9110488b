"""Whole files: read into people and families, written and read again."""

from resolvers.genealogy.gedcom.model import GedChild, GedFamily, GedPerson, Gender, Status
from resolvers.genealogy.gedcom.records import Version
from tests.support.gedcom import BACH, both_versions, report_of, tree_of, written


def test_a_family_is_read():
    tree = tree_of(BACH)
    johann, maria, wilhelm = tree.persons
    assert johann == GedPerson(
        xref="I1",
        first_name="Johann",
        middle_name="Sebastian",
        last_name="Bach",
        gender=Gender.MALE,
        birth_date="JULIAN 21 MAR 1685",
        birth_place="Eisenach",
        death_date="28 JUL 1750",
        is_deceased=True,
        kept="1 BIRT\n2 SOUR @S1@\n3 PAGE 12\n1 OCCU Kantor",
    )
    assert (maria.kept, wilhelm.kept, wilhelm.gender) == ("", "", Gender.UNKNOWN)
    assert tree.families == (
        GedFamily(
            xref="F1",
            husband="I1",
            wife="I2",
            children=(GedChild("I3"),),
            marriage_date="17 OCT 1707",
            marriage_place="Dornheim",
            status=Status.MARRIED,
        ),
    )
    assert [(other.xref, other.tag, other.kept) for other in tree.others] == [
        ("S1", "SOUR", "0 @S1@ SOUR\n1 TITL Kirchenbuch")
    ]


def test_a_report_counts_what_became_of_a_file():
    told = report_of(BACH)
    assert (told.version, told.encoding, told.line_count) == ("5.5.1", "UTF-8", 33)
    assert (told.person_count, told.family_count, told.other_record_count) == (3, 1, 1)
    assert (told.structure_count, told.kept_count, told.mapped_count) == (33, 6, 27)
    assert (told.refused, told.repaired) == ([], [])


@both_versions
def test_what_was_read_is_written_and_read_again(version):
    tree = tree_of(BACH)
    again = tree_of(written(tree, version))
    assert again == tree


def test_a_date_is_written_in_the_calendar_of_either_version():
    tree = tree_of(BACH)
    assert "2 DATE @#DJULIAN@ 21 MAR 1685\n" in written(tree, Version.V5)
    assert "2 DATE JULIAN 21 MAR 1685\n" in written(tree, Version.V7)
