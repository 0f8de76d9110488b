"""Relationships between two people: their English terms, degrees and paths."""

import pytest

from resolvers.genealogy.kinship.paths import KinshipLink, Step
from resolvers.genealogy.kinship.relationship import Degree, relationship
from resolvers.genealogy.kinship.terms import kin_name, ordinal
from tests.resolvers.genealogy.kinship.sample_family import BIOLOGICAL, CHILDREN, FAMILY, MARRIED, UNKNOWN, a_family


@pytest.mark.parametrize(
    ("one", "other", "name", "back"),
    [
        ("dan", "dan", "self", "self"),
        ("dan", "jan", "not related", "not related"),
        ("dan", "nobody", "not related", "not related"),
        ("nobody", "nobody", "not related", "not related"),
        # Up and down a line.
        ("dan", "carl", "father", "son"),
        ("dan", "clara", "mother", "son"),
        ("erik", "kim", "parent", "son"),
        ("kim", "carl", "father", "child"),
        ("dan", "bert", "grandfather", "grandson"),
        ("kim", "beth", "grandmother", "grandchild"),
        ("dina", "adam", "great-grandfather", "great-granddaughter"),
        ("eli", "adam", "2nd great-grandfather", "2nd great-grandson"),
        ("fred", "ada", "3rd great-grandmother", "3rd great-grandson"),
        ("noah", "ada", "4th great-grandmother", "4th great-grandson"),
        # Siblings.
        ("dan", "dina", "sister", "brother"),
        ("dan", "kim", "sibling", "brother"),
        ("elsa", "emil", "brother", "sister"),
        ("eli", "elsa", "half-sister", "half-brother"),
        # Uncles and nephews.
        ("dan", "rosa", "aunt", "nephew"),
        ("kim", "cecil", "uncle", "niece or nephew"),
        ("fritz", "kim", "aunt or uncle", "nephew"),
        ("fred", "elsa", "half-aunt", "half-nephew"),
        ("eli", "rosa", "grand-aunt", "grand-nephew"),
        ("fritz", "cecil", "grand-uncle", "grand-nephew"),
        ("noah", "emil", "half-grand-uncle", "half-grand-nephew"),
        ("fred", "rosa", "great-grand-aunt", "great-grand-nephew"),
        ("noah", "rosa", "2nd great-grand-aunt", "2nd great-grand-nephew"),
        # Cousins.
        ("dan", "sara", "first cousin", "first cousin"),
        ("dan", "ralph", "first cousin", "first cousin"),
        ("fritz", "elsa", "first cousin", "first cousin"),
        ("dan", "greta", "first cousin once removed", "first cousin once removed"),
        ("fred", "fritz", "first cousin once removed", "first cousin once removed"),
        ("dan", "tom", "first cousin twice removed", "first cousin twice removed"),
        ("eli", "greta", "second cousin", "second cousin"),
        ("eli", "tom", "second cousin once removed", "second cousin once removed"),
        ("fred", "tom", "third cousin", "third cousin"),
        ("noah", "ulf", "second cousin three times removed", "second cousin three times removed"),
        # Spouses.
        ("dan", "dora", "wife", "husband"),
        ("dan", "wanda", "ex-wife", "ex-husband"),
        ("sam", "robin", "ex-spouse", "ex-spouse"),
        ("viktor", "vera", "wife", "husband"),
        ("ada", "adam", "late husband", "widow"),
        ("otto", "olga", "wife", "husband"),
        # Adoption, foster and step-parents.
        ("sam", "vera", "adoptive mother", "adoptive child"),
        ("sam", "cecil", "adoptive grandfather", "adoptive grandchild"),
        ("sam", "ralph", "adoptive uncle", "adoptive niece or adoptive nephew"),
        ("sam", "dan", "adoptive first cousin once removed", "adoptive first cousin once removed"),
        ("ingo", "frida", "foster mother", "foster son"),
        ("ingo", "dina", "foster grandmother", "foster grandson"),
        ("ingo", "stan", "step-father", "step-son"),
        ("ingo", "paul", "step-brother", "step-brother"),
        ("eli", "dora", "step-mother", "step-son"),
        ("eli", "stan", "step-father", "step-son"),
        ("eli", "paul", "step-brother", "step-brother"),
        ("fred", "stan", "step-grandfather", "step-grandson"),
        ("fred", "paul", "step-uncle", "step-nephew"),
        # In-laws.
        ("dora", "carl", "father-in-law", "daughter-in-law"),
        ("carl", "olga", "mother-in-law", "son-in-law"),
        ("dora", "bert", "grandfather-in-law", "granddaughter-in-law"),
        ("dora", "dina", "sister-in-law", "sister-in-law"),
        ("dora", "kim", "sibling-in-law", "sister-in-law"),
        ("dan", "dirk", "brother-in-law", "brother-in-law"),
        ("ella", "elsa", "sister-in-law", "sister-in-law"),
        # Relationships without an English term.
        ("wanda", "carl", "father of the ex-husband", "ex-wife of a son"),
        ("emil", "wanda", "ex-wife of the father", "son of the ex-husband"),
        ("sara", "dora", "wife of a first cousin", "first cousin of the husband"),
        ("rosa", "dora", "wife of a nephew", "aunt of the husband"),
        ("dora", "stan", "husband of the ex-wife of the husband", "wife of the ex-husband of the wife"),
        ("bert", "otto", "father of a daughter-in-law", "father of a son-in-law"),
        ("dirk", "dora", "wife of a brother-in-law", "husband of a sister-in-law"),
        ("dan", "stan", "husband of the ex-wife", "ex-husband of the wife"),
        ("kim", "robin", "parent of a son", "parent of a son"),
        ("erik", "sam", "ex-spouse of a parent", "son of the ex-spouse"),
        (
            "nora",
            "viktor",
            "husband of a first cousin three times removed of the husband",
            "wife of a first cousin three times removed of the wife",
        ),
    ],
)
def test_the_terms_of_a_relationship(one, other, name, back):
    assert (relationship(FAMILY, one, other).name, relationship(FAMILY, other, one).name) == (name, back)


