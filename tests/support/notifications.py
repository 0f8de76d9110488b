"""Notifications in tests: as their recipient sees them, and as they are stored."""

from collections import Counter
from typing import Any

from datastore.accounts import User
from datastore.maintenance.segments import every_item
from datastore.model.times import now
from datastore.notifications import (
    Noted,
    Notification,
    NotificationGroup,
    NotificationKind,
    NotificationSource,
    about,
)
from resolvers.notifications.groups import count
from tests.support.graph import Graph, viewer_of

GROUPS = """{ viewer { unreadNotificationCount notificationGroups { nodes {
    id kind count text isRead latestActors { username } target { __typename id } } } } }"""


def notification_group(user: User, **fields: Any) -> NotificationGroup:
    """A group with one follow, to be put into the table."""
    noted_at = now()
    given: Any = {
        "user_id": user.user_id,
        "group_id": "followers",
        "kind": NotificationKind.FOLLOW,
        "noted_at": noted_at,
        "days": {noted_at[:10]: 1},
        "latest": [Noted(source_id="n", actor_id="id-bob", noted_at=noted_at)],
        **about(user.own_key),
    }
    return NotificationGroup(**{**given, **fields})


async def groups(graph: Graph, user: User) -> list[dict[str, Any]]:
    """Returns the groups of a user's notifications, once everything is processed."""
    await graph.settle()
    asked = await graph.ask(GROUPS, viewer_of(user))
    nodes: list[dict[str, Any]] = asked.data["viewer"]["notificationGroups"]["nodes"]
    return nodes


async def texts(graph: Graph, user: User) -> list[str]:
    return [node["text"] for node in await groups(graph, user)]


async def stored(graph: Graph, user: User) -> tuple[int, int]:
    """Returns the numbers of single notifications and of those that the groups count, which must agree by kind."""
    singles = await graph.table.query(Notification.within(user_id=user.user_id), limit=1_000, consistent=True)
    found = Counter(single.kind for single in singles.records)
    grouped = await graph.table.query(NotificationGroup.within(user_id=user.user_id), limit=1_000, consistent=True)
    says: Counter[Any] = Counter()
    for group in grouped.records:
        says[group.kind] += count(group)
    assert found == says
    return found.total(), says.total()


async def sources(graph: Graph) -> int:
    items = [item async for item in every_item(graph.table)]
    return sum(item["entityType"]["S"] == NotificationSource.__name__ for item in items)
