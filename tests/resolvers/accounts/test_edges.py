"""Accounts in the schema: lookups, their calls, and visibility."""

from datetime import UTC, datetime, timedelta

import pytest

from datastore.accounts import User
from datastore.model.times import as_time, now
from loaders.viewer import ANONYMOUS, Viewer
from schema.declare.ids import global_id
from tests.support.graph import Graph, id_of, viewer_of

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)


async def add_crowd(graph: Graph, size: int) -> list[User]:
    """In the order they joined, a minute apart."""
    crowd = []
    for number in range(size):
        joined = as_time(MOMENT + timedelta(minutes=number))
        name = f"user{number:04d}"
        crowd.append(
            User(user_id=name, username=name, email=f"{name}@example.org", created_at=joined, updated_at=joined)
        )
    await graph.table.batch_write(puts=crowd)
    return crowd


async def test_a_user_is_found_by_id(graph):
    ada = await graph.add_user("ada", display_name="Ada")

    asked = await graph.ask(
        "query ($id: ID!) { user(by: {id: $id}) { id databaseId username displayName } }", id=id_of(ada)
    )

    assert asked.data["user"] == {"id": id_of(ada), "databaseId": "id-ada", "username": "ada", "displayName": "Ada"}
    assert asked.calls == {"GetItem": 1}


async def test_a_user_is_found_by_username_in_any_case(graph):
    await graph.add_user("ada")

    asked = await graph.ask('{ user(by: {username: " ADA "}) { username } }')

    assert asked.data["user"] == {"username": "ada"}
    assert asked.calls == {"Query": 1}


async def test_the_viewer_is_whom_the_token_names(graph):
    ada = await graph.add_user("ada")

    assert (await graph.ask("{ viewer { username } }", viewer_of(ada))).data == {"viewer": {"username": "ada"}}
    assert (await graph.ask("{ viewer { username } }")).data == {"viewer": None}


@pytest.mark.engine_contract
async def test_fifty_users_by_id_are_one_batch(graph):
    crowd = await add_crowd(graph, 50)
    fields = "\n".join(f'u{n}: user(by: {{id: "{id_of(user)}"}}) {{ username }}' for n, user in enumerate(crowd))

    asked = await graph.ask(f"{{ {fields} }}")

    assert asked.data == {f"u{n}": {"username": user.username} for n, user in enumerate(crowd)}
    assert asked.calls == {"BatchGetItem": 1}


async def test_nodes_come_back_in_their_places(graph):
    ada, bob = await graph.add_user("ada"), await graph.add_user("bob")
    nobody = global_id(User(user_id="nobody", username="nobody", email="n@example.org"))

    asked = await graph.ask(
        "query ($ids: [ID!]!) { nodes(ids: $ids) { id ... on User { username } } }",
        ids=[id_of(bob), nobody, id_of(ada), id_of(bob)],
    )

    found = {"id": id_of(bob), "username": "bob"}
    assert asked.data["nodes"] == [found, None, {"id": id_of(ada), "username": "ada"}, found]
    assert asked.calls == {"BatchGetItem": 1}


async def test_users_come_newest_first(graph):
    await add_crowd(graph, 5)

    asked = await graph.ask("{ users(first: 3) { nodes { username } pageInfo { hasNextPage hasPreviousPage } } }")

    assert asked.data["users"] == {
        "nodes": [{"username": "user0004"}, {"username": "user0003"}, {"username": "user0002"}],
        "pageInfo": {"hasNextPage": True, "hasPreviousPage": False},
    }
    assert asked.calls == {"Query": 1}


@pytest.mark.engine_contract
async def test_users_by_the_time_they_joined(graph):
    await add_crowd(graph, 5)
    query = """query ($from: DateTime, $to: DateTime) {
        users(createdAfter: $from, createdBefore: $to) { nodes { username } } }"""

    between = await graph.ask(query, **{"from": "2026-01-01T00:01:00Z", "to": "2026-01-01T01:03:00+01:00"})
    open_ended = await graph.ask(query, **{"from": "2026-01-01T00:03:00Z"})
    open_beginning = await graph.ask(query, to="2026-01-01T00:02:00Z")

    assert between.data["users"]["nodes"] == [{"username": "user0002"}, {"username": "user0001"}]
    assert open_ended.data["users"]["nodes"] == [{"username": "user0004"}, {"username": "user0003"}]
    assert open_beginning.data["users"]["nodes"] == [{"username": "user0001"}, {"username": "user0000"}]
    assert between.calls == open_ended.calls == open_beginning.calls == {"Query": 1}


async def test_page_one_and_page_five_hundred_cost_the_same_single_query(graph):
    crowd = await add_crowd(graph, 502)
    query = "query ($after: String) { users(first: 1, after: $after) { nodes { username } pageInfo { endCursor } } }"
    everybody = """query ($after: String) { users(first: 100, after: $after) { edges { cursor }
        pageInfo { endCursor hasNextPage } } }"""
    cursors: list[str] = []
    while len(cursors) < 499:
        page = (await graph.ask(everybody, after=cursors[-1] if cursors else None)).data["users"]
        cursors += [edge["cursor"] for edge in page["edges"]]

    first, deep = await graph.ask(query), await graph.ask(query, after=cursors[498])

    assert first.data["users"]["nodes"] == [{"username": crowd[501].username}]
    assert deep.data["users"]["nodes"] == [{"username": crowd[501 - 499].username}]
    assert first.calls == deep.calls == {"Query": 1}
    assert first.usage.read_units == deep.usage.read_units


