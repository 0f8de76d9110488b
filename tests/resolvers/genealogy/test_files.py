"""GEDCOM files into trees and out of them: nothing is lost, nothing is doubled, and what was changed shows."""

import base64
from collections import Counter
from itertools import count
from typing import Any

import pytest
from ansel.encodings import gedcom as ansel

from datastore.accounts import User
from datastore.client.writes import Update
from datastore.genealogy import Gender, Marriage, MarriageStatus, Parentage, ParentageKind, Person, Tree, TreeRole
from datastore.model.times import now
from loaders.viewer import ANONYMOUS
from tests.resolvers.genealogy.test_link_commands import ADD_CHILD
from tests.resolvers.genealogy.test_tree_commands import NO_TREE, ONLY_EDITORS, a_tree, stored
from tests.resolvers.genealogy.test_visibility import items
from tests.resolvers.neighborhoods.test_site_commands import NO_ACCOUNT, UNAUTHENTICATED
from tests.support.fault_proxy import FOR_EVER, cut_after, error_500
from tests.support.genealogy import Kindred
from tests.support.graph import Graph, id_of, mutation, problem, viewer_of

IMPORT = mutation(
    "importGedcom",
    """tree { personCount rootPerson { firstName } } report {
        version encoding lineCount personCount familyCount otherRecordCount mappedCount keptCount refusedCount
        repairedCount refused { line tag reason } repaired { line tag reason } }""",
)
EXPORT = "query ($id: ID!, $version: GedcomVersion!) { exportGedcom(treeId: $id, version: $version) }"
VERSIONS = ["V5_5_1", "V7_0"]
both_versions = pytest.mark.parametrize("version", VERSIONS)

FILE = """\
0 HEAD
1 SOUR Stammbaum
2 VERS 3.1
1 SUBM @U1@
1 GEDC
2 VERS 5.5.1
2 FORM LINEAGE-LINKED
1 CHAR UTF-8
1 NOTE Aus dem Dachboden.
0 @U1@ SUBM
1 NAME Änne Müller
0 @I1@ INDI
1 NAME Johann Sebastian /Bach/
2 SOUR @S1@
3 PAGE 12
1 SEX M
1 BIRT
2 DATE @#DJULIAN@ 21 MAR 1685
2 PLAC Eisenach
2 SOUR @S1@
1 DEAT
2 DATE 28 JUL 1750
2 PLAC Leipzig
1 OCCU Kantor
2 DATE FROM 1723 TO 1750
1 NOTE Er schrieb viel.
2 CONT Sehr viel.
1 _UID 0815-ÄÖÜ
1 FAMS @F1@
1 FAMS @F2@
0 @I2@ INDI
1 NAME Maria Barbara /Bach/
1 SEX F
1 DEAT Y
1 FAMS @F1@
0 @I3@ INDI
1 NAME Anna Magdalena /Wilcke/
1 SEX F
1 BIRT
2 DATE ABT 1701
1 FAMS @F2@
0 @I4@ INDI
1 NAME Wilhelm Friedemann /Bach/
1 SEX M
1 BIRT
2 DATE 22 NOV 1710
1 FAMC @F1@
0 @I5@ INDI
1 NAME Johann Christian /Bach/
1 SEX M
1 FAMC @F2@
2 PEDI adopted
1 EVEN Reise
2 TYPE Travel
2 _WEG nach London
0 @F1@ FAM
1 HUSB @I1@
1 WIFE @I2@
1 CHIL @I4@
1 MARR
2 DATE 17 OCT 1707
2 PLAC Dornheim
2 SOUR @S1@
1 _STAT Ended
0 @F2@ FAM
1 HUSB @I1@
1 WIFE @I3@
1 CHIL @I5@
1 DIV Y
0 @S1@ SOUR
1 TITL Kirchenbuch von Örtlich
1 REPO @R1@
0 @R1@ REPO
1 NAME Das Archiv
0 TRLR
"""


