"""Exports of imported trees: all content of the file is written again unless it was edited."""

from typing import Any

import pytest

from datastore.genealogy import MarriageStatus, ParentageKind, Tree
from tests.support.graph import Graph, id_of, viewer_of

IMPORT = """mutation ($input: ImportGedcomInput!) { importGedcom(input: $input) {
    tree { personCount } problems { code } } }"""
LINKS = """query ($id: ID!) { tree(by: {id: $id}) {
    parentages { nodes { kind adoptionDate notes parent { firstName } child { firstName } } }
    marriages { nodes { id status marriageDate notes } } } }"""
UNLINK = """mutation ($input: UnlinkSpousesInput!) { unlinkSpouses(input: $input) { problems { message } } }"""

STEP = """\
0 HEAD
1 GEDC
2 VERS 5.5.1
0 @A@ INDI
1 NAME Al
1 SEX M
1 FAMS @F1@
0 @B@ INDI
1 NAME Bea
1 SEX F
1 FAMS @F1@
1 FAMS @F2@
0 @C@ INDI
1 NAME Cy
1 SEX M
1 FAMS @F2@
0 @K@ INDI
1 NAME Kid
1 FAMC @F1@
1 FAMC @F2@
2 PEDI adopted
2 NOTE in court
1 ADOP
2 DATE 5 MAY 1900
2 FAMC @F2@
3 ADOP HUSB
0 @F1@ FAM
1 HUSB @A@
1 WIFE @B@
1 CHIL @K@
1 NOTE of the first
0 @F2@ FAM
1 HUSB @C@
1 WIFE @B@
1 CHIL @K@
0 TRLR
"""


async def imported(graph: Graph, owner: Any, tree: Tree, content: str) -> list[str]:
    """Returns the codes of the problems."""
    payload = await graph.command(IMPORT, viewer_of(owner), treeId=id_of(tree), content=content)
    return [problem["code"] for problem in payload["problems"]]


async def exported(graph: Graph, owner: Any, tree: Tree, version: str = "V5_5_1") -> str:
    query = f"query ($id: ID!) {{ exportGedcom(treeId: $id, version: {version}) }}"
    text: str = (await graph.ask(query, viewer_of(owner), id=id_of(tree))).data["exportGedcom"]
    return text


async def links(graph: Graph, owner: Any, tree: Tree) -> dict[str, Any]:
    return dict((await graph.ask(LINKS, viewer_of(owner), id=id_of(tree))).data["tree"])


async def test_a_child_of_two_families_with_a_common_parent_stays_in_both(graph, kindred):
    owner = await kindred.user("owner")
    tree = await kindred.tree(owner)
    assert await imported(graph, owner, tree, STEP) == []
    found = await links(graph, owner, tree)
    assert {
        each["parent"]["firstName"]: (each["kind"], each["adoptionDate"], each["notes"])
        for each in found["parentages"]["nodes"]
    } == {
        "Al": ("BIOLOGICAL", None, None),
        "Bea": ("BIOLOGICAL", None, None),
        "Cy": ("ADOPTIVE", "1900-05-05", "in court"),
    }
    assert [each["notes"] for each in found["marriages"]["nodes"] if each["notes"]] == ["of the first"]
    text = await exported(graph, owner, tree)
    assert STEP[STEP.index("0 @F1@") :] in text
    assert "1 FAMC @F1@\n1 FAMC @F2@\n2 PEDI adopted\n2 NOTE in court\n" in text
    assert "1 ADOP\n2 DATE 5 MAY 1900\n2 FAMC @F2@\n3 ADOP HUSB\n" in text
    for version in ("V5_5_1", "V7_0"):
        assert await imported(graph, owner, tree, await exported(graph, owner, tree, version)) == ["TAKEN"]


