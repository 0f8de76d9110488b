"""Importing files: impossible links, long texts, and concurrent changes."""

import argparse
import io
import random
import tracemalloc
from collections import Counter
from typing import Any

import pytest

from datastore.genealogy import GedcomPart, Marriage, Parentage, ParentageKind, Person, Tree, TreeRole
from loaders.viewer import Viewer
from resolvers.core.problems import Refused
from resolvers.genealogy.gedcom_command import import_file
from resolvers.genealogy.importing.mapping import Contents, contents_of, read_file
from tests.support.fault_proxy import Answer, Call, EndsAfterFault, error_500, nothing_wrong
from tests.support.graph import Graph, id_of, viewer_of

IMPORT = """mutation ($input: ImportGedcomInput!) { importGedcom(input: $input) {
    tree { personCount } report { refusedCount refused { line tag reason } } problems { code message path } } }"""
EXPORT = "query ($id: ID!) { exportGedcom(treeId: $id, version: V5_5_1) }"
DELETE = "mutation ($input: DeleteTreeInput!) { deleteTree(input: $input) { deletedTreeId problems { message } } }"
UNSHARE = "mutation ($input: UnshareTreeInput!) { unshareTree(input: $input) { problems { message } } }"
CUT_SHORT = "the import ran out of time; send the file again to complete it"


def file_of(*records: str) -> str:
    return "\n".join(["0 HEAD", "1 GEDC", "2 VERS 5.5.1", *records, "0 TRLR", ""])


def people(*xrefs: str) -> list[str]:
    return [f"0 @{xref}@ INDI\n1 NAME {xref}" for xref in xrefs]


def family(xref: str, husband: str, *children: str) -> str:
    return "\n".join([f"0 @{xref}@ FAM", f"1 HUSB @{husband}@", *(f"1 CHIL @{child}@" for child in children)])


def read(content: str) -> Contents:
    return contents_of(Tree(user_id="u", tree_id="t", name="Tree"), read_file(io.BytesIO(content.encode())))


def noise(count: int) -> str:
    """Returns text that compresses badly."""
    chosen = random.Random(count)
    return "".join(chosen.choices("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", k=count))


def long_value(level: int, tag: str, value: str) -> str:
    pieces = [value[start : start + 50_000] for start in range(0, len(value), 50_000)]
    return "\n".join([f"{level} {tag} {pieces[0]}", *(f"{level + 1} CONC {piece}" for piece in pieces[1:])])


async def sent(graph: Graph, user: Any, tree: Tree, content: str) -> dict[str, Any]:
    return await graph.command(IMPORT, viewer_of(user), treeId=id_of(tree), content=content)


async def exported(graph: Graph, user: Any, tree: Tree) -> str:
    text: str = (await graph.ask(EXPORT, viewer_of(user), id=id_of(tree))).data["exportGedcom"]
    return text


async def left(graph: Graph, tree: Tree) -> list[int]:
    """Returns the numbers of people, parentages, marriages and parts."""
    own = {"user_id": tree.user_id, "tree_id": tree.tree_id}
    ranges: list[Any] = [each.of_tree(tree_id=tree.tree_id) for each in (Person, Parentage, Marriage)]
    pages = [await graph.table.query(within, limit=500) for within in [*ranges, GedcomPart.within(**own)]]
    return [len(page.records) for page in pages]


def names(contents: Contents) -> dict[str, str]:
    return {person_id: xref for xref, person_id in contents.ids.items()}


def linked(contents: Contents) -> set[str]:
    named = names(contents)
    return {f"{named[link.parent_id]}>{named[link.child_id]}" for some in contents.parents.values() for link in some}


def test_nobody_becomes_their_own_ancestor_and_the_line_is_told():
    content = file_of(*people("A", "B", "C"), family("F1", "A", "B"), family("F2", "B", "C"), family("F3", "C", "A"))
    contents = read(content)
    assert linked(contents) == {"A>B", "B>C"}
    assert [(remark.line, remark.tag, remark.reason) for remark in contents.report.refused] == [
        (18, "CHIL", "@A@ of @C@: a person cannot be their own ancestor.")
    ]


def test_nobody_is_their_own_parent():
    contents = read(file_of(*people("A"), family("F1", "A", "A")))
    assert linked(contents) == set()
    assert [remark.line for remark in contents.report.refused] == [8]


