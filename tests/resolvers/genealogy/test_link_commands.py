"""Commands of parentages and marriages: results, calls and refusals."""

from typing import Any

import pytest

from datastore.accounts import User
from datastore.client.writes import Update
from datastore.genealogy import Marriage, MarriageStatus, Parentage, ParentageKind, Person, Tree, TreeRole
from datastore.model.times import now
from loaders.viewer import Viewer
from tests.resolvers.genealogy.commands import (
    ADD_CHILD,
    BORN_BEFORE,
    CHANGE_MARRIAGE,
    DIVORCE,
    LINK,
    LINKED_ALREADY,
    MARRY,
    ONLY_EDITORS,
    OWN_ANCESTOR,
    TOO_MANY,
    UNLINK,
    a_tree,
    stored,
)
from tests.resolvers.genealogy.test_visibility import items
from tests.resolvers.neighborhoods.test_site_commands import NO_ACCOUNT, UNAUTHENTICATED
from tests.support.genealogy import Kindred
from tests.support.graph import Graph, id_of, problem, viewer_of


async def in_order(kindred: Kindred, tree: Tree, number: int) -> list[Person]:
    """Returns people who are each the child of the previous one."""
    people = [await kindred.person(tree, "P0")]
    for place in range(1, number):
        people.append(await kindred.person(tree, f"P{place}", people[-1]))
    return people


async def test_a_parent_is_linked(graph, kindred):
    owner, tree = await a_tree(kindred)
    parent, child = await kindred.person(tree, "Parent"), await kindred.person(tree, "Child")
    said = {"kind": "ADOPTIVE", "adoptionDate": "1855-01", "notes": " By the court. "}

    asked = await graph.ask(LINK, viewer_of(owner), input={"parentId": id_of(parent), "childId": id_of(child), **said})

    found = asked.data["linkParent"]
    link_id = found["parentage"].pop("id")
    assert found == {
        "parentage": {
            **said,
            "notes": "By the court.",
            "parent": {"firstName": "Parent"},
            "child": {"firstName": "Child"},
        },
        "problems": [],
    }
    assert asked.calls["TransactWriteItems"] == 1
    after = await stored(graph, child)
    assert (after.parent_ids, after.biological_parents, after.version) == ([parent.person_id], 0, 1)
    assert link_id == id_of(
        await graph.table.get(Parentage.key(user_id=tree.user_id, parent_id=parent.person_id, child_id=child.person_id))
    )


@pytest.mark.engine_contract
async def test_linking_a_parent_costs_one_read_for_each_generation_above(graph, kindred):
    owner, tree = await a_tree(kindred)
    people = await in_order(kindred, tree, 4)
    child = await kindred.person(tree, "Child")
    query = "mutation ($input: LinkParentInput!) { linkParent(input: $input) { parentage { kind } } }"

    asked = await graph.ask(query, viewer_of(owner), input={"parentId": id_of(people[3]), "childId": id_of(child)})

    assert asked.data["linkParent"] == {"parentage": {"kind": "BIOLOGICAL"}}
    # Both people, the viewer's standing, and three generations above the parent with one person each.
    assert asked.calls == {"BatchGetItem": 2, "GetItem": 3, "TransactWriteItems": 1}


@pytest.mark.parametrize("number", [2, 6], ids=["their child", "a descendant of five generations"])
async def test_nobody_becomes_their_own_ancestor(graph, kindred, number):
    owner, tree = await a_tree(kindred)
    people = await in_order(kindred, tree, number)
    before = await items(graph)

    for kind in ParentageKind:
        payload = await graph.command(
            LINK, viewer_of(owner), parentId=id_of(people[-1]), childId=id_of(people[0]), kind=kind.name
        )
        assert payload == {"parentage": None, "problems": [OWN_ANCESTOR]}
    assert await items(graph) == before


