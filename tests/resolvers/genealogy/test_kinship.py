"""Families: who is whose relative, how far away, and what English calls it."""

from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from datastore.genealogy import Gender, MarriageStatus, ParentageKind
from resolvers.genealogy.kinship.family import CommonAncestor, Family, Marriage, Member, Parentage, Relative
from resolvers.genealogy.kinship.paths import Link, Step
from resolvers.genealogy.kinship.relationship import Degree, relationship
from resolvers.genealogy.kinship.terms import NOT_RELATED, kin_name, ordinal

# Machines are busy at times.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

MALE, FEMALE, UNKNOWN = Gender.MALE, Gender.FEMALE, Gender.UNKNOWN
BIOLOGICAL, ADOPTIVE = ParentageKind.BIOLOGICAL, ParentageKind.ADOPTIVE
MARRIED, DIVORCED, WIDOWED = MarriageStatus.MARRIED, MarriageStatus.DIVORCED, MarriageStatus.WIDOWED

MEN = "adam bert carl cecil dan dirk eli emil erik fred fritz ingo jan noah otto paul ralph stan tom uwe ulf viktor"
WOMEN = "ada beth clara cora dora dina ella elsa frida greta nora olga rosa sara tina vera wanda"
NEITHER = "kim robin sam"
DEAD = "adam otto olga"

COUPLES = """
adam ada WIDOWED
bert beth MARRIED
carl clara MARRIED
cecil cora MARRIED
dan wanda DIVORCED
dan dora MARRIED
stan wanda MARRIED
dirk dina MARRIED
otto olga WIDOWED
eli ella MARRIED
viktor vera SEPARATED
noah nora MARRIED
sam robin DIVORCED
"""

# Carl and Cecil are brothers, and their wives Clara and Cora are sisters.
CHILDREN = """
BIOLOGICAL adam ada > bert tina
BIOLOGICAL bert beth > carl cecil rosa
BIOLOGICAL otto olga > clara cora
BIOLOGICAL carl clara > dan dina kim
BIOLOGICAL cecil cora > ralph vera
BIOLOGICAL rosa > sara
BIOLOGICAL sara > greta
BIOLOGICAL greta > tom
BIOLOGICAL dan wanda > eli
BIOLOGICAL dan dora > elsa emil
BIOLOGICAL stan > paul
BIOLOGICAL dirk dina > fritz frida
BIOLOGICAL eli ella > fred
BIOLOGICAL tina > uwe
BIOLOGICAL uwe > ulf
BIOLOGICAL fred > noah
BIOLOGICAL kim robin > erik
ADOPTIVE viktor vera > sam
STEP stan > ingo
FOSTER frida > ingo
"""


def a_family(couples: str, children: str) -> Family:
    """Of those above who are named, and of anybody else."""
    genders = dict.fromkeys(MEN.split(), MALE) | dict.fromkeys(WOMEN.split(), FEMALE)
    marriages = [
        Marriage(one, other, MarriageStatus(status)) for one, other, status in map(str.split, couples.splitlines()[1:])
    ]
    parentages = []
    for line in children.splitlines()[1:]:
        (kind, *parents), young = (side.split() for side in line.split(">"))
        parentages += [Parentage(parent, child, ParentageKind(kind)) for child in young for parent in parents]
    named = dict.fromkeys(name for link in [*parentages, *marriages] for name in link[:2])
    people = [Member(name, genders.get(name, UNKNOWN), deceased=name in DEAD.split()) for name in [*named, "jan"]]
    return Family(people, parentages, marriages)


FAMILY = a_family(COUPLES, CHILDREN)


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
        # What there is no word for.
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
def test_what_one_is_to_another(one, other, name, back):
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
def test_how_far_away_a_relative_is(one, other, degree):
    assert relationship(FAMILY, one, other).degree == degree


def test_the_way_to_a_relative_names_everybody_on_it():
    assert relationship(FAMILY, "vera", "dora").path == [
        Step("vera"),
        Step("cecil", Link.PARENT, BIOLOGICAL),
        Step("bert", Link.PARENT, BIOLOGICAL),
        Step("carl", Link.CHILD, BIOLOGICAL),
        Step("dan", Link.CHILD, BIOLOGICAL),
        Step("dora", Link.SPOUSE, MARRIED),
    ]


