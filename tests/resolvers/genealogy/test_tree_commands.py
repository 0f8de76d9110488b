"""Commands of trees and of sharing them: results, calls and refusals."""

from typing import Any

import pytest

from datastore.accounts import User
from datastore.genealogy import Tree, TreeRole, TreeShare
from datastore.model.times import now
from tests.resolvers.genealogy.commands import (
    CREATE,
    DELETE_TREE,
    NO_TREE,
    ONLY_OWNER,
    SHARE,
    UNSHARE,
    UPDATE_TREE,
    a_tree,
    stored,
)
from tests.resolvers.genealogy.test_visibility import items
from tests.support.graph import id_of, problem, viewer_of


async def test_a_tree_is_created(graph, kindred):
    owner = await kindred.user("owner")

    asked = await graph.ask(CREATE, viewer_of(owner), input={"name": " Ours ", "description": " All of us. "})

    payload = asked.data["createTree"]
    assert payload == {
        "tree": {
            "id": payload["tree"]["id"],
            "databaseId": payload["tree"]["databaseId"],
            "name": "Ours",
            "description": "All of us.",
            "isPublic": False,
            "personCount": 0,
            "viewerRole": "OWNER",
        },
        "problems": [],
    }
    # The account is checked in the same transaction, and read for the visibility rule.
    assert asked.calls == {"TransactWriteItems": 1, "BatchGetItem": 1}
    tree = await graph.table.get(Tree.key(user_id="id-owner", tree_id=payload["tree"]["databaseId"]))
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


async def test_a_tree_is_edited(graph, kindred):
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
    # The viewer's standing; then the updated tree and its root.
    assert asked.calls == {"BatchGetItem": 1, "TransactWriteItems": 1, "GetItem": 2}
    assert cleared["tree"] == {"name": "Theirs", "description": None, "isPublic": True, "rootPerson": None}
    assert (await stored(graph, tree)).person_count == 1


async def test_the_root_person_is_in_the_tree(graph, kindred):
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


async def test_a_name_and_is_public_cannot_be_null(graph, kindred):
    owner, tree = await a_tree(kindred)

    payload = await graph.command(UPDATE_TREE, viewer_of(owner), treeId=id_of(tree), isPublic=None, name=None)

    assert payload["problems"] == [
        problem("INVALID", "this cannot be null; leave it out to keep it as it is", "input", name)
        for name in ("name", "isPublic")
    ]


async def test_a_tree_is_deleted_at_once_and_purged_by_a_job(graph, kindred):
    owner, tree = await a_tree(kindred)

    asked = await graph.ask(DELETE_TREE, viewer_of(owner), input={"treeId": id_of(tree)})
    again = await graph.command(DELETE_TREE, viewer_of(owner), treeId=id_of(tree))

    assert asked.data["deleteTree"] == {"deletedTreeId": id_of(tree), "problems": []}
    assert asked.calls == {"BatchGetItem": 1, "TransactWriteItems": 1}
    assert again["problems"] == [NO_TREE]
    (job,) = await graph.jobs()
    assert (job.kind, job.subject) == ("purge_tree", {"user_id": "id-owner", "tree_id": tree.tree_id})


async def test_a_tree_is_shared_and_unshared(graph, kindred):
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


async def test_a_tree_is_shared_only_with_other_open_accounts(graph, kindred):
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


async def test_a_user_may_end_their_own_access(graph, kindred):
    owner, tree = await a_tree(kindred, name="Ours")
    ada, bob = await kindred.user("ada"), await kindred.user("bob")
    for person in (ada, bob):
        await kindred.share(tree, person, TreeRole.EDITOR)

    other = await graph.command(UNSHARE, viewer_of(ada), treeId=id_of(tree), userId=id_of(bob))
    left = await graph.command(UNSHARE, viewer_of(ada), treeId=id_of(tree), userId=id_of(ada))

    assert other["problems"] == [ONLY_OWNER]
    # The tree is private, so they no longer see it.
    assert left == {"tree": None, "problems": []}
    shares = (await graph.table.query(TreeShare.of_tree(tree_id=tree.tree_id), limit=5)).records
    assert [share.shared_with_id for share in shares] == ["id-bob"]
    assert (await stored(graph, owner)).deleted_at is None