@pytest.mark.parametrize(
    ("one", "other", "degree"),
    [
        ("dan", "dan", Degree()),
        ("dan", "jan", Degree()),
        ("dan", "bert", Degree(generations_up=2)),
        ("bert", "dan", Degree(generations_down=2)),
        ("eli", "elsa", Degree(generations_up=1, generations_down=1, half=True)),
        ("eli", "paul", Degree(generations_up=1, generations_down=1, marriages=1)),
        ("dan", "sara", Degree(generations_up=2, generations_down=2, cousin_degree=1, removal=0)),
        ("eli", "tom", Degree(generations_up=3, generations_down=4, cousin_degree=2, removal=1)),
        ("sara", "dora", Degree(generations_up=2, generations_down=2, marriages=1)),
    ],
)
def test_the_degree_of_a_relationship(one, other, degree):
    assert relationship(FAMILY, one, other).degree == degree


def test_the_way_to_a_relative_names_everybody_on_it():
    assert relationship(FAMILY, "vera", "dora").path == [
        Step("vera"),
        Step("cecil", KinshipLink.PARENT, BIOLOGICAL),
        Step("bert", KinshipLink.PARENT, BIOLOGICAL),
        Step("carl", KinshipLink.CHILD, BIOLOGICAL),
        Step("dan", KinshipLink.CHILD, BIOLOGICAL),
        Step("dora", KinshipLink.SPOUSE, MARRIED),
    ]


