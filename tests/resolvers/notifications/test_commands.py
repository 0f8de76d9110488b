"""Marking notifications as read, and preferences."""

import asyncio

from datastore.notifications import NotificationKind, NotificationPreferences
from tests.support.graph import PROBLEMS, id_of, mutation, problem, viewer_of
from tests.support.notifications import GROUPS, groups, notification_group, stored, texts
from tests.support.social import COMMENT, FOLLOW, LIKE

READ = mutation("markNotificationGroupRead", "notificationGroup { id isRead }")
READ_ALL = f"mutation {{ markAllNotificationsRead {{ user {{ unreadNotificationCount }} {PROBLEMS} }} }}"
PREFER = mutation("updateNotificationPreferences", "notificationPreferences { mutedKinds dailyMailHour }")
PREFERENCES = "{ viewer { notificationPreferences { mutedKinds dailyMailHour } } }"


async def is_read(graph, user):
    return {node["kind"]: node["isRead"] for node in await groups(graph, user)}


async def unread(graph, user):
    return (await graph.ask(GROUPS, viewer_of(user))).data["viewer"]["unreadNotificationCount"]


async def test_a_group_is_read_until_there_is_more_in_it(graph, society):
    ada, bob, cyd = [await society.person(name) for name in ("ada", "bob", "cyd")]
    post = await society.post(ada)
    await graph.command(LIKE, viewer_of(bob), postId=id_of(post))
    await graph.command(FOLLOW, viewer_of(bob), userId=id_of(ada))
    assert await is_read(graph, ada) == {"LIKE": False, "FOLLOW": False}
    assert await unread(graph, ada) == 2
    (like,) = [node for node in await groups(graph, ada) if node["kind"] == "LIKE"]

    asked = await graph.ask(READ, viewer_of(ada), input={"notificationGroupId": like["id"]})

    assert asked.data["markNotificationGroupRead"] == {
        "notificationGroup": {"id": like["id"], "isRead": True},
        "problems": [],
    }
    assert asked.calls == {"GetItem": 3, "TransactWriteItems": 1}
    assert await is_read(graph, ada) == {"LIKE": True, "FOLLOW": False}
    assert await unread(graph, ada) == 1

    await graph.command(LIKE, viewer_of(cyd), postId=id_of(post))
    assert await is_read(graph, ada) == {"LIKE": False, "FOLLOW": False}


async def test_one_write_marks_all_as_read(graph, society):
    ada, bob = await society.person("ada"), await society.person("bob")
    for number in range(5):
        post = await society.post(ada, caption=f"Number {number}")
        await graph.command(LIKE, viewer_of(bob), postId=id_of(post))
    await graph.settle()
    assert await unread(graph, ada) == 5

    asked = await graph.ask(READ_ALL, viewer_of(ada))

    assert asked.data["markAllNotificationsRead"] == {"user": {"unreadNotificationCount": 0}, "problems": []}
    assert asked.usage.calls["TransactWriteItems"] == 1
    assert set((await is_read(graph, ada)).values()) == {True}

    await graph.command(FOLLOW, viewer_of(bob), userId=id_of(ada))
    await graph.settle()
    assert await unread(graph, ada) == 1


async def test_nobody_marks_the_notifications_of_another(graph, society):
    ada, bob = await society.person("ada"), await society.person("bob")
    group = notification_group(ada)
    await graph.table.put(group)

    payload = await graph.command(READ, viewer_of(bob), notificationGroupId=id_of(group))

    said = problem("NOT_FOUND", "there is no such notification group", "input", "notificationGroupId")
    assert payload == {"notificationGroup": None, "problems": [said]}


async def test_muted_kinds_are_not_notified(graph, society):
    ada, bob = await society.person("ada"), await society.person("bob")
    post = await society.post(ada)
    assert (await graph.ask(PREFERENCES, viewer_of(ada))).data["viewer"] == {
        "notificationPreferences": {"mutedKinds": [], "dailyMailHour": None}
    }

    payload = await graph.command(PREFER, viewer_of(ada), mutedKinds=["LIKE", "LIKE"])
    await graph.command(LIKE, viewer_of(bob), postId=id_of(post))
    await graph.command(COMMENT, viewer_of(bob), postId=id_of(post), content="Hm.")

    assert payload == {"notificationPreferences": {"mutedKinds": ["LIKE"], "dailyMailHour": None}, "problems": []}
    assert await texts(graph, ada) == ["bob commented on your post."]
    assert await stored(graph, ada) == (1, 1)


async def test_what_is_left_out_of_preferences_stays(graph, society):
    ada = await society.person("ada")
    await graph.command(PREFER, viewer_of(ada), mutedKinds=["LIKE"], dailyMailHour=7)
    await graph.ask(READ_ALL, viewer_of(ada))
    await graph.command(PREFER, viewer_of(ada), dailyMailHour=None)

    kept = await graph.table.get(NotificationPreferences.key(user_id=ada.user_id), consistent=True)

    assert (kept.muted_kinds, kept.daily_mail_hour, kept.read_at is None) == ([NotificationKind.LIKE], None, False)
    payload = await graph.command(PREFER, viewer_of(ada), dailyMailHour=24)
    assert payload["problems"] == [
        problem("INVALID", "this is 24; it goes from 0 to 23", "input", "dailyMailHour"),
    ]


async def test_concurrent_changes_of_preferences_keep_each_other(graph, society):
    ada = await society.person("ada")

    await asyncio.gather(
        graph.command(PREFER, viewer_of(ada), mutedKinds=["LIKE"]),
        graph.command(PREFER, viewer_of(ada), dailyMailHour=7),
        graph.ask(READ_ALL, viewer_of(ada)),
    )

    kept = await graph.table.get(NotificationPreferences.key(user_id=ada.user_id), consistent=True)
    assert (kept.muted_kinds, kept.daily_mail_hour, kept.read_at is None) == ([NotificationKind.LIKE], 7, False)