PATHS = {
    "user": "query ($id: ID!) { found: user(by: {id: $id}) { email } }",
    "node": "query ($id: ID!) { found: node(id: $id) { ... on User { email } } }",
    "username": '{ found: user(by: {username: "ada"}) { email } }',
    "users": "{ users { nodes { email } } }",
    "edges": "{ users { edges { node { email } } } }",
}


def emails(data: object) -> list[object]:
    """Every value of `email`, however deep."""
    if isinstance(data, dict):
        return [v for k, value in data.items() for v in ([value] if k == "email" else emails(value))]
    return [v for value in data for v in emails(value)] if isinstance(data, list) else []


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("viewer", "seen"),
    [
        pytest.param(ANONYMOUS, None, id="nobody"),
        pytest.param(Viewer("id-bob"), None, id="another"),
        pytest.param(Viewer("id-ada"), "ada@example.org", id="oneself"),
        pytest.param(Viewer("id-bob", frozenset({"admin"})), "ada@example.org", id="an administrator"),
    ],
)
async def test_an_email_is_shown_to_its_owner_and_administrators_only(graph, path, viewer, seen):
    ada = await graph.add_user("ada")
    variables = {"id": id_of(ada)} if "$id" in PATHS[path] else {}

    assert emails((await graph.ask(PATHS[path], viewer, **variables)).data) == [seen]


@pytest.mark.parametrize(
    ("viewer", "found"),
    [
        (ANONYMOUS, None),
        (Viewer("id-bob"), None),
        (Viewer("id-ada"), {"username": "ada"}),
        (Viewer("id-bob", frozenset({"admin"})), {"username": "ada"}),
    ],
)
async def test_only_oneself_and_administrators_find_by_email(graph, viewer, found):
    await graph.add_user("ada")

    asked = await graph.ask('{ user(by: {email: "Ada@example.org"}) { username } }', viewer)

    assert asked.data == {"user": found}
    assert asked.calls == {"Query": 1}


@pytest.mark.parametrize("field", ["passwordHash", "externalSubject", "expiresAt"])
async def test_what_is_private_is_not_in_the_graph(graph, field):
    asked = await graph.ask(f"{{ viewer {{ {field} }} }}")

    assert asked.error["message"] == f"Cannot query field '{field}' on type 'User'."


async def test_a_deleted_account_is_seen_by_its_owner_only(graph):
    gone = await graph.add_user("gone", deleted_at=now(), expires_at=4_000_000_000)
    query = """query ($id: ID!) { user(by: {id: $id}) { username } node(id: $id) { id }
        byUsername: user(by: {username: "gone"}) { username } users { nodes { username } } }"""

    to_others = await graph.ask(query, Viewer("other"), id=id_of(gone))
    to_owner = await graph.ask(query, viewer_of(gone), id=id_of(gone))

    assert to_others.data == {"user": None, "node": None, "byUsername": None, "users": {"nodes": []}}
    assert to_owner.data["user"] == {"username": "gone"}
    assert to_owner.data["users"] == {"nodes": [{"username": "gone"}]}


async def test_an_account_past_its_grace_is_gone_even_before_ttl_takes_it(graph):
    gone = await graph.add_user("gone", deleted_at=now(), expires_at=1)

    assert (await graph.ask("{ viewer { username } }", viewer_of(gone))).data == {"viewer": None}


@pytest.mark.parametrize(
    ("id", "message"),
    [
        ("", "'' is not an id; use the field `id` of something this API returned"),
        ("nonsense", "'nonsense' is not an id; use the field `id` of something this API returned"),
        ("VXNlciM", "'VXNlciM' is not an id; use the field `id` of something this API returned"),
        (
            "VW5pcXVlI3VzZXJuYW1lI2FkYQ",
            "'VW5pcXVlI3VzZXJuYW1lI2FkYQ' is an id of type Unique; send one of type User",
        ),
    ],
)
async def test_a_bad_id_says_what_to_use(graph, id, message):
    asked = await graph.ask("query ($id: ID!) { user(by: {id: $id}) { username } }", id=id)

    assert asked.error["message"] == message
    assert asked.error["extensions"] == {"code": "INVALID"}
    assert asked.calls == {}


async def test_a_guard_is_not_a_node(graph):
    await graph.add_user("ada")

    asked = await graph.ask('{ node(id: "VW5pcXVlI3VzZXJuYW1lI2FkYQ") { id } }')

    assert asked.body["data"] == {"node": None}
    message = "this is not the id of an object that `node` returns; use the field `id` of an object"
    assert (asked.error["message"], asked.error["path"]) == (message, ["node"])
    assert asked.calls == {}
