"""Pagination: order, both directions, short pages, and cursors bound to their list."""

from base64 import urlsafe_b64decode, urlsafe_b64encode

import pytest

from datastore.model.times import now
from loaders import pages
from tests.resolvers.accounts.test_edges import add_crowd
from tests.support.graph import Graph

FORWARD = """query ($first: Int, $after: String) { users(first: $first, after: $after) {
    edges { cursor node { username } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }"""
BACKWARD = FORWARD.replace("first", "last").replace("after", "before")


def names(page: dict) -> list[str]:
    return [edge["node"]["username"] for edge in page["edges"]]


async def walk(graph: Graph, query: str, size: int) -> list[dict]:
    """Returns every page, in the direction of the query."""
    count, place = ("first", "after") if query is FORWARD else ("last", "before")
    more, cursor = ("hasNextPage", "endCursor") if query is FORWARD else ("hasPreviousPage", "startCursor")
    found = [(await graph.ask(query, **{count: size})).data["users"]]
    while found[-1]["pageInfo"][more]:
        found.append((await graph.ask(query, **{count: size, place: found[-1]["pageInfo"][cursor]})).data["users"])
    return found


@pytest.mark.parametrize("size", [1, 2, 3, 6, 7, 8, 100])
async def test_pages_forward_are_the_list(graph, size):
    crowd = await add_crowd(graph, 7)
    newest_first = [user.username for user in reversed(crowd)]

    found = await walk(graph, FORWARD, size)

    assert [names(page) for page in found] == [newest_first[at : at + size] for at in range(0, 7, size)]
    assert [page["pageInfo"]["hasPreviousPage"] for page in found] == [False] + [True] * (len(found) - 1)


@pytest.mark.parametrize("size", [1, 2, 3, 6, 7, 8, 100])
async def test_pages_backward_are_the_list_from_its_end(graph, size):
    crowd = await add_crowd(graph, 7)
    newest_first = [user.username for user in reversed(crowd)]

    found = await walk(graph, BACKWARD, size)

    assert [names(page) for page in found] == [newest_first[max(0, at - size) : at] for at in range(7, 0, -size)]
    assert [page["pageInfo"]["hasNextPage"] for page in found] == [False] + [True] * (len(found) - 1)


async def test_every_edge_has_a_cursor_to_go_on_from(graph):
    await add_crowd(graph, 4)
    page = (await graph.ask(FORWARD, first=4)).data["users"]

    after_second = await graph.ask(FORWARD, first=4, after=page["edges"][1]["cursor"])
    before_third = await graph.ask(BACKWARD, last=4, before=page["edges"][2]["cursor"])

    assert names(after_second.data["users"]) == ["user0001", "user0000"]
    assert names(before_third.data["users"]) == ["user0003", "user0002"]


async def test_an_empty_list_is_an_empty_page(graph):
    page = (await graph.ask(FORWARD)).data["users"]

    assert page == {
        "edges": [],
        "pageInfo": {"hasNextPage": False, "hasPreviousPage": False, "startCursor": None, "endCursor": None},
    }


async def test_twenty_unless_told(graph):
    await add_crowd(graph, 21)

    page = (await graph.ask(FORWARD)).data["users"]

    assert len(page["edges"]) == 20
    assert page["pageInfo"]["hasNextPage"] is True


async def test_a_cursor_stays_right_while_others_join_and_leave(graph):
    crowd = await add_crowd(graph, 6)
    first = (await graph.ask(FORWARD, first=2)).data["users"]
    await graph.add_user("latecomer")
    await graph.table.delete(crowd[4].own_key)

    second = (await graph.ask(FORWARD, first=2, after=first["pageInfo"]["endCursor"])).data["users"]

    assert names(first) == ["user0005", "user0004"]
    assert names(second) == ["user0003", "user0002"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("first: 101", "`first` is 101; it goes from 1 to 100. For more, page with cursors"),
        ("last: 101", "`last` is 101; it goes from 1 to 100. For more, page with cursors"),
        ("first: 0", "`first` is 0; it goes from 1 to 100. For more, page with cursors"),
        ("first: -1", "`first` is -1; it goes from 1 to 100. For more, page with cursors"),
        ("first: 1, last: 1", "give `first` or `last`, not both"),
        ('after: "x", before: "x"', "give `after` or `before`, not both"),
        ('first: 1, before: "x"', "`first` goes with `after`, and `last` goes with `before`"),
        ('last: 1, after: "x"', "`first` goes with `after`, and `last` goes with `before`"),
    ],
)
async def test_paging_arguments_that_make_no_sense(graph, arguments, message):
    asked = await graph.ask(f"{{ users({arguments}) {{ nodes {{ username }} }} }}")

    assert asked.error["message"] == message
    assert asked.error["extensions"] == {"code": "INVALID"}
    assert asked.calls == {}