async def test_one_couple_with_two_families_keeps_both(graph, kindred):
    owner = await kindred.user("owner")
    tree = await kindred.tree(owner)
    content = (
        "0 HEAD\n0 @A@ INDI\n1 NAME Al\n0 @B@ INDI\n1 NAME Bea\n"
        "0 @K@ INDI\n1 NAME Kid\n1 FAMC @F1@\n1 FAMC @F2@\n2 PEDI foster\n"
        "0 @F1@ FAM\n1 HUSB @A@\n1 WIFE @B@\n1 CHIL @K@\n1 MARR\n2 DATE 1900\n"
        "0 @F2@ FAM\n1 HUSB @A@\n1 WIFE @B@\n1 CHIL @K@\n1 MARR\n2 DATE 1910\n1 NOTE again\n0 TRLR\n"
    )
    assert await imported(graph, owner, tree, content) == []
    text = await exported(graph, owner, tree)
    assert content[content.index("0 @F1@") :] in text
    assert "1 FAMC @F1@\n1 FAMC @F2@\n2 PEDI foster\n" in text
    assert await imported(graph, owner, tree, text) == ["TAKEN"]


async def test_what_cannot_be_is_still_written(graph, kindred):
    owner = await kindred.user("owner")
    tree = await kindred.tree(owner)
    loop = (
        "0 HEAD\n0 @A@ INDI\n1 NAME Al\n0 @B@ INDI\n1 NAME Ben\n"
        "0 @F1@ FAM\n1 HUSB @A@\n1 CHIL @B@\n0 @F2@ FAM\n1 HUSB @B@\n1 CHIL @A@\n0 TRLR\n"
    )
    assert await imported(graph, owner, tree, loop) == []
    text = await exported(graph, owner, tree)
    assert loop[loop.index("0 @F1@") :] in text
    assert await imported(graph, owner, tree, text) == ["TAKEN"]


ONE = (
    "0 HEAD\n1 NOTE header one\n0 @I1@ INDI\n1 NAME One\n1 SOUR @S1@\n1 ASSO @I9@\n1 FAMS @F1@\n"
    "0 @F1@ FAM\n1 HUSB @I1@\n1 SOUR @S1@\n0 @S1@ SOUR\n1 TITL Source one\n1 NOTE @@I1@\n0 TRLR\n"
)


async def test_two_files_in_one_tree_are_told_apart(graph, kindred):
    owner = await kindred.user("owner")
    tree = await kindred.tree(owner)
    for content in (ONE, ONE.replace("One", "Two").replace("one", "two")):
        assert await imported(graph, owner, tree, content) == []
    text = await exported(graph, owner, tree)
    again = await kindred.tree(owner)
    xrefs = [line.split("@")[1] for line in text.splitlines() if line.startswith("0 @")]
    assert len(xrefs) == len(set(xrefs)) == 8
    second = {tag: _xref_above(text, line) for tag, line in (("I", "1 NAME Two"), ("S", "1 TITL Source two"))}
    assert f"0 @{second['I']}@ INDI\n1 NAME Two\n2 GIVN Two\n1 SOUR @{second['S']}@\n" in text
    assert f"FAM\n1 HUSB @{second['I']}@\n1 SOUR @{second['S']}@\n" in text
    assert "0 @I1@ INDI\n1 NAME One\n2 GIVN One\n1 SOUR @S1@\n1 ASSO @I9@\n" in text
    assert text.count("@I9@") == 1
    assert text.count("1 NOTE @@I1@@\n") == 2
    assert "1 NOTE header one\n" in text
    assert "NOTE The header of another file:\n1 CONT 1 NOTE header two\n" in text
    assert await imported(graph, owner, again, text) == []
    assert await exported(graph, owner, again) == text


def _xref_above(text: str, line: str) -> str:
    return text[: text.index(line)].splitlines()[-1].split("@")[1]


async def test_somebody_who_was_added_gets_no_name_that_a_file_points_to(graph, kindred):
    owner = await kindred.user("owner")
    tree = await kindred.tree(owner)
    pointed = "".join(f"1 ASSO @I{number}@\n" for number in range(2, 9))
    await imported(graph, owner, tree, f"0 HEAD\n0 @I1@ INDI\n1 NAME One\n{pointed}0 TRLR\n")
    await kindred.person(tree, "New")
    text = await exported(graph, owner, tree)
    assert _xref_above(text, "1 NAME New") == "I9"


