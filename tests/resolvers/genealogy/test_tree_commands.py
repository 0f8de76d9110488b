"""Commands of trees and the people in them: what they do, what they cost, and what is refused."""

from typing import Any

import pytest

from datastore.accounts import User
from datastore.client.writes import Update
from datastore.genealogy import Gender, Person, Tree, TreeRole, TreeShare
from datastore.jobs import Job
from datastore.model.times import now
from loaders.viewer import Viewer
from tests.resolvers.genealogy.test_visibility import items
from tests.resolvers.neighborhoods.test_site_commands import NO_ACCOUNT, UNAUTHENTICATED
from tests.support.genealogy import Kindred
from tests.support.graph import Graph, id_of, mutation, problem, viewer_of

PERSON = """id personId firstName middleName lastName birthName preferredName suffix gender birthDate birthPlace
    deathDate deathPlace isDeceased biography photoUrl version"""
CREATE = mutation("createTree", "tree { id treeId name description isPublic personCount viewerRole }")
UPDATE_TREE = mutation("updateTree", "tree { name description isPublic rootPerson { firstName } }")
DELETE_TREE = mutation("deleteTree", "deletedTreeId")
SHARE = mutation("shareTree", "tree { sharedWith { edges { role node { username } } } }")
UNSHARE = mutation("unshareTree", "tree { name sharedWith { edges { role node { username } } } }")
ADD = mutation("addPerson", f"person {{ {PERSON} tree {{ personCount }} }}")
UPDATE = f"""mutation ($input: UpdatePersonInput!) {{ updatePerson(input: $input) {{
    person {{ {PERSON} }} problems {{ code message path currentVersion }} }} }}"""
DELETE = mutation("deletePerson", "deletedPersonId tree { personCount rootPerson { id } }")

NO_TREE = problem("NOT_FOUND", "there is no such tree", "input", "treeId")
ONLY_OWNER = problem("FORBIDDEN", "only its owner may do this", "input", "treeId")
ONLY_EDITORS = "only its owner and its editors may do this"
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


async def a_tree(kindred: Kindred, **fields: Any) -> tuple[User, Tree]:
    owner = await kindred.user("owner")
    return owner, await kindred.tree(owner, **fields)


async def stored(graph: Graph, record: Any) -> Any:
    return await graph.table.get(record.own_key, consistent=True)


async def test_a_tree_is_begun(graph, kindred):
    owner = await kindred.user("owner")

    asked = await graph.ask(CREATE, viewer_of(owner), input={"name": " Ours ", "description": " All of us. "})

    payload = asked.data["createTree"]
    assert payload == {
        "tree": {
            "id": payload["tree"]["id"],
            "treeId": payload["tree"]["treeId"],
            "name": "Ours",
            "description": "All of us.",
            "isPublic": False,
            "personCount": 0,
            "viewerRole": "OWNER",
        },
        "problems": [],
    }
    # The account is checked in the same transaction, and read for the rule.
    assert asked.calls == {"TransactWriteItems": 1, "BatchGetItem": 1}
    tree = await graph.table.get(Tree.key(user_id="id-owner", tree_id=payload["tree"]["treeId"]))
    assert (tree.name, tree.is_public, tree.user_id) == ("Ours", False, "id-owner")


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("name", " \n ", "this needs at least one character"),
        ("name", "x" * 201, "this has 201 characters; at most 200 are allowed"),
        ("name", "a\x00b", "control characters are not allowed"),
        ("description", "x" * 5_001, "this has 5001 characters; at most 5000 are allowed"),
    ],
)
async def test_a_tree_that_is_refused(graph, kindred, field, value, message):
    owner, tree = await a_tree(kindred)
    before = await items(graph)

    created = await graph.ask(CREATE, viewer_of(owner), input={"name": "Ours", field: value})
    updated = await graph.ask(UPDATE_TREE, viewer_of(owner), input={"treeId": id_of(tree), field: value})

    expected = {"tree": None, "problems": [problem("INVALID", message, "input", field)]}
    assert created.data["createTree"] == updated.data["updateTree"] == expected
    assert created.calls == updated.calls == {}
    assert await items(graph) == before


