"""Importing GEDCOM files: nothing is lost, and nothing is added twice."""

import base64
from itertools import count

import pytest
from ansel.encodings import gedcom as ansel

from datastore.client.writes import Update
from datastore.genealogy import Gender, MarriageStatus, ParentageKind, Person, TreeRole
from datastore.model.times import now
from tests.resolvers.genealogy.commands import ADD_CHILD, NO_TREE, ONLY_EDITORS, a_tree, stored
from tests.resolvers.genealogy.gedcom_files import (
    FILE,
    IMPORT,
    IMPORTED_BEFORE,
    VERSIONS,
    by_name,
    export,
    family_in,
    import_text,
    imported,
    many_people,
)
from tests.resolvers.genealogy.test_visibility import items
from tests.resolvers.neighborhoods.test_site_commands import NO_ACCOUNT, UNAUTHENTICATED
from tests.support.fault_proxy import FOR_EVER, EndsAfterFault, cut_after, error_500
from tests.support.graph import id_of, problem, viewer_of


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
    # Reads the existing people, writes everything in one transaction, then updates the tree.
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


async def test_importing_twice_is_recognized(graph, kindred):
    owner, tree, _ = await imported(graph, kindred)
    before = await items(graph)

    again = await import_text(graph, owner, tree)
    dry = await import_text(graph, owner, tree, dryRun=True)

    assert again == dry == {"tree": None, "report": None, "problems": [IMPORTED_BEFORE]}
    assert await items(graph) == before


async def test_a_dry_run_returns_the_same_report_and_writes_nothing(graph, kindred):
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
async def test_invalid_files_are_refused(graph, kindred, given, message):
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


@pytest.mark.parametrize("fault", [error_500, cut_after])
async def test_an_interrupted_import_is_completed_by_sending_it_again(
    graph, faulty_graph, proxy, kindred, engine_name, fault
):
    if fault is cut_after and engine_name == "moto":
        pytest.skip("moto ignores ClientRequestToken, so there a lost answer counts twice")
    number = 40 if engine_name != "moto" else 30
    text = many_people(number)
    owner, whole = await a_tree(kindred)
    await import_text(graph, owner, whole, text)
    for good_ones in range(10) if engine_name != "moto" else [1]:
        tree = await kindred.tree(owner)
        seen = count()
        proxy.will("TransactWriteItems", fault, FOR_EVER, when=lambda _, at=good_ones, seen=seen: next(seen) >= at)
        faulty_graph.usage = lambda: EndsAfterFault(proxy=proxy)
        cut = await import_text(faulty_graph, owner, tree, text)
        proxy.recover()
        if not cut["problems"]:
            break
        message = "the import ran out of time; send the file again to complete it"
        assert cut["problems"] == [problem("UNAVAILABLE", message, "input", "content")]
        assert (await stored(graph, tree)).person_count == len(await by_name(graph, tree))

        # If only the last response was lost, the import is complete.
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


async def test_impossible_links_are_reported_with_their_lines(graph, kindred):
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