async def import_text(graph: Graph, user: User, tree: Tree, text: str = FILE, **given: Any) -> dict[str, Any]:
    return await graph.command(IMPORT, viewer_of(user), treeId=id_of(tree), content=text, **given)


async def imported(graph: Graph, kindred: Kindred, text: str = FILE) -> tuple[User, Tree, dict[str, Person]]:
    """An owner, a tree with the file in it, and the people by their names."""
    owner, tree = await a_tree(kindred)
    payload = await import_text(graph, owner, tree, text)
    assert payload["problems"] == []
    return owner, tree, await by_name(graph, tree)


async def by_name(graph: Graph, tree: Tree) -> dict[str, Person]:
    page = await graph.table.query(Person.of_tree(tree_id=tree.tree_id), limit=1_000)
    return {name_of(person): person for person in page.records if person.deleted_at is None}


def name_of(person: Person) -> str:
    return " ".join(filter(None, (person.first_name, person.middle_name)))


async def export(graph: Graph, user: User | None, tree: Tree, version: str = "V5_5_1") -> str:
    viewer = viewer_of(user) if user else ANONYMOUS
    text: str = (await graph.ask(EXPORT, viewer, id=id_of(tree), version=version)).data["exportGedcom"]
    return text


async def family_in(graph: Graph, tree: Tree) -> dict[str, Any]:
    """All that is said of everybody and of all links, by names: whatever tree it is in."""
    page = await graph.table.query(Person.of_tree(tree_id=tree.tree_id), limit=1_000)
    full = [await stored(graph, person) for person in page.records]
    names = {person.person_id: name_of(person) for person in full}
    links = await graph.table.query(Parentage.of_tree(tree_id=tree.tree_id), limit=1_000)
    couples = await graph.table.query(Marriage.of_tree(tree_id=tree.tree_id), limit=1_000)
    return {
        "people": {names[person.person_id]: [getattr(person, name) for name in PERSON_FIELDS] for person in full},
        "parents": {
            (names[link.parent_id], names[link.child_id]): (link.kind, link.adoption_date, link.notes)
            for link in links.records
        },
        "couples": {
            frozenset((names[link.person1_id], names[link.person2_id])): [getattr(link, name) for name in COUPLE_FIELDS]
            for link in couples.records
        },
        "knows": {
            names[person.person_id]: (sorted(names[each] for each in person.parent_ids), person.biological_parents)
            for person in full
        },
    }


PERSON_FIELDS = ["first_name", "middle_name", "last_name", "birth_name", "preferred_name", "suffix", "gender"]
PERSON_FIELDS += ["birth_date", "birth_place", "death_date", "death_place", "is_deceased", "biography", "photo_url"]
COUPLE_FIELDS = ["status", "marriage_date", "marriage_place", "divorce_date", "notes"]


