"""Commands of people in trees: results, calls and refusals."""

from typing import Any

import pytest

from datastore.accounts import User
from datastore.client.writes import Update
from datastore.genealogy import Gender, Person, Tree, TreeRole
from datastore.model.times import now
from loaders.viewer import Viewer
from tests.resolvers.genealogy.commands import (
    ADD,
    ADD_CHILD,
    BORN_BEFORE,
    CREATE,
    DELETE,
    DELETE_TREE,
    NO_PERSON,
    ONLY_EDITORS,
    ONLY_OWNER,
    SHARE,
    UNSHARE,
    UPDATE,
    UPDATE_TREE,
    a_tree,
    stored,
)
from tests.resolvers.genealogy.test_visibility import items
from tests.resolvers.neighborhoods.test_site_commands import NO_ACCOUNT, UNAUTHENTICATED
from tests.support.graph import id_of, problem, viewer_of

SAID = {
    "firstName": "Anna",
    "middleName": "Maria",
    "lastName": "Larsson",
    "birthName": "Berg",
    "preferredName": "Mia",
    "suffix": "II",
    "gender": "FEMALE",
    "birthDate": "JULIAN 5 OCT 1700",
    "birthPlace": "Lund",
    "deathDate": "BET 1750 AND 1752",
    "deathPlace": "Malmö",
    "isDeceased": True,
    "biography": "She lived.\n\nLong.",
    "photoUrl": "https://example.org/mia.jpg",
}


async def test_a_person_is_added(graph, kindred):
    owner, tree = await a_tree(kindred)

    asked = await graph.ask(ADD, viewer_of(owner), input={"treeId": id_of(tree), **SAID, "firstName": " Anna "})

    payload = asked.data["addPerson"]
    made = {name: payload["person"][name] for name in ("id", "databaseId")}
    assert payload == {"person": {**made, **SAID, "version": 1, "tree": {"personCount": 1}}, "problems": []}
    # The viewer's standing; then the updated count of the tree.
    assert asked.calls == {"BatchGetItem": 1, "TransactWriteItems": 1, "GetItem": 1}
    person = await graph.table.get(Person.key(user_id="id-owner", person_id=made["databaseId"]))
    assert (person.tree_id, person.gender, person.biological_parents) == (tree.tree_id, Gender.FEMALE, 0)


async def test_a_name_is_enough(graph, kindred):
    owner, tree = await a_tree(kindred)

    for name in ("firstName", "lastName"):
        payload = await graph.command(ADD, viewer_of(owner), treeId=id_of(tree), **{name: "?"})
        assert payload["problems"] == []
        nothing = dict.fromkeys(SAID) | {"gender": "UNKNOWN", "isDeceased": False, name: "?"}
        assert {field: payload["person"][field] for field in SAID} == nothing


WRONG: list[tuple[dict[str, Any], list[tuple[str, str]]]] = [
    (
        {"firstName": " ", "lastName": None},
        [("firstName", "a person needs a first or a last name; write ? if it is unknown")],
    ),
    (
        {"birthDate": "1950", "deathDate": "1949"},
        [("deathDate", "the date of death is before the date of birth")],
    ),
    (
        {"birthDate": "AFT 1950", "deathDate": "BEF 1951"},
        [("deathDate", "the date of death is before the date of birth")],
    ),
    (
        {"firstName": "x" * 201, "suffix": "\x07", "birthPlace": "x" * 301, "biography": "x" * 50_001},
        [
            ("firstName", "this has 201 characters; at most 200 are allowed"),
            ("suffix", "control characters are not allowed"),
            ("birthPlace", "this has 301 characters; at most 300 are allowed"),
            ("biography", "this has 50001 characters; at most 50000 are allowed"),
        ],
    ),
    (
        {"photoUrl": "http://example.org/a.jpg"},
        [("photoUrl", "a URL begins with https://, has no user name and at most 2048 bytes")],
    ),
]