async def test_a_tree_is_changed_in_what_is_told(graph, kindred):
    owner, tree = await a_tree(kindred, name="Ours", description="All of us.")
    person = await kindred.person(tree, "Anna")
    given = {"treeId": id_of(tree), "isPublic": True, "rootPersonId": id_of(person)}

    asked = await graph.ask(UPDATE_TREE, viewer_of(owner), input=given)
    cleared = await graph.command(
        UPDATE_TREE, viewer_of(owner), treeId=id_of(tree), name="Theirs", description=None, rootPersonId=None
    )

    assert asked.data["updateTree"] == {
        "tree": {
            "name": "Ours",
            "description": "All of us.",
            "isPublic": True,
            "rootPerson": {"firstName": "Anna"},
        },
        "problems": [],
    }
    # What allows it; then the tree as it is now, and its root.
    assert asked.calls == {"BatchGetItem": 1, "TransactWriteItems": 1, "GetItem": 2}
    assert cleared["tree"] == {"name": "Theirs", "description": None, "isPublic": True, "rootPerson": None}
    assert (await stored(graph, tree)).person_count == 1


async def test_the_root_is_somebody_in_the_tree(graph, kindred):
    owner, tree = await a_tree(kindred)
    other = await kindred.person(await kindred.tree(owner), "Other")
    gone = await kindred.person(tree, "Gone", deleted_at=now())

    for person in (other, gone):
        payload = await graph.command(
            UPDATE_TREE, viewer_of(owner), treeId=id_of(tree), name="Changed", rootPersonId=id_of(person)
        )
        message = "there is no such person in this tree"
        assert payload == {"tree": None, "problems": [problem("NOT_FOUND", message, "input", "rootPersonId")]}
    assert (await stored(graph, tree)).name == tree.name


async def test_null_is_no_answer_to_whether_it_is_public(graph, kindred):
    owner, tree = await a_tree(kindred)

    payload = await graph.command(UPDATE_TREE, viewer_of(owner), treeId=id_of(tree), isPublic=None, name=None)

    assert payload["problems"] == [
        problem("INVALID", "this cannot be null; leave it out to keep it as it is", "input", name)
        for name in ("name", "isPublic")
    ]


async def test_a_tree_is_deleted_at_once_and_cleared_away_later(graph, kindred):
    owner, tree = await a_tree(kindred)

    asked = await graph.ask(DELETE_TREE, viewer_of(owner), input={"treeId": id_of(tree)})
    again = await graph.command(DELETE_TREE, viewer_of(owner), treeId=id_of(tree))

    assert asked.data["deleteTree"] == {"deletedTreeId": id_of(tree), "problems": []}
    assert asked.calls == {"BatchGetItem": 1, "TransactWriteItems": 1}
    assert again["problems"] == [NO_TREE]
    (job,) = (await graph.table.query(Job.within(), limit=10)).records
    assert (job.kind, job.subject) == ("purge_tree", {"user_id": "id-owner", "tree_id": tree.tree_id})


async def test_a_tree_is_shared_and_shared_no_more(graph, kindred):
    owner, tree = await a_tree(kindred)
    ada, bob = await kindred.user("ada"), await kindred.user("bob")
    own = {"treeId": id_of(tree)}

    first = await graph.ask(SHARE, viewer_of(owner), input={**own, "userId": id_of(ada), "role": "READER"})
    await graph.command(SHARE, viewer_of(owner), **own, userId=id_of(bob), role="READER")
    changed = await graph.command(SHARE, viewer_of(owner), **own, userId=id_of(ada), role="EDITOR")
    removed = await graph.ask(UNSHARE, viewer_of(owner), input={**own, "userId": id_of(ada)})
    again = await graph.command(UNSHARE, viewer_of(owner), **own, userId=id_of(ada))

    def shared(**roles: str) -> dict[str, Any]:
        return {"edges": [{"role": role, "node": {"username": name}} for name, role in roles.items()]}

    assert first.data["shareTree"] == {"tree": {"sharedWith": shared(ada="READER")}, "problems": []}
    assert first.calls["TransactWriteItems"] == 1
    assert changed["tree"]["sharedWith"] == shared(ada="EDITOR", bob="READER")
    assert removed.data["unshareTree"]["tree"]["sharedWith"] == again["tree"]["sharedWith"] == shared(bob="READER")
    assert removed.calls["TransactWriteItems"] == 1


async def test_whom_a_tree_cannot_be_shared_with(graph, kindred):
    owner, tree = await a_tree(kindred)
    closed = await kindred.user("closed", deleted_at=now())
    nobody = User(user_id="nobody", username="nobody", email="nobody@example.org")

    for person, expected in (
        (owner, problem("INVALID", "this user owns the tree", "input", "userId")),
        (closed, problem("NOT_FOUND", "there is no such user", "input", "userId")),
        (nobody, problem("NOT_FOUND", "there is no such user", "input", "userId")),
    ):
        payload = await graph.command(SHARE, viewer_of(owner), treeId=id_of(tree), userId=id_of(person), role="EDITOR")
        assert payload["problems"] == [expected]
    assert (await graph.table.query(TreeShare.of_tree(tree_id=tree.tree_id), limit=5)).records == []