def test_the_way_back_is_the_same_way():
    assert relationship(FAMILY, "dora", "vera").path == [
        Step("dora"),
        Step("dan", Link.SPOUSE, MARRIED),
        Step("carl", Link.PARENT, BIOLOGICAL),
        Step("bert", Link.PARENT, BIOLOGICAL),
        Step("cecil", Link.CHILD, BIOLOGICAL),
        Step("vera", Link.CHILD, BIOLOGICAL),
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


def test_what_would_take_too_many_words_is_told_by_the_way_alone():
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


def test_parents_children_and_spouses_come_with_how_they_are_that():
    assert dict(FAMILY.parents("sam")) == {"viktor": ADOPTIVE, "vera": ADOPTIVE}
    assert dict(FAMILY.children("kim")) == {"erik": BIOLOGICAL}
    assert dict(FAMILY.spouses("dan")) == {"wanda": DIVORCED, "dora": MARRIED}
    assert [list(ask("nobody")) for ask in (FAMILY.parents, FAMILY.children, FAMILY.spouses)] == [[], [], []]


def test_siblings_share_all_parents_and_half_siblings_some():
    assert (FAMILY.siblings("dan"), FAMILY.half_siblings("dan")) == (["dina", "kim"], [])
    assert (FAMILY.siblings("elsa"), FAMILY.half_siblings("elsa")) == (["emil"], ["eli"])
    assert (FAMILY.siblings("ingo"), FAMILY.half_siblings("ingo")) == ([], [])


def test_children_are_in_the_order_of_birth_and_fathers_before_mothers():
    people = [
        Member("mother", FEMALE),
        Member("father", MALE),
        Member("unborn"),
        Member("second", born="1952-01-01.1"),
        Member("first", born="1950-05-15.3"),
        Member("foster father", MALE),
    ]
    links = [Parentage(parent, child) for child in ("unborn", "second", "first") for parent in ("mother", "father")]
    family = Family(people, [Parentage("foster father", "first", ParentageKind.FOSTER), *links], [])

    assert list(family.children("mother")) == ["first", "second", "unborn"]
    assert list(family.parents("first")) == ["father", "mother", "foster father"]
    assert family.siblings("second") == ["first", "unborn"]


def test_ancestors_and_descendants_are_counted_by_generation():
    assert FAMILY.ancestors("dan", 2) == [
        Relative("carl", 1),
        Relative("clara", 1),
        Relative("bert", 2),
        Relative("beth", 2),
        Relative("otto", 2),
        Relative("olga", 2),
    ]
    assert FAMILY.ancestors("dan")[6:] == [Relative("adam", 3), Relative("ada", 3)]
    assert FAMILY.descendants("dan") == [
        Relative("eli", 1),
        Relative("elsa", 1),
        Relative("emil", 1),
        Relative("fred", 2),
        Relative("noah", 3),
    ]
    assert FAMILY.descendants("dan", 0) == []
    assert FAMILY.ancestors("nobody") == []


def test_step_and_foster_parents_are_ancestors_for_those_who_ask_for_them():
    assert FAMILY.ancestors("ingo") == []
    assert FAMILY.ancestors("ingo", 1, ParentageKind) == [Relative("stan", 1), Relative("frida", 1)]


def test_an_ancestor_by_two_lines_is_told_once_in_the_nearest_generation():
    family = a_family("", "\nBIOLOGICAL adam > bert carl\nBIOLOGICAL bert > dan\nBIOLOGICAL carl dan > eli")

    assert family.ancestors("eli") == [
        Relative("carl", 1),
        Relative("dan", 1),
        Relative("adam", 2),
        Relative("bert", 2),
    ]


def test_common_ancestors_are_told_from_the_nearest_on():
    assert FAMILY.common_ancestors("eli", "sara") == [
        CommonAncestor("bert", 3, 2),
        CommonAncestor("beth", 3, 2),
        CommonAncestor("adam", 4, 3),
        CommonAncestor("ada", 4, 3),
    ]
    assert FAMILY.common_ancestors("eli", "jan") == []


def test_the_family_around_somebody_has_the_links_between_whom_it_shows():
    near = FAMILY.around("eli", 1)

    assert near.people == [
        Relative("eli", 0),
        Relative("dan", -1),
        Relative("wanda", -1),
        Relative("fred", 1),
        Relative("ella", 0),
        Relative("dora", -1),
        Relative("stan", -1),
    ]
    assert near.parentages == [
        Parentage("dan", "eli"),
        Parentage("wanda", "eli"),
        Parentage("eli", "fred"),
        Parentage("ella", "fred"),
    ]
    assert near.marriages == [
        Marriage("dan", "wanda", DIVORCED),
        Marriage("dan", "dora"),
        Marriage("eli", "ella"),
        Marriage("wanda", "stan"),
    ]
    assert near.left_out == 0


def test_the_family_around_somebody_says_how_many_it_leaves_out():
    near = FAMILY.around("eli", 1, most=3)

    assert [person.person_id for person in near.people] == ["eli", "dan", "wanda"]
    assert (len(near.parentages), len(near.marriages), near.left_out) == (2, 1, 4)
    assert FAMILY.around("nobody", 1) == ([], [], [], 0)


def test_links_to_nobody_and_to_oneself_are_none():
    family = Family([Member("a")], [Parentage("a", "a"), Parentage("a", "b")], [Marriage("a", "a"), Marriage("b", "a")])

    assert (dict(family.children("a")), dict(family.spouses("a"))) == ({}, {})


def test_somebody_who_is_their_own_ancestor_stops_nothing():
    family = a_family("\nadam carl MARRIED", "\nBIOLOGICAL adam > bert\nBIOLOGICAL bert > carl\nBIOLOGICAL carl > adam")

    assert family.ancestors("adam") == [Relative("carl", 1), Relative("bert", 2)]
    assert family.descendants("adam") == [Relative("bert", 1), Relative("carl", 2)]
    assert family.common_ancestors("adam", "bert") == [CommonAncestor("carl", 1, 2)]
    assert relationship(family, "adam", "carl").name == "father"
    assert len(family.around("adam", 10).people) == 3


def test_five_thousand_generations_are_no_more_than_a_long_way():
    people = [Member(f"{number:04d}", MALE) for number in range(5_000)]
    line = [Parentage(f"{number:04d}", f"{number + 1:04d}") for number in range(4_999)]
    family = Family(people, line, [])

    far = relationship(family, "4999", "0000")

    assert (far.name, far.degree, len(far.path)) == ("4997th great-grandfather", Degree(generations_up=4_999), 5_000)
    assert family.ancestors("4999")[-1] == Relative("0000", 4_999)
    assert family.descendants("0000")[-1] == Relative("4999", 4_999)
    assert len(family.common_ancestors("4999", "4998")) == 4_998
    assert len(family.around("2500", 5_000, most=10_000).people) == 5_000


IDS = st.sampled_from("abcdefghi")
FAMILIES = st.builds(
    Family,
    st.just([Member(name, gender) for name, gender in zip("abcdefghi", [*Gender] * 3, strict=False)]),
    st.lists(st.builds(Parentage, IDS, IDS, st.sampled_from(ParentageKind)), max_size=14),
    st.lists(st.builds(Marriage, IDS, IDS, st.sampled_from(MarriageStatus)), max_size=4),
)
TURNED = {Link.PARENT: Link.CHILD, Link.CHILD: Link.PARENT, Link.SPOUSE: Link.SPOUSE}


@unhurried
@given(FAMILIES, IDS, IDS)
def test_two_people_see_the_same_relationship_from_both_ends(family, one, other):
    there, back = relationship(family, one, other), relationship(family, other, one)

    assert [step.person_id for step in there.path] == [step.person_id for step in reversed(back.path)]
    assert [step.link for step in there.path[1:]] == [TURNED[step.link] for step in reversed(back.path[1:])]
    assert there.degree == back.degree._replace(
        generations_up=back.degree.generations_down, generations_down=back.degree.generations_up
    )


@unhurried
@given(FAMILIES, IDS, IDS)
def test_every_step_of_the_way_is_a_link_of_the_family(family, one, other):
    path = relationship(family, one, other).path

    for before, step in pairwise(path):
        links = {Link.PARENT: family.parents, Link.CHILD: family.children, Link.SPOUSE: family.spouses}
        assert links[step.link](before.person_id)[step.person_id] is step.nature


@unhurried
@given(FAMILIES, IDS, IDS)
def test_whom_any_links_connect_are_related(family, one, other):
    connected = {person.person_id for person in family.around(one, 100).people}
    for _ in "abcdefghi":
        connected |= {person.person_id for near in connected for person in family.around(near, 100).people}

    assert (relationship(family, one, other).name != NOT_RELATED) == (other in connected)


def lengths_from(family: Family, one: str) -> dict[str, int]:
    """Of the shortest ways to everybody, found by trying every link again until nothing gets shorter."""
    lengths = {(one, False): 0}
    for _ in range(4 * len(family.people)):
        for (near, goes_down), length in list(lengths.items()):
            further = [((each, False), length + (3 if goes_down else 1)) for each in family.parents(near)]
            further += [((each, True), length + 1) for each in family.children(near)]
            further += [((each, False), length + 2) for each in family.spouses(near)]
            for state, longer in further:
                lengths[state] = min(longer, lengths.get(state, longer))
    return {each: min(lengths[key] for key in lengths if key[0] == each) for each, _ in lengths}


def length_of(path: list[Step]) -> int:
    turns = sum((one.link, two.link) == (Link.CHILD, Link.PARENT) for one, two in pairwise(path))
    return len(path) - 1 + 2 * turns + sum(step.link is Link.SPOUSE for step in path)


@unhurried
@given(FAMILIES, IDS)
def test_no_way_is_shorter(family, one):
    ways = {other: relationship(family, one, other).path for other in "abcdefghi"}

    assert {other: length_of(path) for other, path in ways.items() if path} == lengths_from(family, one)


@unhurried
@given(FAMILIES, IDS, IDS)
def test_no_common_ancestor_is_nearer_than_the_relationship(family, one, other):
    degree = relationship(family, one, other).degree

    for ancestor in family.common_ancestors(one, other):
        way = ancestor.generations + ancestor.other_generations
        assert degree.generations_up + degree.generations_down + 2 * degree.marriages <= way


@unhurried
@given(FAMILIES, IDS, IDS)
def test_whose_ancestor_somebody_is_that_is_their_descendant(family, one, other):
    up = [generation for person_id, generation in family.ancestors(one) if person_id == other]
    down = [generation for person_id, generation in family.descendants(other) if person_id == one]

    assert up == down
    assert (other in family.siblings(one)) == (one in family.siblings(other))
    assert (other in family.half_siblings(one)) == (one in family.half_siblings(other))