def test_a_third_parent_by_birth_is_refused_and_others_are_not():
    adopted = "0 @K@ INDI\n1 FAMC @F3@\n2 PEDI adopted"
    families = [family(f"F{number}", parent, "K") for number, parent in enumerate("ABCD", 1)]
    contents = read(file_of(*people(*"ABCD"), adopted, *families))
    kinds = {names(contents)[link.parent_id]: link.kind for link in contents.parents[contents.ids["K"]]}
    assert kinds == dict.fromkeys("AB", ParentageKind.BIOLOGICAL) | {"C": ParentageKind.ADOPTIVE}
    assert [remark.reason for remark in contents.report.refused] == [
        "@K@ of @D@: a child has at most two biological parents."
    ]


def test_a_child_has_only_so_many_parents():
    links = "\n".join(f"1 FAMC @F{number}@\n2 PEDI foster" for number in range(60))
    families = [family(f"F{number}", f"P{number}", "K") for number in range(60)]
    contents = read(file_of(*people(*(f"P{number}" for number in range(60))), f"0 @K@ INDI\n{links}", *families))
    assert len(contents.parents[contents.ids["K"]]) == 50
    assert contents.report.refused_count == 10


def test_parents_come_before_their_children_and_every_link_is_met_once():
    """Each of 200 generations has the same two parents, so there are too many paths to walk all of them."""
    rows = range(200)
    families = [
        f"0 @F{row}@ FAM\n1 HUSB @A{row}@\n1 WIFE @B{row}@\n1 CHIL @A{row + 1}@\n1 CHIL @B{row + 1}@" for row in rows
    ]
    contents = read(file_of(*people(*(f"{side}{row}" for row in reversed(range(201)) for side in "AB")), *families))
    places = {person_id: place for place, person_id in enumerate(contents.order)}
    links = [link for some in contents.parents.values() for link in some]
    assert (len(places), len(links)) == (402, 800)
    assert all(places[link.parent_id] < places[link.child_id] for link in links)


def test_a_note_that_everybody_shares_is_held_once():
    notes = [f"0 @N{number}@ NOTE {noise(40_000)}" for number in range(5)]
    pointers = "\n".join(f"1 NOTE @N{number}@" for number in range(5))
    persons = [f"0 @I{number}@ INDI\n{pointers}" for number in range(2_000)]
    content = file_of(*notes, *persons)
    tracemalloc.start()
    contents = read(content)
    longest = max(len(person.biography or "") for person, _ in contents.people())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert longest == 50_000
    assert peak < 50_000_000


async def test_a_long_note_that_many_share_is_written_with_each(graph, kindred):
    owner = await kindred.user("owner")
    tree = await kindred.tree(owner)
    content = file_of(f"0 @N@ NOTE {noise(190_000)}", *(f"0 @I{number}@ INDI\n1 NOTE @N@" for number in range(90)))
    asked = await graph.ask(IMPORT, viewer_of(owner), input={"treeId": id_of(tree), "content": content})
    assert asked.data["importGedcom"]["tree"] == {"personCount": 90}
    # Ninety people of 70 KB take three transactions; then the preserved content, and the tree.
    assert asked.calls["TransactWriteItems"] == 5


@pytest.mark.parametrize(
    "long",
    [
        "0 @I@ INDI\n1 NAME A\n" + long_value(1, "_X", noise(900_000)),
        "0 @I@ INDI\n1 NAME A\n0 @O@ OBJE\n" + long_value(1, "BLOB", noise(900_000)),
        "0 @I@ INDI\n1 NAME A\n0 @F@ FAM\n1 HUSB @I@\n" + long_value(1, "NOTE", noise(900_000)),
        "0 @I@ INDI\n1 NAME A\n" + long_value(1, "NOTE", "🌳" * 400_000),
        "0 @I@ INDI\n1 NAME " + noise(200_000) + "\n1 BIRT\n2 PLAC " + noise(200_000),
    ],
    ids=["a person", "a record", "a family", "a note", "a name and a place"],
)
async def test_what_an_item_cannot_hold_is_kept_in_several(graph, kindred, long):
    owner = await kindred.user("owner")
    tree = await kindred.tree(owner)
    content = file_of(long)
    payload = await sent(graph, owner, tree, content)
    assert (payload["problems"], payload["report"]["refusedCount"]) == ([], 0)
    again = await sent(graph, owner, tree, await exported(graph, owner, tree))
    assert [each["code"] for each in again["problems"]] == ["TAKEN"]


CHAIN = file_of(
    *(f"0 @I{number}@ INDI\n1 NAME Person {number}" for number in range(200)),
    *(family(f"F{number}", f"I{number}", f"I{number + 1}") for number in range(199)),
)