async def test_one_may_leave_another_s_tree(graph, kindred):
    owner, tree = await a_tree(kindred, name="Ours")
    ada, bob = await kindred.user("ada"), await kindred.user("bob")
    for person in (ada, bob):
        await kindred.share(tree, person, TreeRole.EDITOR)

    other = await graph.command(UNSHARE, viewer_of(ada), treeId=id_of(tree), userId=id_of(bob))
    left = await graph.command(UNSHARE, viewer_of(ada), treeId=id_of(tree), userId=id_of(ada))

    assert other["problems"] == [ONLY_OWNER]
    # It is private, and so they see it no more.
    assert left == {"tree": None, "problems": []}
    shares = (await graph.table.query(TreeShare.of_tree(tree_id=tree.tree_id), limit=5)).records
    assert [share.shared_with_id for share in shares] == ["id-bob"]
    assert (await stored(graph, owner)).deleted_at is None


async def test_somebody_is_added(graph, kindred):
    owner, tree = await a_tree(kindred)

    asked = await graph.ask(ADD, viewer_of(owner), input={"treeId": id_of(tree), **SAID, "firstName": " Anna "})

    payload = asked.data["addPerson"]
    made = {name: payload["person"][name] for name in ("id", "personId")}
    assert payload == {"person": {**made, **SAID, "version": 1, "tree": {"personCount": 1}}, "problems": []}
    # What allows it; then the tree's count as it is now.
    assert asked.calls == {"BatchGetItem": 1, "TransactWriteItems": 1, "GetItem": 1}
    person = await graph.table.get(Person.key(user_id="id-owner", person_id=made["personId"]))
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
async def test_what_cannot_be_said_of_somebody(graph, kindred, said, expected):
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
async def test_dates_that_may_be_are_fine(graph, kindred, said):
    owner, tree = await a_tree(kindred)

    payload = await graph.command(ADD, viewer_of(owner), treeId=id_of(tree), firstName="Anna", **said)

    assert payload["problems"] == []


async def test_a_date_that_never_was_is_an_error_of_the_query(graph, kindred):
    owner, tree = await a_tree(kindred)

    asked = await graph.ask(
        ADD, viewer_of(owner), input={"treeId": id_of(tree), "firstName": "Anna", "birthDate": "1950-02-30"}
    )

    assert "'1950-02-30' is not possible: that month has the days 1 to 28" in asked.error["message"]
    assert asked.calls == {}


async def test_what_is_said_of_somebody_is_changed(graph, kindred):
    owner, tree = await a_tree(kindred)
    person = await kindred.person(tree, "Anna", last_name="Berg", birth_place="Lund", suffix="II")
    given = {"personId": id_of(person), "expectedVersion": 1, "birthDate": "1851", "suffix": None, "gender": "OTHER"}

    asked = await graph.ask(UPDATE, viewer_of(owner), input=given)

    found = asked.data["updatePerson"]
    assert found["problems"] == []
    assert found["person"] == {
        **dict.fromkeys(SAID),
        "id": id_of(person),
        "personId": person.person_id,
        "firstName": "Anna",
        "lastName": "Berg",
        "gender": "OTHER",
        "birthDate": "1851",
        "birthPlace": "Lund",
        "isDeceased": False,
        "biography": "The life of Anna.",
        "version": 2,
    }
    # The person, then what allows it.
    assert asked.calls == {"GetItem": 1, "BatchGetItem": 1, "TransactWriteItems": 1}


async def test_whoever_read_an_old_version_is_told_the_one_that_is_there(graph, kindred):
    owner, tree = await a_tree(kindred)
    person = await kindred.person(tree, "Anna", version=4)

    payloads = [
        await graph.command(UPDATE, viewer_of(owner), personId=id_of(person), expectedVersion=version, suffix="II")
        for version in (3, 5, 4, 4)
    ]

    def outdated(version: int) -> list[dict[str, Any]]:
        message = f"it is at version {version} by now; read it again"
        return [{**problem("CONFLICT", message, "input", "expectedVersion"), "currentVersion": version}]

    assert [payload["problems"] for payload in payloads] == [outdated(4), outdated(4), [], outdated(5)]


async def test_null_removes_nothing_that_is_always_there(graph, kindred):
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


async def test_somebody_is_deleted(graph, kindred):
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
async def test_who_may_not_do_what(graph, kindred, who):
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
