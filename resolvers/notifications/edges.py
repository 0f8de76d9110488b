"""Edges of notifications: the key or range each field reads."""

from typing import Annotated

from typing_extensions import Doc

from datastore.accounts import User
from datastore.model.entity import Entity
from datastore.model.keys import Key, Range
from datastore.notifications import Notification, NotificationGroup, NotificationKind, NotificationPreferences
from datastore.social import Post
from loaders.filtered import UNINDEXED, Filtered, filtered
from loaders.needs import Items, Step
from loaders.viewer import Viewer
from resolvers.core.access import AccessRelation, AccessRole, access
from resolvers.notifications import reading, wording

MOST_COUNTED = 100

OfKinds = Annotated[
    list[NotificationKind] | None, Doc("Returns only notifications of these kinds. Empty for all."), UNINDEXED
]


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.SELF,))
def notifications(
    user: User, viewer: Viewer, *, kinds: OfKinds = None
) -> Range[Notification] | Filtered[Notification] | None:
    """Single notifications of the last 30 days, newest first. `notificationGroups` has them in groups."""
    if not viewer.is_user(user.user_id):
        return None
    latest = Notification.within(user_id=user.user_id).newest_first()
    return filtered(latest, lambda notification: notification.kind in kinds) if kinds else latest


@access(only=(AccessRelation.SELF,))
def notification_groups(
    user: User, viewer: Viewer, *, kinds: OfKinds = None
) -> Range[NotificationGroup] | Filtered[NotificationGroup] | None:
    """Notifications of the last 30 days in groups of one kind about one object, by their latest, newest first."""
    if not viewer.is_user(user.user_id):
        return None
    latest = NotificationGroup.of_user(user_id=user.user_id).newest_first()
    return filtered(latest, lambda group: group.kind in kinds) if kinds else latest


@access(only=(AccessRelation.SELF,))
def unread_notification_count(user: User, viewer: Viewer) -> Step[int | None]:
    """Number of unread groups of notifications, up to 100."""
    if not viewer.is_user(user.user_id):
        return None
    page = yield from reading.unread(user.user_id, viewer, MOST_COUNTED)
    return len(page.records)


@access(only=(AccessRelation.SELF,))
def notification_preferences(user: User, viewer: Viewer) -> Step[NotificationPreferences | None]:
    """Preferences for notifications."""
    if not viewer.is_user(user.user_id):
        return None
    return (yield from reading.preferences_of(user.user_id))


def actor(notification: Notification) -> Key[User] | None:
    """The user who caused the notification. Null for a build, or if the account is deleted."""
    return User.key(user_id=notification.actor_id) if notification.actor_id else None


def target(notified: Notification | NotificationGroup) -> Key[Entity] | None:
    """The record it is about: a post, card, comment, neighborhood, site or tree, or the user for a follow."""
    return wording.target_of(notified)


def notified_post(notification: Notification) -> Key[Post] | None:
    """The post that was liked or commented on. Null if it is about something else."""
    key = wording.target_of(notification)
    return Post.key(**key.values) if key is not None and key.entity is Post else None


def latest_actors(group: NotificationGroup, viewer: Viewer) -> Step[list[User]]:
    """Users who caused the latest notifications, newest first, up to 5. Empty for builds."""
    return (yield from wording.actors_of(group, viewer))


def count(group: NotificationGroup, viewer: Viewer) -> Step[int]:
    """Number of notifications in the group. People count once, except for comments, collections and builds."""
    return (yield from wording.shown_count(group, viewer))


def text(group: NotificationGroup, viewer: Viewer) -> Step[str]:
    """English sentence about the group, such as "Ann and 12 others liked your post"."""
    return (yield from wording.text_of(group, viewer))


def is_read(group: NotificationGroup) -> Step[bool]:
    """True if the user has marked it as read since its latest notification."""
    (preferences,) = yield Items([NotificationPreferences.key(user_id=group.user_id)])
    return reading.is_read(group, preferences)
