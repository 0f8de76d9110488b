"""Lists of notifications, each with its calls."""

from datastore.notifications import NotificationKind, about
from tests.support.graph import viewer_of
from tests.support.notifications import GROUPS, notification_group
from tests.support.social import minute

PAGE = """query ($first: Int, $after: String, $kinds: [NotificationKind!]) {
    viewer { notificationGroups(first: $first, after: $after, kinds: $kinds) {
        nodes { databaseId kind } pageInfo { hasNextPage endCursor } } } }"""


async def many(graph, society, number=30):
    ada, bob = await society.person("ada"), await society.person("bob")
    kinds = [NotificationKind.LIKE, NotificationKind.COMMENT]
    groups = []
    for place in range(number):
        post = await society.post(ada, caption=f"Number {place}")
        groups.append(
            notification_group(
                ada, group_id=f"g{place:02d}", kind=kinds[place % 2], noted_at=minute(place), **about(post.own_key)
            )
        )
    await graph.table.batch_write(puts=groups)
    return ada, bob


async def test_a_page_is_one_query_and_its_targets_and_actors_are_read_together(graph, society):
    ada, _ = await many(graph, society)

    asked = await graph.ask(GROUPS, viewer_of(ada))

    nodes = asked.data["viewer"]["notificationGroups"]["nodes"]
    assert [node["text"] for node in nodes[:2]] == [
        "bob commented on your post “Number 29”.",
        "bob liked your post “Number 28”.",
    ]
    assert len(nodes) == 20
    assert asked.data["viewer"]["unreadNotificationCount"] == 30
    # Two Queries: the page, and what is unread.
    assert asked.calls == {"GetItem": 1, "Query": 2, "BatchGetItem": 2}


async def test_pages_go_on_after_a_cursor(graph, society):
    ada, _ = await many(graph, society, 7)
    found, after = [], None
    while True:
        page = (await graph.ask(PAGE, viewer_of(ada), first=3, after=after)).data["viewer"]["notificationGroups"]
        found += [node["databaseId"] for node in page["nodes"]]
        after = page["pageInfo"]["endCursor"]
        if not page["pageInfo"]["hasNextPage"]:
            break

    assert found == [f"g{place:02d}" for place in range(6, -1, -1)]


async def test_groups_of_some_kinds(graph, society):
    ada, _ = await many(graph, society, 6)

    asked = await graph.ask(PAGE, viewer_of(ada), kinds=["LIKE"])

    nodes = asked.data["viewer"]["notificationGroups"]["nodes"]
    assert [node["databaseId"] for node in nodes] == ["g04", "g02", "g00"]


async def test_only_the_user_sees_them(graph, society):
    _, bob = await many(graph, society, 1)
    query = """{ user(by: {username: "ada"}) { unreadNotificationCount notificationGroups { nodes { id } }
        notifications { nodes { id } } notificationPreferences { mutedKinds } } }"""

    asked = await graph.ask(query, viewer_of(bob))

    assert asked.data["user"] == {
        "unreadNotificationCount": None,
        "notificationGroups": None,
        "notifications": None,
        "notificationPreferences": None,
    }
    anonymous = await graph.ask(query)
    assert {code for _, code in anonymous.errors} == {"UNAUTHENTICATED"}


async def test_no_more_than_a_hundred_are_counted(graph, society):
    ada = await society.person("ada")
    await graph.table.batch_write(puts=[notification_group(ada, group_id=f"g{number}") for number in range(130)])

    asked = await graph.ask("{ viewer { unreadNotificationCount } }", viewer_of(ada))

    assert asked.data == {"viewer": {"unreadNotificationCount": 100}}
    assert asked.calls == {"GetItem": 2, "Query": 1}