async def test_a_file_becomes_people_and_links(graph, kindred):
    owner, tree = await a_tree(kindred)

    asked = await graph.ask(IMPORT, viewer_of(owner), input={"treeId": id_of(tree), "content": FILE})

    payload = asked.data["importGedcom"]
    assert payload["problems"] == []
    assert payload["tree"] == {"personCount": 5, "rootPerson": {"firstName": "Johann"}}
    counts = {"lineCount": 75, "personCount": 5, "familyCount": 2, "otherRecordCount": 3}
    said = {name: payload["report"][name] for name in counts}
    assert said == counts
    told = ("version", "encoding", "refusedCount", "repairedCount", "refused", "repaired")
    assert [payload["report"][name] for name in told] == ["5.5.1", "UTF-8", 0, 0, [], []]
    family = await family_in(graph, tree)
    assert family["people"]["Johann Sebastian"] == [
        "Johann",
        "Sebastian",
        "Bach",
        None,
        None,
        None,
        Gender.MALE,
        "JULIAN 21 MAR 1685",
        "Eisenach",
        "1750-07-28",
        "Leipzig",
        True,
        "Er schrieb viel.\nSehr viel.",
        None,
    ]
    both = ["Johann Sebastian", "Maria Barbara"]
    assert family["parents"] == {
        ("Johann Sebastian", "Wilhelm Friedemann"): (ParentageKind.BIOLOGICAL, None, None),
        ("Maria Barbara", "Wilhelm Friedemann"): (ParentageKind.BIOLOGICAL, None, None),
        ("Johann Sebastian", "Johann Christian"): (ParentageKind.ADOPTIVE, None, None),
        ("Anna Magdalena", "Johann Christian"): (ParentageKind.ADOPTIVE, None, None),
    }
    assert family["knows"]["Wilhelm Friedemann"] == (both, 2)
    assert family["knows"]["Johann Christian"] == (["Anna Magdalena", "Johann Sebastian"], 0)
    assert family["couples"] == {
        frozenset(both): [MarriageStatus.MARRIED, "1707-10-17", "Dornheim", None, None],
        frozenset(("Johann Sebastian", "Anna Magdalena")): [MarriageStatus.DIVORCED, None, None, None, None],
    }
    # Who is there already is looked for, and everything is written at once; then the tree says so.
    assert asked.calls["TransactWriteItems"] == 3
    assert asked.calls["Query"] == 2


ENCODINGS = {
    "UTF-16LE with its mark": ("UNICODE", lambda text: text.encode("utf-16")),
    "UTF-16BE without": ("UNICODE", lambda text: text.encode("utf-16-be")),
    "Latin-1": ("ANSI", lambda text: text.encode("latin-1")),
    "ANSEL": ("ANSEL", lambda text: ansel.Codec().encode(text)[0]),
    "UTF-8 with its mark": ("UTF-8", lambda text: text.encode("utf-8-sig")),
    "Windows line ends": ("UTF-8", lambda text: text.replace("\n", "\r\n").encode()),
}


@pytest.mark.parametrize("encoding", ENCODINGS)
async def test_a_file_in_another_encoding_is_the_same_file(graph, kindred, encoding):
    owner, tree = await a_tree(kindred)
    plain = await kindred.tree(owner)
    await import_text(graph, owner, plain)
    name, encode = ENCODINGS[encoding]
    content = base64.b64encode(encode(FILE.replace("CHAR UTF-8", f"CHAR {name}"))).decode()

    payload = await import_text(graph, owner, tree, content, isBase64=True)
    again = await import_text(graph, owner, plain, content, isBase64=True)

    assert payload["problems"] == []
    assert (payload["report"]["refused"], payload["report"]["repaired"]) == ([], [])
    assert await family_in(graph, tree) == await family_in(graph, plain)
    assert again["problems"] == [IMPORTED_BEFORE]
    for version in VERSIONS:
        assert await export(graph, owner, tree, version) == await export(graph, owner, plain, version)


IMPORTED_BEFORE = problem("TAKEN", "this file is already imported into this tree", "input", "content")


async def test_importing_twice_is_recognised(graph, kindred):
    owner, tree, _ = await imported(graph, kindred)
    before = await items(graph)

    again = await import_text(graph, owner, tree)
    dry = await import_text(graph, owner, tree, dryRun=True)

    assert again == dry == {"tree": None, "report": None, "problems": [IMPORTED_BEFORE]}
    assert await items(graph) == before