def test_the_way_back_is_the_same_way():
    assert relationship(FAMILY, "dora", "vera").path == [
        Step("dora"),
        Step("dan", KinshipLink.SPOUSE, MARRIED),
        Step("carl", KinshipLink.PARENT, BIOLOGICAL),
        Step("bert", KinshipLink.PARENT, BIOLOGICAL),
        Step("cecil", KinshipLink.CHILD, BIOLOGICAL),
        Step("vera", KinshipLink.CHILD, BIOLOGICAL),
    ]


@pytest.mark.parametrize(
    ("couples", "children", "one", "other", "name"),
    [
        ("\ndan vera MARRIED", CHILDREN, "dan", "vera", "wife"),
        ("\ndina ralph MARRIED", CHILDREN, "dan", "ralph", "first cousin"),
        (
            "",
            "\nBIOLOGICAL adam > bert\nBIOLOGICAL bert > carl\nADOPTIVE adam > carl",
            "carl",
            "adam",
            "adoptive father",
        ),
        ("", "\nADOPTIVE adam > bert\nBIOLOGICAL adam > bert\nSTEP adam > bert", "bert", "adam", "father"),
        ("", "\nBIOLOGICAL adam > bert carl\nADOPTIVE ada > bert\nFOSTER beth > bert carl", "bert", "carl", "brother"),
        ("", "\nBIOLOGICAL adam ada > bert\nBIOLOGICAL adam > carl", "bert", "carl", "half-brother"),
        ("", "\nBIOLOGICAL adam ada > bert\nADOPTIVE adam ada > carl", "bert", "carl", "adoptive brother"),
        (
            "",
            "\nBIOLOGICAL adam > dan\nADOPTIVE bert > dan\nBIOLOGICAL bert ada > eli",
            "dan",
            "eli",
            "adoptive brother",
        ),
        ("\ndan dora DIVORCED\ndora dan MARRIED", "", "dan", "dora", "wife"),
        ("\ndan dora MARRIED\ndan dora DIVORCED", "", "dan", "dora", "wife"),
        ("\nrobin sam WIDOWED", "", "robin", "sam", "spouse"),
        ("\nadam robin WIDOWED", "", "adam", "robin", "surviving spouse"),
    ],
)
def test_the_closest_of_several_relationships_is_told(couples, children, one, other, name):
    assert relationship(a_family(couples, children), one, other).name == name


def test_full_cousins_are_told_before_half_cousins_by_another_way():
    ways = """
BIOLOGICAL adam ada > bert
BIOLOGICAL adam beth > carl
BIOLOGICAL otto olga > clara cora
BIOLOGICAL bert clara > dan
BIOLOGICAL carl cora > eli
"""
    half = ways.replace("BIOLOGICAL otto olga > clara cora\n", "")

    assert relationship(a_family("", ways), "dan", "eli").name == "first cousin"
    assert relationship(a_family("", half), "dan", "eli").name == "half first cousin"


def test_a_relationship_with_a_long_term_has_only_a_path():
    chain = "\nadam ada MARRIED\nada bert DIVORCED\nbert beth MARRIED\nbeth carl DIVORCED"

    far = relationship(a_family(chain, ""), "adam", "carl")

    assert far.name == "related by marriage"
    assert [step.person_id for step in far.path] == ["adam", "ada", "bert", "beth", "carl"]


@pytest.mark.parametrize(
    ("up", "down", "name"),
    [
        (12, 0, "10th great-grandparent"),
        (13, 0, "11th great-grandparent"),
        (23, 1, "20th great-grand-aunt or 20th great-grand-uncle"),
        (11, 11, "tenth cousin"),
        (13, 22, "12th cousin 9 times removed"),
        (2, 10, "first cousin eight times removed"),
    ],
)
def test_far_relatives_are_counted(up, down, name):
    assert kin_name(up, down, UNKNOWN) == name


def test_ordinals_end_as_they_are_spoken():
    numbers = (1, 2, 3, 4, 11, 12, 13, 21, 22, 23, 101, 111)
    expected = ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "22nd", "23rd", "101st", "111th"]

    assert [ordinal(number) for number in numbers] == expected