@pytest.mark.parametrize(("said", "expected"), WRONG, ids=[str([*said]) for said, _ in WRONG])
async def test_invalid_details_of_a_person_are_refused(graph, kindred, said, expected):
    owner, tree = await a_tree(kindred)
    person = await kindred.person(tree, "Anna", last_name="Berg")
    before = await items(graph)

    added = await graph.ask(ADD, viewer_of(owner), input={"treeId": id_of(tree), "firstName": "Anna", **said})
    changed = await graph.command(UPDATE, viewer_of(owner), personId=id_of(person), expectedVersion=1, **said)

    problems = [problem("INVALID", message, "input", path) for path, message in expected]
    assert added.data["addPerson"] == {"person": None, "problems": problems}
    assert added.calls == {}
    assert changed == {"person": None, "problems": [{**each, "currentVersion": None} for each in problems]}
    assert await items(graph) == before


@pytest.mark.parametrize(
    "said", [{"birthDate": "1950", "deathDate": "1950"}, {"birthDate": "1950", "deathDate": "ABT 1949"}]
)
async def test_possible_dates_are_accepted(graph, kindred, said):
    owner, tree = await a_tree(kindred)

    payload = await graph.command(ADD, viewer_of(owner), treeId=id_of(tree), firstName="Anna", **said)

    assert payload["problems"] == []


async def test_an_impossible_date_is_an_error_of_the_query(graph, kindred):
    owner, tree = await a_tree(kindred)

    asked = await graph.ask(
        ADD, viewer_of(owner), input={"treeId": id_of(tree), "firstName": "Anna", "birthDate": "1950-02-30"}
    )

    assert "'1950-02-30' is not possible: that month has the days 1 to 28" in asked.error["message"]
    assert asked.calls == {}


async def test_a_person_is_edited(graph, kindred):
    owner, tree = await a_tree(kindred)
    person = await kindred.person(tree, "Anna", last_name="Berg", birth_place="Lund", suffix="II")
    given = {"personId": id_of(person), "expectedVersion": 1, "birthDate": "1851", "suffix": None, "gender": "OTHER"}

    asked = await graph.ask(UPDATE, viewer_of(owner), input=given)

    found = asked.data["updatePerson"]
    assert found["problems"] == []
    assert found["person"] == {
        **dict.fromkeys(SAID),
        "id": id_of(person),
        "databaseId": person.person_id,
        "firstName": "Anna",
        "lastName": "Berg",
        "gender": "OTHER",
        "birthDate": "1851",
        "birthPlace": "Lund",
        "isDeceased": False,
        "biography": "The life of Anna.",
        "version": 2,
    }
    # The person, then the viewer's standing.
    assert asked.calls == {"GetItem": 1, "BatchGetItem": 1, "TransactWriteItems": 1}


async def test_an_empty_photo_url_removes_the_photo(graph, kindred):
    owner, tree = await a_tree(kindred)
    person = await kindred.person(tree, "Anna", photo_url="https://example.org/anna.jpg")

    payload = await graph.command(UPDATE, viewer_of(owner), personId=id_of(person), expectedVersion=1, photoUrl="")

    assert payload["problems"] == []
    assert (await stored(graph, person)).photo_url is None


async def test_a_stale_version_is_a_conflict(graph, kindred):
    owner, tree = await a_tree(kindred)
    person = await kindred.person(tree, "Anna", version=4)

    payloads = [
        await graph.command(UPDATE, viewer_of(owner), personId=id_of(person), expectedVersion=version, suffix="II")
        for version in (3, 5, 4, 4)
    ]

    def outdated(version: int) -> list[dict[str, Any]]:
        message = f"the current version is {version}; read it again"
        return [{**problem("CONFLICT", message, "input", "expectedVersion"), "currentVersion": version}]

    assert [payload["problems"] for payload in payloads] == [outdated(4), outdated(4), [], outdated(5)]


