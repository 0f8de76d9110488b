"""Read and unread notifications, and preferences."""

from datastore.model.times import Time
from datastore.notifications import NotificationGroup, NotificationPreferences
from loaders.needs import Items, Step
from loaders.pages import HonestPage, read_pages
from loaders.viewer import Viewer


def is_read(group: NotificationGroup, preferences: NotificationPreferences | None) -> bool:
    """True if the group was marked as read, alone or with all others, after its latest notification."""
    marks: list[Time | None] = [group.read_at, preferences.read_at if preferences else None]
    return any(mark is not None and mark >= group.noted_at for mark in marks)


def preferences_of(user_id: str) -> Step[NotificationPreferences]:
    """Returns the preferences of a user, or the defaults."""
    (found,) = yield Items([NotificationPreferences.key(user_id=user_id)])
    return found or NotificationPreferences(user_id=user_id)


def unread(user_id: str, viewer: Viewer, size: int) -> Step[HonestPage]:
    """Returns the newest unread groups. Reads only those after the time up to which everything is read."""
    preferences = yield from preferences_of(user_id)
    since = NotificationGroup.of_user(user_id=user_id).between(preferences.read_at, None).newest_first()
    (page,) = yield from read_pages([since], size, viewer, keeps=lambda group: not is_read(group, preferences))
    return page
