"""Charts of family trees: their content, and that nothing overlaps or leaves the drawing."""

import re
from itertools import combinations
from xml.etree import ElementTree as ET

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from datastore.genealogy import Gender, ParentageKind
from resolvers.genealogy.chart.layout import HEIGHT, WIDTH, Line, boxes_of
from resolvers.genealogy.chart.svg import Label, tree_picture
from resolvers.genealogy.kinship.family import Family, Member, Parentage

# Test machines may be busy.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

SVG = "{http://www.w3.org/2000/svg}"


def family_of(*links: str, **kinds: ParentageKind) -> Family:
    """Returns a family of links like `ab`, from parent to child, with the kinds by link."""
    people = [Member(person_id, Gender.FEMALE) for person_id in dict.fromkeys("".join(links))]
    return Family(people, [Parentage(*link, kinds.get(link, ParentageKind.BIOLOGICAL)) for link in links], [])


def drawn(family: Family, person_id: str, line: Line, **options: int) -> ET.Element:
    labels = {each: Label(f"Name of {each}", "1950 – 2020") for each in family.people}
    return ET.fromstring(tree_picture(family, labels, person_id, line, **options))


def groups(svg: ET.Element, role: str) -> list[list[str | None]]:
    """Returns the texts of each box of a role."""
    return [
        [text.text for text in group.iter(f"{SVG}text")]
        for group in svg.iter(f"{SVG}g")
        if (group.get("class") or "").split()[0] == role
    ]


def links(svg: ET.Element) -> list[str | None]:
    return [path.get("class") for path in svg.iter(f"{SVG}path")]


THREE_GENERATIONS = family_of("ac", "bc", "cd", "ce", "cf", "fg")


def test_descendants_are_drawn_with_a_link_to_each():
    svg = drawn(THREE_GENERATIONS, "a", Line.DESCENDANTS)

    assert groups(svg, "root") == [["Name of a", "1950 – 2020"]]
    assert [texts[0] for texts in groups(svg, "person")] == [
        "Name of c",
        "Name of d",
        "Name of e",
        "Name of f",
        "Name of g",
    ]
    assert links(svg) == ["link BIOLOGICAL"] * 5


def test_ancestors_are_drawn_with_a_link_to_each():
    svg = drawn(THREE_GENERATIONS, "d", Line.ANCESTORS)

    assert groups(svg, "root") == [["Name of d", "1950 – 2020"]]
    assert [texts[0] for texts in groups(svg, "person")] == ["Name of c", "Name of a", "Name of b"]


def test_a_picture_says_what_it_is_to_those_who_do_not_see_it():
    svg = drawn(THREE_GENERATIONS, "a", Line.DESCENDANTS)

    assert svg.get("role") == "img"
    assert [(child.tag, child.text) for child in svg][:2] == [
        (f"{SVG}title", "Descendants of Name of a"),
        (f"{SVG}desc", "6 people, 4 generations."),
    ]


def test_colors_are_others_in_the_dark():
    style = drawn(THREE_GENERATIONS, "a", Line.DESCENDANTS).findtext(f"{SVG}style") or ""

    light, _, dark = style.partition("@media (prefers-color-scheme: dark)")
    variables = [set(re.findall(r"(--\w+):", part)) for part in (light, dark)]
    assert variables[0] == variables[1] == set(re.findall(r"var\((--\w+)\)", style))


def test_a_picture_says_how_many_are_left_out_and_where():
    svg = drawn(THREE_GENERATIONS, "a", Line.DESCENDANTS, most=3)

    assert svg.findtext(f"{SVG}desc") == "3 people, 3 generations. 3 more people are not shown."
    assert groups(svg, "person") == [["Name of c", "1950 – 2020", "+2"], ["Name of d", "1950 – 2020"]]


def test_a_picture_ends_with_the_generation_asked_for():
    svg = drawn(THREE_GENERATIONS, "a", Line.DESCENDANTS, generations=2)

    assert svg.findtext(f"{SVG}desc") == "5 people, 3 generations. 1 more person is not shown."
    assert groups(svg, "person")[-1] == ["Name of f", "1950 – 2020", "+1"]


def test_somebody_alone_is_a_picture_too():
    svg = drawn(THREE_GENERATIONS, "g", Line.DESCENDANTS, most=0)

    assert svg.findtext(f"{SVG}desc") == "1 person, 1 generation."
    assert (len(groups(svg, "root")), groups(svg, "person"), links(svg)) == (1, [], [])


def test_whom_two_lines_lead_to_is_drawn_once_and_referred_to():
    svg = drawn(family_of("ba", "ca", "db", "dc", "ed"), "a", Line.ANCESTORS)

    assert groups(svg, "person") == [
        ["Name of b", "1950 – 2020"],
        ["Name of c", "1950 – 2020"],
        ["Name of d", "1950 – 2020", "1"],
        ["Name of e", "1950 – 2020"],
    ]
    assert groups(svg, "reference") == [["Name of d", "see 1"]]
    assert svg.findtext(f"{SVG}desc") == "5 people, 4 generations."


