"""Notifications of all applications: single ones, their groups, and what a user wants to be notified of."""

from typing import Any

from datastore.model.entity import Entity, PlainItem, Value, field, own_id
from datastore.model.enums import Choice
from datastore.model.keys import Key
from datastore.model.ownership import nobody, user
from datastore.model.patterns import gsi1
from datastore.model.times import Day, Time


class NotificationKind(Choice):
    """Kind of notification."""

    LIKE = "LIKE", "A user liked one of your posts."
    COMMENT = "COMMENT", "A user commented on one of your posts."
    FOLLOW = "FOLLOW", "A user started to follow you."
    CARD_COMMENT = "CARD_COMMENT", "A user commented on one of your cards."
    CARD_VOTE = "CARD_VOTE", "A user upvoted one of your cards."
    COMMENT_VOTE = "COMMENT_VOTE", "A user upvoted one of your comments on cards."
    COLLECTION_ADD = "COLLECTION_ADD", "A user added one of your cards to a public collection."
    INVITATION = "INVITATION", "A user invited you to a neighborhood."
    JOIN_REQUEST = "JOIN_REQUEST", "A user asks to join a neighborhood that you moderate."
    JOIN_APPROVAL = "JOIN_APPROVAL", "A moderator approved your request to join a neighborhood."
    ROLE_CHANGE = "ROLE_CHANGE", "A user changed your role in a neighborhood."
    BUILD_COMPLETED = "BUILD_COMPLETED", "A build of one of your sites succeeded."
    BUILD_FAILED = "BUILD_FAILED", "A build of one of your sites failed."
    TREE_SHARE = "TREE_SHARE", "A user shared a family tree with you."
    PAGE_COMMENT = "PAGE_COMMENT", "A visitor's comment on a page of the tenant waits for moderation."


def post_id_to_target(item: PlainItem) -> None:
    """Version 1 was about a post or, without one, about the user."""
    post_id = item.pop("postId", None)
    item["targetType"] = "Post" if post_id else "User"
    item["targetPk"] = f"POST#{post_id}" if post_id else f"USER#{item['userId']}"
    item["targetSk"] = "METADATA" if post_id else "PROFILE"


def about(key: Key[Any]) -> dict[str, Any]:
    """Returns the fields with the key of the record that a notification is about."""
    return {"target_type": key.entity.__name__, "target_pk": key.pk, "target_sk": key.sk}


class Notification(
    Entity,
    pk="USER#{user_id}",
    sk="NOTIFICATION#{created_at}#{notification_id}",
    owner=user("user_id"),
    upgrades=(post_id_to_target,),
    upgrades_read=("postId",),
):
    """A notification for a user, kept for 30 days: one for each actor, object and kind."""

    user_id: str = field("ID of the recipient.", private=True)
    notification_id: str = own_id()
    kind: NotificationKind = field("Kind of notification.")
    actor_id: str | None = field("ID of the user who caused it.", default=None, private=True)
    target_type: str = field("Entity of the record it is about.", private=True)
    target_pk: str = field("Partition key of that record.", private=True)
    target_sk: str = field("Sort key of that record.", private=True)


class Noted(Value):
    """One of the latest notifications of a group."""

    source_id: str = field("ID of the notification.")
    actor_id: str | None = field("ID of the user who caused it.", default=None)
    noted_at: Time = field("Time it was noted.")


class NotificationGroup(Entity, pk="USER#{user_id}", sk="NOTIFICATIONGROUP#{group_id}", owner=user("user_id")):
    """All notifications of one kind about one object, kept until 30 days after the last."""

    of_user = gsi1("USER#{user_id}", "NOTIFIED#{noted_at}#{group_id}")

    user_id: str = field("ID of the recipient.", private=True)
    group_id: str = own_id()
    kind: NotificationKind = field("Kind of notification.")
    noted_at: Time = field("Time of the latest notification.", shown_as="latest_at")
    target_type: str = field("Entity of the record it is about.", private=True)
    target_pk: str = field("Partition key of that record.", private=True)
    target_sk: str = field("Sort key of that record.", private=True)
    days: dict[str, int] = field("Number of notifications by day.", default_factory=dict, private=True)
    latest: list[Noted] = field("The latest notifications, newest first.", default_factory=list, private=True)
    read_at: Time | None = field("Time the user marked the group as read.", default=None, private=True)
    version: int = field("Increments when a notification is noted or removed.", default=1, private=True)


class NotificationSource(
    Entity,
    pk="NOTIFIED#{source_id}",
    sk="NOTIFICATION",
    owner=nobody("it only says which notifications a record has caused, and expires with them"),
    logged=False,
):
    """The notifications that a record has caused, so that they can be removed when it is gone."""

    source_id: str = field("Digest of the record's key.")
    kind: NotificationKind = field("Kind of notification.")
    group_id: str = field("ID of the group.")
    user_ids: list[str] = field("IDs of the recipients.")
    actor_id: str | None = field("ID of the user who caused it.", default=None)
    caused_at: Time = field("Time of the record.")
    noted_at: Time = field("Time it was noted.")


class NotificationPreferences(Entity, pk="USER#{user_id}", sk="NOTIFICATIONS", owner=user("user_id")):
    """Preferences of a user for notifications, and the time up to which all are read."""

    user_id: str = field("ID of the user.", private=True)
    muted_kinds: list[NotificationKind] = field("Kinds the user is not notified of.", default_factory=list)
    daily_mail_hour: int | None = field(
        "Hour of the day, UTC, at which unread notifications are mailed. Null for no email.", default=None
    )
    read_at: Time | None = field("Time up to which everything is read.", default=None, private=True)
    mailed_on: Day | None = field("Day of the last email.", default=None, private=True)
