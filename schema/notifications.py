"""Notifications in the schema."""

from datastore import notifications as stored
from resolvers.cms import notices as cms_notices
from resolvers.notifications import commands, edges
from schema.accounts import User
from schema.declare.appended import Addition, appended
from schema.declare.commands import command
from schema.declare.connections import Connection
from schema.declare.edges import computed, many, one
from schema.declare.problems import Payload, result
from schema.declare.types import Node, expose, extend
from schema.social import Post


@expose(stored.Notification)
class Notification(Node):
    actor: User | None = one(edges.actor)
    target: Node | None = one(edges.target)
    post: Post | None = one(edges.notified_post)


@expose(stored.NotificationGroup)
class NotificationGroup(Node):
    count: int = computed(edges.count)
    latest_actors: list[User] = computed(edges.latest_actors, weight=5)
    target: Node | None = one(edges.target)
    is_read: bool = computed(edges.is_read)
    text: str = computed(edges.text, weight=5)


@expose(stored.NotificationPreferences)
class NotificationPreferences:
    pass


@extend(User)
class NotifiedUser:
    notifications: Connection[Notification] | None = many(edges.notifications)
    notification_groups: Connection[NotificationGroup] | None = many(edges.notification_groups)
    unread_notification_count: int | None = computed(edges.unread_notification_count, weight=100)
    notification_preferences: NotificationPreferences | None = computed(edges.notification_preferences)


class Query:
    staff_notification_groups: Connection[NotificationGroup] = many(cms_notices.staff_notification_groups)


class NotificationGroupPayload(Payload):
    notification_group: NotificationGroup | None = result("The group of notifications.")


class ReadPayload(Payload):
    user: User | None = result("The user.")


class NotificationPreferencesPayload(Payload):
    notification_preferences: NotificationPreferences | None = result("The preferences.")


class Mutation:
    mark_notification_group_read: NotificationGroupPayload = command(commands.mark_notification_group_read)
    mark_all_notifications_read: ReadPayload = command(commands.mark_all_notifications_read)
    update_notification_preferences: NotificationPreferencesPayload = command(commands.update_notification_preferences)


class Subscription:
    notification_added: Addition[Notification] = appended(NotifiedUser.notifications, of_viewer=True)