def test_somebody_who_is_their_own_ancestor_is_drawn_once():
    svg = drawn(family_of("ab", "bc", "ca"), "a", Line.ANCESTORS)

    assert groups(svg, "root") == [["Name of a", "1950 – 2020", "1"]]
    assert (len(groups(svg, "person")), groups(svg, "reference")) == (2, [["Name of a", "see 1"]])


def test_links_by_other_than_birth_look_different_and_are_explained():
    family = family_of("ba", "ca", "da", ba=ParentageKind.ADOPTIVE, da=ParentageKind.FOSTER)
    svg = drawn(family, "a", Line.ANCESTORS)

    assert links(svg) == ["link BIOLOGICAL", "link ADOPTIVE", "link FOSTER", "link ADOPTIVE", "link FOSTER"]
    assert [text.text for text in svg.findall(f"{SVG}text")][-2:] == ["adoptive", "foster"]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("</text><script>alert(1)</script>", ["</text><script>alert(…"]),
        ("\"'&amp;<b>", ["\"'&amp;<b>"]),
        ("]]><!--", ["]]><!--"]),
        ("A\x00B\x08\ud800\uffffC", ["A B C"]),
        ("Ada\nLovelace", ["Ada Lovelace"]),
        ("", ["?"]),
        ("\x00", ["?"]),
        ("x" * 10_000, ["x" * 17 + "…"]),
        ("Augusta Ada King, Countess of Lovelace", ["Augusta Ada King,", "Countess of Lovela…"]),
        ("Karl Friedrich Hieronymus von Münchhausen", ["Karl Friedrich", "Hieronymus von Mün…"]),
        ("山田太郎山田太郎山田太郎", ["山田太郎山田太郎…"]),
    ],
)
def test_any_name_is_text_that_fits_its_box(name, shown):
    family = family_of("ab")
    svg = ET.fromstring(tree_picture(family, {"a": Label(name), "b": Label("b")}, "a", Line.DESCENDANTS))

    assert groups(svg, "root") == [shown]
    assert {element.tag for element in svg.iter()} == {
        SVG + tag for tag in ("svg", "title", "desc", "style", "rect", "text", "path", "g")
    }


def test_somebody_without_a_label_has_a_box():
    assert groups(ET.fromstring(tree_picture(family_of("ab"), {}, "a", Line.DESCENDANTS)), "person") == [["?"]]


def test_many_children_without_children_stand_below_each_other():
    few, many = (family_of(*(f"a{child}" for child in "bcdefghijklm"[:count])) for count in (8, 9))

    assert len({box.y for box in boxes_of(few, "a", Line.DESCENDANTS, 100)[1:]}) == 1
    assert len({box.y for box in boxes_of(many, "a", Line.DESCENDANTS, 100)[1:]}) == 4
    assert len({box.x for box in boxes_of(many, "a", Line.DESCENDANTS, 100)[1:]}) == 3


PEOPLE = [f"{number:02d}" for number in range(40)]
LINKS = st.lists(st.tuples(st.sampled_from(PEOPLE), st.sampled_from(PEOPLE)), max_size=80)


@unhurried
@given(LINKS, st.sampled_from(Line), st.integers(1, 60))
def test_nothing_overlaps_whatever_the_family_is(pairs, line, most):
    family = Family([Member(each) for each in PEOPLE], [Parentage(*pair) for pair in pairs], [])

    boxes = boxes_of(family, "00", line, most)

    assert len(boxes) <= most
    assert min(box.x for box in boxes) >= 0
    assert min(box.y for box in boxes) >= 0
    for one, other in combinations(boxes, 2):
        assert abs(one.x - other.x) >= WIDTH + 8 or abs(one.y - other.y) >= HEIGHT + 8


@unhurried
@given(LINKS, st.sampled_from(Line))
def test_everybody_in_the_line_is_drawn_once(pairs, line):
    family = Family([Member(each) for each in PEOPLE], [Parentage(*pair) for pair in pairs], [])
    walk = family.ancestors if line is Line.ANCESTORS else family.descendants

    boxes = boxes_of(family, "00", line, 1_000)

    assert sorted(box.person_id for box in boxes if not box.is_reference) == sorted(
        ["00", *(relative.person_id for relative in walk("00"))]
    )


def test_a_line_of_a_thousand_generations_is_drawn():
    people = [Member(f"{number:04d}") for number in range(1_500)]
    family = Family(people, [Parentage(f"{number:04d}", f"{number + 1:04d}") for number in range(1_499)], [])

    svg = drawn(family, "0000", Line.DESCENDANTS, most=1_000)

    assert svg.findtext(f"{SVG}desc") == "1000 people, 1000 generations. 500 more people are not shown."