async def test_gender_and_is_deceased_cannot_be_null(graph, kindred):
    owner, tree = await a_tree(kindred)
    person = await kindred.person(tree, "Anna")

    payload = await graph.command(
        UPDATE, viewer_of(owner), personId=id_of(person), expectedVersion=1, gender=None, isDeceased=None
    )

    message = "this cannot be null; leave it out to keep it as it is"
    assert [(each["path"], each["message"]) for each in payload["problems"]] == [
        (["input", "gender"], message),
        (["input", "isDeceased"], message),
    ]


async def test_a_person_is_deleted(graph, kindred):
    owner, tree = await a_tree(kindred)
    anna, bert = await kindred.person(tree, "Anna"), await kindred.person(tree, "Bert")
    await graph.table.update(Update(tree.own_key, set={"root_person_id": anna.person_id}))

    asked = await graph.ask(DELETE, viewer_of(owner), input={"personId": id_of(bert)})
    root = await graph.command(DELETE, viewer_of(owner), personId=id_of(anna))
    again = await graph.command(DELETE, viewer_of(owner), personId=id_of(anna))

    assert asked.data["deletePerson"] == {
        "deletedPersonId": id_of(bert),
        "tree": {"personCount": 1, "rootPerson": {"id": id_of(anna)}},
        "problems": [],
    }
    assert asked.calls["TransactWriteItems"] == 1
    assert root == {"deletedPersonId": id_of(anna), "tree": {"personCount": 0, "rootPerson": None}, "problems": []}
    message = "there is no such person"
    assert again["problems"] == [problem("NOT_FOUND", message, "input", "personId")]


def everything_one_can_do(tree: Tree, person: Person, somebody: User) -> list[tuple[str, dict[str, Any]]]:
    own, of_person = {"treeId": id_of(tree)}, {"personId": id_of(person)}
    return [
        (UPDATE_TREE, {**own, "name": "Mine"}),
        (DELETE_TREE, own),
        (SHARE, {**own, "userId": id_of(somebody), "role": "READER"}),
        (UNSHARE, {**own, "userId": id_of(somebody)}),
        (ADD, {**own, "firstName": "New"}),
        (UPDATE, {**of_person, "expectedVersion": 1, "firstName": "New"}),
        (DELETE, of_person),
    ]


@pytest.mark.parametrize("who", ["nobody", "closed", "reader", "stranger", "editor"])
async def test_commands_are_refused_without_the_needed_role(graph, kindred, who):
    owner, tree = await a_tree(kindred, public=True)
    person = await kindred.person(tree, "Anna")
    somebody = await kindred.user("somebody")
    user = owner if who == "closed" else await kindred.user(who)
    viewer = viewer_of(user) if who != "nobody" else Viewer(None)
    if who == "closed":
        await graph.table.update(Update(owner.own_key, set={"deleted_at": now()}))
    elif who in ("reader", "editor"):
        await kindred.share(tree, user, TreeRole[who.upper()])
    before = await items(graph)
    commands = [(CREATE, {"name": "New"})] if who in ("nobody", "closed") else []
    commands += everything_one_can_do(tree, person, somebody)[: 4 if who == "editor" else None]

    found = []
    for command, given in commands:
        problems = (await graph.command(command, viewer, **given))["problems"]
        found.append([{name: each[name] for name in ("code", "message", "path")} for each in problems])

    forbidden = [[ONLY_OWNER]] * 4 + [
        [problem("FORBIDDEN", ONLY_EDITORS, "input", path)] for path in ("treeId", "personId", "personId")
    ]
    expected = {"nobody": [[UNAUTHENTICATED]] * 8, "closed": [[NO_ACCOUNT]] * 8, "editor": forbidden[:4]}
    assert found == expected.get(who, forbidden)
    assert await items(graph) == before