async def test_an_import_that_was_cut_short_is_finished_by_sending_it_again(graph, faulty_graph, proxy, kindred):
    owner = await kindred.user("owner")
    tree = await kindred.tree(owner)
    proxy.will("TransactWriteItems", nothing_wrong, times=2)
    proxy.will("TransactWriteItems", error_500)
    faulty_graph.usage = lambda: EndsAfterFault(proxy=proxy)
    cut = await sent(faulty_graph, owner, tree, CHAIN)
    assert [(each["code"], each["message"]) for each in cut["problems"]] == [("UNAVAILABLE", CUT_SHORT)]
    found = (await graph.table.query(Person.of_tree(tree_id=tree.tree_id), limit=500)).records
    links = (await graph.table.query(Parentage.of_tree(tree_id=tree.tree_id), limit=500)).records
    there = {person.person_id for person in found}
    assert 0 < len(there) < 200
    # Every person written has all ancestors, and the parents that the links state.
    assert {(link.parent_id, link.child_id) for link in links} == {
        (parent_id, person.person_id) for person in found for parent_id in person.parent_ids
    }
    assert {link.parent_id for link in links} <= there
    proxy.recover()
    payload = await sent(faulty_graph, owner, tree, CHAIN)
    assert (payload["tree"], payload["problems"]) == ({"personCount": 200}, [])
    assert await left(graph, tree) == [200, 199, 0, 2]


async def test_a_tree_that_is_deleted_meanwhile_is_cleared_away_once_more(graph, faulty_graph, proxy, kindred):
    owner = await kindred.user("owner")
    tree = await kindred.tree(owner)

    async def deleted_first(call: Call) -> Answer:
        await graph.command(DELETE, viewer_of(owner), treeId=id_of(tree))
        return await nothing_wrong(call)

    proxy.will("TransactWriteItems", nothing_wrong, times=1)
    proxy.will("TransactWriteItems", deleted_first, times=1)
    payload = await sent(faulty_graph, owner, tree, CHAIN)
    message = "the tree was deleted in the meantime"
    assert payload["problems"] == [{"code": "NOT_FOUND", "message": message, "path": ["input", "treeId"]}]
    people_there, links_there, *others = await left(graph, tree)
    assert (links_there, others) == (people_there - 1, [0, 0])
    jobs = await graph.jobs()
    assert Counter(job.kind for job in jobs) == {"purge_tree": 2}
    assert all(job.subject == {"user_id": tree.user_id, "tree_id": tree.tree_id} for job in jobs)


async def test_an_editor_whom_a_tree_is_shared_with_no_more_stops_writing(graph, faulty_graph, proxy, kindred):
    owner, editor = await kindred.user("owner"), await kindred.user("editor")
    tree = await kindred.tree(owner)
    await kindred.share(tree, editor, TreeRole.EDITOR)

    async def unshared_first(call: Call) -> Answer:
        await graph.command(UNSHARE, viewer_of(owner), treeId=id_of(tree), userId=id_of(editor))
        return await nothing_wrong(call)

    proxy.will("TransactWriteItems", nothing_wrong, times=1)
    proxy.will("TransactWriteItems", unshared_first, times=1)
    payload = await sent(faulty_graph, editor, tree, CHAIN)
    message = "only its owner and its editors may do this"
    assert payload["problems"] == [{"code": "FORBIDDEN", "message": message, "path": ["input", "treeId"]}]
    (fresh,) = await graph.context().load.fresh(tree.own_key)
    assert fresh is not None
    assert [fresh.person_count, fresh.imports] == [(await left(graph, tree))[0], []]


async def test_the_command_goes_on_with_the_tree_it_began(graph, faulty_graph, proxy, kindred, tmp_path):
    owner = await kindred.user("owner")
    path = tmp_path / "chain.ged"
    path.write_text(CHAIN)
    asked = argparse.Namespace(file=path, user="owner", tree=None, name=None, dry_run=False, again=False)
    # One item is the tree.
    proxy.will("TransactWriteItems", nothing_wrong, times=2)
    proxy.will("TransactWriteItems", error_500)
    faulty_graph.usage = lambda: EndsAfterFault(proxy=proxy)
    load = faulty_graph.context(Viewer(None)).load
    with pytest.raises(Exception, match="oops"):
        await import_file(load, asked)
    proxy.recover()
    await import_file(faulty_graph.context(Viewer(None)).load, asked)
    (tree,) = (await graph.table.query(Tree.by_owner(user_id=owner.user_id), limit=5)).records
    assert (tree.name, tree.person_count, tree.imports) == ("chain", 200, [tree.begun_import])


def test_a_file_of_nobody_is_refused():
    with pytest.raises(Refused, match="the file has no people"):
        read(file_of())