async def test_a_dry_run_says_the_same_and_writes_nothing(graph, kindred):
    owner, tree = await a_tree(kindred)
    before = await items(graph)

    dry = await import_text(graph, owner, tree, dryRun=True)

    assert await items(graph) == before
    assert dry["tree"] == {"personCount": 0, "rootPerson": None}
    assert dry["report"] == (await import_text(graph, owner, tree))["report"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"content": "nonsense"}, "the file has no people: a GEDCOM file has INDI records"),
        ({"content": ""}, "the file has no people: a GEDCOM file has INDI records"),
        ({"content": "0 HEAD\n0 @F1@ FAM\n0 TRLR"}, "the file has no people: a GEDCOM file has INDI records"),
        ({"content": "%%%", "isBase64": True}, "this is not base64"),
        ({"content": FILE, "isBase64": True}, "this is not base64"),
    ],
)
async def test_what_is_not_a_file(graph, kindred, given, message):
    owner, tree = await a_tree(kindred)
    before = await items(graph)

    payload = await graph.command(IMPORT, viewer_of(owner), treeId=id_of(tree), **given)

    assert payload["problems"] == [problem("INVALID", message, "input", "content")]
    assert await items(graph) == before


async def test_who_may_import(graph, kindred):
    owner, tree = await a_tree(kindred)
    reader, editor, stranger = [await kindred.user(name) for name in ("reader", "editor", "stranger")]
    await kindred.share(tree, reader)
    await kindred.share(tree, editor, TreeRole.EDITOR)
    given = {"treeId": id_of(tree), "content": FILE}
    before = await items(graph)

    assert (await graph.command(IMPORT, **given))["problems"] == [UNAUTHENTICATED]
    assert (await graph.command(IMPORT, viewer_of(stranger), **given))["problems"] == [NO_TREE]
    forbidden = problem("FORBIDDEN", ONLY_EDITORS, "input", "treeId")
    assert (await graph.command(IMPORT, viewer_of(reader), **given))["problems"] == [forbidden]
    assert await items(graph) == before
    assert (await graph.command(IMPORT, viewer_of(editor), **given))["problems"] == []
    await graph.table.update(Update(owner.own_key, set={"deleted_at": now()}))
    other = FILE.replace("Kantor", "Organist")
    assert (await import_text(graph, owner, tree, other))["problems"] == [NO_ACCOUNT]


def many_people(number: int) -> str:
    """A line of descent, each with a spouse."""
    lines = ["0 HEAD", "1 GEDC", "2 VERS 5.5.1"]
    for place in range(number):
        lines += [f"0 @I{place}@ INDI", f"1 NAME P{place} /Line/", f"1 NOTE Life of {place}."]
        lines += [f"0 @S{place}@ INDI", f"1 NAME S{place} /Spouse/"]
    for place in range(number):
        lines += [f"0 @F{place}@ FAM", f"1 HUSB @I{place}@", f"1 WIFE @S{place}@"]
        lines += [f"1 CHIL @I{place + 1}@"] if place + 1 < number else []
    return "\n".join([*lines, "0 TRLR", ""])


@pytest.mark.parametrize("fault", [error_500, cut_after])
async def test_an_import_that_is_cut_anywhere_is_finished_when_it_is_sent_again(
    graph, faulty_graph, proxy, kindred, monkeypatch, engine_name, fault
):
    if fault is cut_after and engine_name == "moto":
        pytest.skip("moto ignores ClientRequestToken, so there a lost answer counts twice")
    number = 40 if engine_name != "moto" else 30
    text = many_people(number)
    owner, whole = await a_tree(kindred)
    await import_text(graph, owner, whole, text)
    # moto takes seconds for what it is not to do in time.
    for good_ones in range(10) if engine_name != "moto" else [1]:
        tree = await kindred.tree(owner)
        seen = count()
        proxy.will("TransactWriteItems", fault, FOR_EVER, when=lambda _, at=good_ones, seen=seen: next(seen) >= at)
        with monkeypatch.context() as hurried:
            hurried.setattr(faulty_graph.services.settings, "request_timeout", 1 if engine_name != "moto" else 15)
            cut = await import_text(faulty_graph, owner, tree, text)
        proxy.recover()
        if not cut["problems"]:
            break
        message = "the import ran out of time; send the file again to complete it"
        assert cut["problems"] == [problem("UNAVAILABLE", message, "input", "content")]
        assert (await stored(graph, tree)).person_count == len(await by_name(graph, tree))

        # Where only the last answer was lost, all of it is there.
        expected = [IMPORTED_BEFORE] if (await stored(graph, tree)).imports else []
        again = await import_text(graph, owner, tree, text)

        assert again["problems"] == expected
        assert (await stored(graph, tree)).person_count == 2 * number
        assert await family_in(graph, tree) == await family_in(graph, whole)
        assert (await import_text(graph, owner, tree, text))["problems"] == [IMPORTED_BEFORE]
        assert await export(graph, owner, tree) == await export(graph, owner, whole)
    assert engine_name == "moto" or good_ones > 2