async def test_nobody_is_their_own_parent_or_spouse(graph, kindred):
    owner, tree = await a_tree(kindred)
    anna = id_of(await kindred.person(tree, "Anna"))

    parent = await graph.command(LINK, viewer_of(owner), parentId=anna, childId=anna)
    spouse = await graph.command(MARRY, viewer_of(owner), person1Id=anna, person2Id=anna)

    assert parent["problems"] == [problem("INVALID", "a person cannot be their own parent", "input", "childId")]
    assert spouse["problems"] == [problem("INVALID", "a person cannot be their own spouse", "input", "person2Id")]


async def test_a_third_biological_parent_is_refused(graph, kindred):
    owner, tree = await a_tree(kindred)
    parents = [await kindred.person(tree, f"Parent {number}") for number in range(5)]
    child = await kindred.person(tree, "Child", parents[0], parents[1])
    ids = {"childId": id_of(child)}

    third = await graph.command(LINK, viewer_of(owner), parentId=id_of(parents[2]), **ids)
    others = [
        await graph.command(LINK, viewer_of(owner), parentId=id_of(parent), kind=kind, **ids)
        for parent, kind in zip(parents[2:], ("ADOPTIVE", "STEP", "FOSTER"), strict=True)
    ]

    assert third["problems"] == [TOO_MANY]
    assert [payload["problems"] for payload in others] == [[], [], []]
    after = await stored(graph, child)
    assert (len(after.parent_ids), after.biological_parents) == (5, 2)


async def test_two_people_are_linked_once(graph, kindred):
    owner, tree = await a_tree(kindred)
    mother, father, child = [await kindred.person(tree, name) for name in ("Mother", "Father", "Child")]
    for parent in (mother, father):
        await kindred.parent(tree, parent, child)
    before = await items(graph)

    for kind in ("BIOLOGICAL", "STEP"):
        payload = await graph.command(LINK, viewer_of(owner), parentId=id_of(mother), childId=id_of(child), kind=kind)
        assert payload == {"parentage": None, "problems": [problem("TAKEN", LINKED_ALREADY, "input", "parentId")]}
    assert await items(graph) == before


async def test_a_couple_is_one_record_in_either_order(graph, kindred):
    owner, tree = await a_tree(kindred)
    one, other = await kindred.person(tree, "One"), await kindred.person(tree, "Other")
    said = {"status": "DIVORCED", "marriageDate": "1875", "marriagePlace": " Lund ", "divorceDate": "1880"}

    asked = await graph.ask(
        MARRY, viewer_of(owner), input={"person1Id": id_of(other), "person2Id": id_of(one), **said, "notes": ""}
    )
    again = [
        await graph.command(MARRY, viewer_of(owner), person1Id=id_of(first), person2Id=id_of(second))
        for first, second in ((one, other), (other, one))
    ]

    found = asked.data["linkSpouses"]
    marriage_id = found["marriage"].pop("id")
    people = {"person1": {"firstName": "One"}, "person2": {"firstName": "Other"}}
    assert found == {"marriage": {**said, "marriagePlace": "Lund", "notes": None, **people}, "problems": []}
    assert asked.calls == {"BatchGetItem": 2, "TransactWriteItems": 1}
    taken = problem("TAKEN", LINKED_ALREADY, "input", "person2Id")
    assert again == [{"marriage": None, "problems": [taken]}] * 2
    couples = (await graph.table.query(Marriage.of_tree(tree_id=tree.tree_id), limit=5)).records
    assert [id_of(couple) for couple in couples] == [marriage_id]


async def test_people_of_different_trees_cannot_be_linked(graph, kindred):
    owner, tree = await a_tree(kindred)
    here, there = await kindred.person(tree, "Here"), await kindred.person(await kindred.tree(owner), "There")

    parent = await graph.command(LINK, viewer_of(owner), parentId=id_of(here), childId=id_of(there))
    spouse = await graph.command(MARRY, viewer_of(owner), person1Id=id_of(there), person2Id=id_of(here))

    message = "these two people are in different trees"
    assert parent["problems"] == [problem("INVALID", message, "input", "childId")]
    assert spouse["problems"] == [problem("INVALID", message, "input", "person2Id")]