async def test_what_links_say_is_written_and_comes_back(graph, kindred):
    owner = await kindred.user("owner")
    tree = await kindred.tree(owner)
    al, bea, kid, cy = [await kindred.person(tree, name) for name in ("Al", "Bea", "Kid", "Cy")]
    adopted = {"kind": ParentageKind.ADOPTIVE, "notes": "by both", "adoption_date": "1901-05-05"}
    await kindred.parent(tree, al, kid, **adopted)
    await kindred.parent(tree, bea, kid, **adopted)
    await kindred.parent(tree, cy, kid, notes="by birth")
    said = {"notes": "in haste", "marriage_date": "INT 1899 (or so)", "status": MarriageStatus.WIDOWED}
    await kindred.married(tree, al, bea, **said)
    before = await links(graph, owner, tree)
    for version in ("V5_5_1", "V7_0"):
        copy = await kindred.tree(owner)
        assert await imported(graph, owner, copy, await exported(graph, owner, tree, version)) == []
        after = await links(graph, owner, copy)
        assert _sorted(after["parentages"]["nodes"]) == _sorted(before["parentages"]["nodes"])
        assert [each | {"id": ""} for each in after["marriages"]["nodes"]] == [
            each | {"id": ""} for each in before["marriages"]["nodes"]
        ]


def _sorted(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(found, key=lambda link: str(link["parent"]["firstName"]))


async def test_a_couple_no_more_is_two_families(graph, kindred):
    owner = await kindred.user("owner")
    tree = await kindred.tree(owner)
    content = (
        "0 HEAD\n0 @A@ INDI\n1 NAME Al\n0 @B@ INDI\n1 NAME Bea\n1 SEX F\n0 @K@ INDI\n1 NAME Kid\n"
        "0 @F@ FAM\n1 HUSB @A@\n1 WIFE @B@\n1 CHIL @K@\n1 MARR\n2 DATE 1900\n2 SOUR x\n1 EVEN\n2 TYPE Move\n0 TRLR\n"
    )
    await imported(graph, owner, tree, content)
    (marriage,) = (await links(graph, owner, tree))["marriages"]["nodes"]
    await graph.command(UNLINK, viewer_of(owner), marriageId=marriage["id"])
    text = await exported(graph, owner, tree)
    assert "0 @F@ FAM\n1 HUSB @A@\n1 CHIL @K@\n1 EVEN\n2 TYPE Move\n0 @F" in text
    assert "FAM\n1 WIFE @B@\n1 CHIL @K@\n0 TRLR\n" in text
    copy = await kindred.tree(owner)
    await imported(graph, owner, copy, text)
    found = await links(graph, owner, copy)
    assert found["marriages"]["nodes"] == []
    assert [each["parent"]["firstName"] for each in _sorted(found["parentages"]["nodes"])] == ["Al", "Bea"]


async def test_a_file_is_written_once_in_a_request(graph, kindred):
    owner = await kindred.user("owner")
    tree = await kindred.tree(owner)
    await kindred.person(tree, "Al")
    query = "query ($id: ID!) { %s }"
    one = await graph.ask(query % "exportGedcom(treeId: $id)", viewer_of(owner), id=id_of(tree))
    both = "a: exportGedcom(treeId: $id) b: exportGedcom(treeId: $id) c: exportGedcom(treeId: $id, version: V5_5_1)"
    three = await graph.ask(query % both, viewer_of(owner), id=id_of(tree))
    assert three.calls == one.calls
    assert three.data["a"] == three.data["b"] == one.data["exportGedcom"] != three.data["c"]


@pytest.mark.parametrize("version", ["V5_5_1", "V7_0"])
async def test_an_export_is_known_to_the_tree_it_came_from(graph, kindred, version):
    owner = await kindred.user("owner")
    tree = await kindred.tree(owner)
    dates = [
        "11 FEB 1731/32",
        "INT 1800 (about)",
        "(unknown)",
        "LIVING",
        "Abt. 1900",
        "44 B.C.",
        "@#DJULIAN@ 5 OCT 1700",
    ]
    persons = [
        f"0 @I{n}@ INDI\n1 NAME N{n}\n1 BIRT\n2 DATE {date}\n1 EVEN\n2 DATE {date}" for n, date in enumerate(dates)
    ]
    assert await imported(graph, owner, tree, "\n".join(["0 HEAD", *persons, "0 TRLR"])) == []
    assert await imported(graph, owner, tree, await exported(graph, owner, tree, version)) == ["TAKEN"]
