"""Relatives in a family: parents, siblings, ancestors, descendants and common ancestors."""

from datastore.genealogy import ParentageKind
from resolvers.genealogy.kinship.family import CommonAncestor, Family, Marriage, Member, Parentage, Relative
from resolvers.genealogy.kinship.relationship import Degree, relationship
from tests.resolvers.genealogy.kinship.sample_family import (
    ADOPTIVE,
    BIOLOGICAL,
    DIVORCED,
    FAMILY,
    FEMALE,
    MALE,
    MARRIED,
    a_family,
)


def test_parents_children_and_spouses_have_a_kind_of_relationship():
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


def test_links_to_missing_people_and_to_oneself_are_ignored():
    family = Family([Member("a")], [Parentage("a", "a"), Parentage("a", "b")], [Marriage("a", "a"), Marriage("b", "a")])

    assert (dict(family.children("a")), dict(family.spouses("a"))) == ({}, {})


def test_a_cycle_of_ancestors_does_not_loop_forever():
    family = a_family("\nadam carl MARRIED", "\nBIOLOGICAL adam > bert\nBIOLOGICAL bert > carl\nBIOLOGICAL carl > adam")

    assert family.ancestors("adam") == [Relative("carl", 1), Relative("bert", 2)]
    assert family.descendants("adam") == [Relative("bert", 1), Relative("carl", 2)]
    assert family.common_ancestors("adam", "bert") == [CommonAncestor("carl", 1, 2)]
    assert relationship(family, "adam", "carl").name == "father"
    assert len(family.around("adam", 10).people) == 3


def test_five_thousand_generations_are_supported():
    people = [Member(f"{number:04d}", MALE) for number in range(5_000)]
    line = [Parentage(f"{number:04d}", f"{number + 1:04d}") for number in range(4_999)]
    family = Family(people, line, [])

    far = relationship(family, "4999", "0000")

    assert (far.name, far.degree, len(far.path)) == ("4997th great-grandfather", Degree(generations_up=4_999), 5_000)
    assert family.ancestors("4999")[-1] == Relative("0000", 4_999)
    assert family.descendants("0000")[-1] == Relative("4999", 4_999)
    assert len(family.common_ancestors("4999", "4998")) == 4_998
    assert len(family.around("2500", 5_000, most=10_000).people) == 5_000