@pytest.mark.parametrize(
    ("parent_born", "born", "is_odd"),
    [
        ("1850", "1849", True),
        ("1850", "1850", False),
        ("1850-06-02", "1850-06-01", True),
        ("ABT 1850", "1849", False),
        ("AFT 1850", "1850", True),
        ("BEF 1850", "1700", False),
        ("1850", None, False),
        (None, "1700", False),
        ("1850", "(long ago)", False),
    ],
)
async def test_a_child_born_before_its_parent_is_a_warning(graph, kindred, parent_born, born, is_odd):
    owner, tree = await a_tree(kindred)
    parent = await kindred.person(tree, "Parent", birth_date=parent_born)
    child = await kindred.person(tree, "Child", birth_date=born)
    ids = {"parentId": id_of(parent), "childId": id_of(child)}

    payload = await graph.command(LINK, viewer_of(owner), **ids)

    assert payload["problems"] == [problem("WARNING", BORN_BEFORE, "input", "parentId")] * is_odd
    if is_odd:
        again = await graph.command(LINK, viewer_of(owner), **ids, ignoreWarnings=True)
        assert again["problems"] == []
        added = {"parentId": id_of(parent), "firstName": "Child", "birthDate": born}
        assert (await graph.command(ADD_CHILD, viewer_of(owner), **added))["problems"][0]["code"] == "WARNING"
        assert (await graph.command(ADD_CHILD, viewer_of(owner), **added, ignoreWarnings=True))["problems"] == []


async def test_a_parent_is_unlinked(graph, kindred):
    owner, tree = await a_tree(kindred)
    mother, father, child = [await kindred.person(tree, name) for name in ("Mother", "Father", "Child")]
    links = [await kindred.parent(tree, parent, child) for parent in (mother, father)]

    asked = await graph.ask(UNLINK, viewer_of(owner), input={"parentageId": id_of(links[0])})
    again = await graph.command(UNLINK, viewer_of(owner), parentageId=id_of(links[0]))

    assert asked.data["unlinkParent"] == {
        "deletedParentageId": id_of(links[0]),
        "child": {"firstName": "Child", "parents": {"nodes": [{"firstName": "Father"}]}},
        "problems": [],
    }
    assert asked.calls["TransactWriteItems"] == 1
    assert again["problems"] == [problem("NOT_FOUND", "there is no such parentage", "input", "parentageId")]
    after = await stored(graph, child)
    assert (after.parent_ids, after.biological_parents) == ([father.person_id], 1)


async def test_unlinked_people_may_be_linked_in_reverse(graph, kindred):
    owner, tree = await a_tree(kindred)
    one, other = await in_order(kindred, tree, 2)
    link = Parentage(user_id=tree.user_id, tree_id=tree.tree_id, parent_id=one.person_id, child_id=other.person_id)
    await graph.command(UNLINK, viewer_of(owner), parentageId=id_of(link))

    payload = await graph.command(LINK, viewer_of(owner), parentId=id_of(other), childId=id_of(one))

    assert payload["problems"] == []


async def test_a_marriage_is_edited(graph, kindred):
    owner, tree = await a_tree(kindred)
    couple = await kindred.married(
        tree, await kindred.person(tree, "A"), await kindred.person(tree, "B"), marriage_date="1875", notes="In May."
    )
    given = {"marriageId": id_of(couple), "status": "WIDOWED", "marriageDate": None, "marriagePlace": "Lund"}

    asked = await graph.ask(CHANGE_MARRIAGE, viewer_of(owner), input=given)
    nothing = await graph.command(CHANGE_MARRIAGE, viewer_of(owner), marriageId=id_of(couple), status=None)

    assert asked.data["updateMarriage"] == {
        "marriage": {
            "status": "WIDOWED",
            "marriageDate": None,
            "marriagePlace": "Lund",
            "divorceDate": None,
            "notes": "In May.",
        },
        "problems": [],
    }
    assert asked.calls["TransactWriteItems"] == 1
    message = "this cannot be null; leave it out to keep it as it is"
    assert nothing["problems"] == [problem("INVALID", message, "input", "status")]
    after = await stored(graph, couple)
    assert (after.status, after.marriage_date, after.notes) == (MarriageStatus.WIDOWED, None, "In May.")