async def test_an_import_beside_others_is_exact(graph, kindred):
    owner, tree = await a_tree(kindred)
    there = await kindred.person(tree, "There")
    await import_text(graph, owner, tree)
    await import_text(graph, owner, tree, FILE.replace("Kantor", "Organist"))
    await graph.command(ADD_CHILD, viewer_of(owner), parentId=id_of(there), firstName="Child")

    after = await stored(graph, tree)

    page = await graph.table.query(Person.of_tree(tree_id=tree.tree_id), limit=1_000)
    assert after.person_count == len(page.records) == 12
    assert len(after.imports) == 2


REFUSED = """\
0 HEAD
1 GEDC
2 VERS 5.5.1
0 @I1@ INDI
1 NAME One
0 @I2@ INDI
1 NAME Two
0 @I3@ INDI
1 NAME Three
0 @I4@ INDI
1 NAME Four
0 @F1@ FAM
1 HUSB @I1@
1 WIFE @I2@
1 CHIL @I4@
0 @F2@ FAM
1 HUSB @I3@
1 CHIL @I4@
0 @F3@ FAM
1 HUSB @I4@
1 CHIL @I1@
0 @F4@ FAM
1 HUSB @I9@
0 TRLR
"""


async def test_links_that_cannot_be_are_refused_with_their_lines(graph, kindred):
    owner, tree = await a_tree(kindred)

    payload = await import_text(graph, owner, tree, REFUSED)

    assert payload["problems"] == []
    assert payload["report"]["refused"] == [
        {"line": 23, "tag": "HUSB", "reason": "There is no such person."},
        {"line": 18, "tag": "CHIL", "reason": "@I4@ of @I3@: a child has at most two biological parents."},
        {"line": 21, "tag": "CHIL", "reason": "@I1@ of @I4@: a person cannot be their own ancestor."},
    ]
    assert payload["report"]["refusedCount"] == 3
    family = await family_in(graph, tree)
    assert [*family["parents"]] == [("One", "Four"), ("Two", "Four")]


async def test_what_a_file_says_besides_is_said_again(graph, kindred):
    owner, tree, _ = await imported(graph, kindred)

    text = await export(graph, owner, tree)

    # Each name is told in its parts, too.
    added = Counter(text.splitlines()) - Counter(FILE.splitlines())
    assert Counter(FILE.splitlines()) - Counter(text.splitlines()) == {}
    assert {line.split()[1] for line in added} == {"GIVN", "SURN"}
    assert "2 _WEG nach London" in await export(graph, owner, tree, "V7_0")


@both_versions
async def test_an_export_is_imported_and_exported_as_the_same_text(graph, kindred, version):
    owner, tree, _ = await imported(graph, kindred)
    second, third = await kindred.tree(owner), await kindred.tree(owner)

    text = await export(graph, owner, tree, version)
    payload = await import_text(graph, owner, second, text)
    await import_text(graph, owner, third, await export(graph, owner, second, "V7_0"))

    assert (payload["report"]["refused"], payload["report"]["repaired"]) == ([], [])
    assert await export(graph, owner, second, version) == text
    assert await export(graph, owner, third, version) == text
    assert await family_in(graph, second) == await family_in(graph, third) == await family_in(graph, tree)