def unsealed(cursor: str) -> bytes:
    return urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))


def tampered(cursor: str) -> str:
    raw = unsealed(cursor)
    return urlsafe_b64encode(raw[:-1] + bytes([raw[-1] ^ 1])).decode().rstrip("=")


async def test_a_cursor_tells_nothing_and_is_the_same_each_time(graph):
    await add_crowd(graph, 3)

    cursors = [(await graph.ask(FORWARD, first=2)).data["users"]["pageInfo"]["endCursor"] for _ in range(2)]

    assert cursors[0] == cursors[1]
    assert b"user" not in unsealed(cursors[0]).lower()


async def test_a_tampered_or_foreign_cursor_is_a_clear_error(graph):
    await add_crowd(graph, 3)
    cursor = (await graph.ask(FORWARD, first=2)).data["users"]["pageInfo"]["endCursor"]
    of_other_arguments = await graph.ask(
        'query ($after: String) { users(after: $after, createdAfter: "2026-01-01T00:00:00Z") { nodes { username } } }',
        after=cursor,
    )

    assert tampered(cursor) != cursor
    for asked in (
        of_other_arguments,
        await graph.ask(FORWARD, after=tampered(cursor)),
        await graph.ask(FORWARD, after="nonsense"),
        await graph.ask(FORWARD, after="\ud83d"),
        await graph.ask(FORWARD, after=""),
    ):
        assert "is not a cursor of this list; use a `cursor`" in asked.error["message"]
        assert asked.error["extensions"] == {"code": "INVALID"}
        assert asked.calls == {}


async def add_hidden(graph: Graph, count: int) -> None:
    """Newer than the others, so first in the list, and visible to no one."""
    for number in range(count):
        await graph.add_user(f"hidden{number}", deleted_at=now(), expires_at=4_000_000_000)


async def test_a_page_is_refilled_for_what_is_hidden(graph):
    await add_crowd(graph, 4)
    await add_hidden(graph, 3)

    asked = await graph.ask(FORWARD, first=3)

    assert names(asked.data["users"]) == ["user0003", "user0002", "user0001"]
    assert asked.data["users"]["pageInfo"]["hasNextPage"] is True
    assert asked.calls == {"Query": 2}


async def test_there_is_no_next_page_when_all_that_is_left_is_hidden(graph):
    await add_hidden(graph, 5)
    crowd = await add_crowd(graph, 2)
    query = BACKWARD

    asked = await graph.ask(query, last=2)

    assert names(asked.data["users"]) == [crowd[1].username, crowd[0].username]
    assert asked.data["users"]["pageInfo"]["hasPreviousPage"] is False


async def test_when_too_much_is_hidden_the_page_says_where_to_go_on(graph, monkeypatch):
    monkeypatch.setattr(pages, "READS_A_PAGE", 2)
    monkeypatch.setattr(pages, "REFILL", 2)
    await add_crowd(graph, 1)
    await add_hidden(graph, 6)

    first = (await graph.ask(FORWARD, first=1)).data["users"]
    second = (await graph.ask(FORWARD, first=1, after=first["pageInfo"]["endCursor"])).data["users"]

    assert (names(first), first["pageInfo"]["hasNextPage"]) == ([], True)
    assert (names(second), second["pageInfo"]["hasNextPage"]) == (["user0000"], False)