async def test_a_couple_is_unlinked(graph, kindred):
    owner, tree = await a_tree(kindred)
    couple = await kindred.married(tree, await kindred.person(tree, "A"), await kindred.person(tree, "B"))

    asked = await graph.ask(DIVORCE, viewer_of(owner), input={"marriageId": id_of(couple)})
    again = [
        await graph.command(command, viewer_of(owner), marriageId=id_of(couple))
        for command in (DIVORCE, CHANGE_MARRIAGE)
    ]

    assert asked.data["unlinkSpouses"] == {"deletedMarriageId": id_of(couple), "problems": []}
    assert asked.calls == {"GetItem": 1, "BatchGetItem": 1, "TransactWriteItems": 1}
    gone = problem("NOT_FOUND", "there is no such marriage", "input", "marriageId")
    assert [payload["problems"] for payload in again] == [[gone]] * 2


@pytest.mark.parametrize(
    ("command", "field", "value", "message"),
    [
        (LINK, "notes", "x" * 2_001, "this has 2001 characters; at most 2000 are allowed"),
        (MARRY, "notes", "\x00", "control characters are not allowed"),
        (MARRY, "marriagePlace", "x" * 301, "this has 301 characters; at most 300 are allowed"),
    ],
)
async def test_invalid_details_of_a_link_are_refused(graph, kindred, command, field, value, message):
    owner, tree = await a_tree(kindred)
    one, other = id_of(await kindred.person(tree, "One")), id_of(await kindred.person(tree, "Other"))
    ids = {"parentId": one, "childId": other} if command == LINK else {"person1Id": one, "person2Id": other}

    payload = await graph.command(command, viewer_of(owner), **ids, **{field: value})

    assert payload["problems"] == [problem("INVALID", message, "input", field)]


async def everything_one_can_link(kindred: Kindred, tree: Tree) -> list[tuple[str, dict[str, Any], str]]:
    one, other, third = [await kindred.person(tree, name) for name in ("One", "Other", "Third")]
    link, couple = await kindred.parent(tree, one, third), await kindred.married(tree, other, third)
    return [
        (ADD_CHILD, {"parentId": id_of(one), "firstName": "New"}, "parentId"),
        (LINK, {"parentId": id_of(one), "childId": id_of(other)}, "parentId"),
        (UNLINK, {"parentageId": id_of(link)}, "parentageId"),
        (MARRY, {"person1Id": id_of(one), "person2Id": id_of(other)}, "person1Id"),
        (CHANGE_MARRIAGE, {"marriageId": id_of(couple), "notes": "Mine"}, "marriageId"),
        (DIVORCE, {"marriageId": id_of(couple)}, "marriageId"),
    ]


async def done(graph: Graph, commands: list[tuple[str, dict[str, Any], str]], viewer: Viewer) -> list[Any]:
    return [(await graph.command(command, viewer, **given))["problems"] for command, given, _ in commands]


@pytest.mark.parametrize("who", ["nobody", "closed", "reader", "stranger"])
async def test_links_are_refused_without_the_needed_role(graph, kindred, who):
    owner, tree = await a_tree(kindred, public=True)
    commands = await everything_one_can_link(kindred, tree)
    user: User = owner if who == "closed" else await kindred.user(who)
    if who == "closed":
        await graph.table.update(Update(owner.own_key, set={"deleted_at": now()}))
    elif who == "reader":
        await kindred.share(tree, user)
    before = await items(graph)

    found = await done(graph, commands, viewer_of(user) if who != "nobody" else Viewer(None))

    forbidden = [[problem("FORBIDDEN", ONLY_EDITORS, "input", path)] for _, _, path in commands]
    assert found == {"nobody": [[UNAUTHENTICATED]] * 6, "closed": [[NO_ACCOUNT]] * 6}.get(who, forbidden)
    assert await items(graph) == before


async def test_an_editor_links(graph, kindred):
    _, tree = await a_tree(kindred)
    commands = await everything_one_can_link(kindred, tree)
    editor = await kindred.user("editor")
    await kindred.share(tree, editor, TreeRole.EDITOR)

    assert await done(graph, commands, viewer_of(editor)) == [[]] * 6
