"""Adoption events: whose date it is, and how it is written."""

import pytest

from resolvers.genealogy.gedcom.model import GedChild, GedFamily, GedPerson, GedTree, Pedigree
from resolvers.genealogy.gedcom.records import Version
from tests.support.gedcom import family_of, tree_of, written

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
