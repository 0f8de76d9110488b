"""Notes on the link of a child to its parents."""

import pytest

from resolvers.genealogy.gedcom.model import GedChild, GedFamily, GedPerson, GedTree
from tests.support.gedcom import family_of, tree_of, written


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
