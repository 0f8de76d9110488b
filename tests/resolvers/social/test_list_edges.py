"""Orders and filters of likes, follows and notifications, each with its calls."""

from typing import Any

import pytest

from datastore.notifications import Notification, NotificationKind, about
from datastore.social import Follow
from tests.support.graph import id_of, viewer_of
from tests.support.social import minute

NAMES = ("zoe", "ada", "mia")
"""In the order in which they like and follow."""


def names(connection: dict[str, Any]) -> list[str]:
    return [node["username"] for node in connection["nodes"]]


@pytest.mark.parametrize(
    ("order", "found"),
    [
        ("NEWEST_FIRST", ["mia", "ada", "zoe"]),
        ("OLDEST_FIRST", ["zoe", "ada", "mia"]),
        ("BY_USER", ["ada", "mia", "zoe"]),
    ],
)
async def test_likes_and_follows_in_every_order(graph, society, order, found):
    star, *people = [await society.person(name) for name in ("star", *NAMES)]
    post = await society.post(star)
    for person in people:
        await society.like(person, post)
        await society.follow(person, star)
    for person in people:
        await society.follow(star, person)
    query = f"""query ($id: ID!) {{ post(by: {{ id: $id }}) {{
        likes(orderBy: {order}) {{ totalCount nodes {{ username }} }}
        author {{ followers(orderBy: {order}) {{ totalCount nodes {{ username }} }}
            following(orderBy: {order}) {{ totalCount nodes {{ username }} }} }} }} }}"""

    asked = await graph.ask(query, id=id_of(post))

    answer = asked.data["post"]
    lists = [answer["likes"], answer["author"]["followers"], answer["author"]["following"]]
    assert [names(each) for each in lists] == [found] * 3
    assert [each["totalCount"] for each in lists] == [3, 3, 3]
    assert asked.calls == {"GetItem": 1, "Query": 3, "BatchGetItem": 1}


async def test_the_default_is_newest_first_and_pages_go_both_ways(graph, society):
    star, *people = [await society.person(name) for name in ("star", *NAMES)]
    for person in people:
        await society.follow(person, star)
    query = """query ($id: ID!, $first: Int, $after: String, $last: Int) { user(by: { id: $id }) {
        followers(first: $first, after: $after, last: $last) { nodes { username } pageInfo { endCursor } } } }"""

    first = (await graph.ask(query, id=id_of(star), first=2)).data["user"]["followers"]
    second = (await graph.ask(query, id=id_of(star), first=2, after=first["pageInfo"]["endCursor"])).data["user"]
    end = (await graph.ask(query, id=id_of(star), last=1)).data["user"]["followers"]

    assert (names(first), names(second["followers"]), names(end)) == (["mia", "ada"], ["zoe"], ["zoe"])


async def test_follows_that_began_at_the_same_time_are_all_listed(graph, society):
    star, *people = [await society.person(name) for name in ("star", *NAMES)]
    same = {"created_at": minute(9), "updated_at": minute(9), "following_id": star.user_id}
    await graph.table.batch_write(puts=[Follow(follower_id=person.user_id, **same) for person in people])

    asked = await graph.ask(
        "query ($id: ID!) { user(by: { id: $id }) { followers { nodes { username } } } }", id=id_of(star)
    )

    assert names(asked.data["user"]["followers"]) == ["zoe", "mia", "ada"]


async def test_notifications_of_some_kinds(graph, society):
    ada, bob = await society.person("ada"), await society.person("bob")
    kinds = [NotificationKind.LIKE, NotificationKind.COMMENT, NotificationKind.FOLLOW] * 2
    notes = [
        Notification(
            user_id=ada.user_id,
            notification_id=f"n{number}",
            kind=kind,
            actor_id=bob.user_id,
            created_at=minute(10 + number),
            expires_at=4_000_000_000,
            **about(ada.own_key),
        )
        for number, kind in enumerate(kinds)
    ]
    await graph.table.batch_write(puts=notes)
    query = """query ($id: ID!, $kinds: [NotificationKind!]) { user(by: { id: $id }) {
        notifications(kinds: $kinds) { nodes { kind createdAt } } } }"""

    async def found(kinds: list[str] | None) -> list[str]:
        asked = await graph.ask(query, viewer_of(ada), id=id_of(ada), kinds=kinds)
        assert asked.calls == {"GetItem": 1, "Query": 1}
        return [node["kind"] for node in asked.data["user"]["notifications"]["nodes"]]

    assert await found(["FOLLOW"]) == ["FOLLOW", "FOLLOW"]
    assert await found(["LIKE", "COMMENT"]) == ["COMMENT", "LIKE", "COMMENT", "LIKE"]
    for everything in (None, []):
        assert len(await found(everything)) == 6
    by_bob = await graph.ask(query, viewer_of(bob), id=id_of(ada), kinds=["LIKE"])
    assert by_bob.data["user"]["notifications"] is None