async def test_an_editor_changes_people(graph, kindred):
    _, tree = await a_tree(kindred)
    editor = await kindred.user("editor")
    await kindred.share(tree, editor, TreeRole.EDITOR)

    added = await graph.command(ADD, viewer_of(editor), treeId=id_of(tree), firstName="New")
    new = added["person"]["id"]
    changed = await graph.command(UPDATE, viewer_of(editor), personId=new, expectedVersion=1, lastName="Name")
    deleted = await graph.command(DELETE, viewer_of(editor), personId=new)

    assert [payload["problems"] for payload in (added, changed, deleted)] == [[], [], []]
    assert (await stored(graph, tree)).person_count == 0


@pytest.mark.engine_contract
async def test_a_child_is_added_to_both_parents_at_once(graph, kindred):
    owner, tree = await a_tree(kindred)
    mother, father = await kindred.person(tree, "Mother"), await kindred.person(tree, "Father")
    said = {"firstName": "Child", "lastName": "Berg", "gender": "FEMALE", "birthDate": "1880", "birthPlace": "Lund"}
    given = {"parentId": id_of(mother), "otherParentId": id_of(father), **said}

    asked = await graph.ask(ADD_CHILD, viewer_of(owner), input=given)

    found = asked.data["addChild"]
    assert found["problems"] == []
    made = {name: found["person"].pop(name) for name in ("id", "databaseId")}
    assert found["person"] == {
        **said,
        "parents": {"edges": [{"kind": "BIOLOGICAL", "node": {"firstName": name}} for name in ("Mother", "Father")]},
        "tree": {"personCount": 3},
    }
    assert asked.calls["TransactWriteItems"] == 1
    child = await graph.table.get(Person.key(user_id="id-owner", person_id=made["databaseId"]))
    assert (child.parent_ids, child.biological_parents) == ([mother.person_id, father.person_id], 2)


async def test_a_child_of_one_parent_costs_two_reads_and_a_transaction(graph, kindred):
    owner, tree = await a_tree(kindred)
    parent = await kindred.person(tree, "Parent")
    query = "mutation ($input: AddChildInput!) { addChild(input: $input) { person { firstName } } }"

    asked = await graph.ask(query, viewer_of(owner), input={"parentId": id_of(parent), "firstName": "Child"})

    assert asked.data["addChild"] == {"person": {"firstName": "Child"}}
    assert asked.calls == {"GetItem": 1, "BatchGetItem": 1, "TransactWriteItems": 1}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            {"firstName": ""},
            problem("INVALID", "a person needs a first or a last name; write ? if it is unknown", "input", "firstName"),
        ),
        ({"birthDate": "1849"}, problem("WARNING", BORN_BEFORE, "input", "parentId")),
        ({"otherParentId": "same"}, problem("INVALID", "both parents are the same person", "input", "otherParentId")),
        (
            {"otherParentId": "other"},
            problem("INVALID", "these two people are in different trees", "input", "otherParentId"),
        ),
        ({"otherParentId": "hidden"}, problem("NOT_FOUND", NO_PERSON, "input", "otherParentId")),
        ({"otherParentId": "gone"}, problem("NOT_FOUND", NO_PERSON, "input", "otherParentId")),
        ({"parentId": "gone"}, problem("NOT_FOUND", NO_PERSON, "input", "parentId")),
    ],
    ids=str,
)
async def test_a_child_that_is_refused(graph, kindred, given, expected):
    owner, tree = await a_tree(kindred)
    parent = await kindred.person(tree, "Parent")
    elsewhere = await kindred.tree(await kindred.user("somebody"))
    people = {
        "same": parent,
        "other": await kindred.person(await kindred.tree(owner), "Other"),
        "hidden": await kindred.person(elsewhere, "Hidden"),
        "gone": await kindred.person(tree, "Gone", deleted_at=now()),
    }
    before = await items(graph)
    given = {name: id_of(people[value]) if value in people else value for name, value in given.items()}

    payload = await graph.command(
        ADD_CHILD, viewer_of(owner), **{"parentId": id_of(parent), "firstName": "Child", **given}
    )

    assert payload == {"person": None, "problems": [expected]}
    assert await items(graph) == before
