"""Visibility rules of notifications: a user sees their own, and only about what they may still see."""

from collections.abc import Callable
from typing import TypeVar

from datastore.notifications import (
    Notification,
    NotificationGroup,
    NotificationKind,
    NotificationPreferences,
    NotificationSource,
)
from loaders.needs import Step
from loaders.viewer import Viewer
from loaders.visibility import judged_at, never_shown, visibility
from resolvers.notifications.groups import count
from resolvers.notifications.wording import target_of

never_shown(NotificationSource, because="it only leads from a record to its notifications")

Rule = Callable[[Notification | NotificationGroup, Viewer], Step[bool]]
F = TypeVar("F", bound=Rule)

RULES: dict[NotificationKind, Rule] = {}
"""What a kind requires, besides a visible target."""
SHARED: set[NotificationKind] = set()
"""Kinds that have no single recipient."""


def notification_rule(kind: NotificationKind, *, shared: bool = False) -> Callable[[F], F]:
    """Declares who may see notifications of this kind, among those who may see the target.

    If they are `shared`, everyone may who meets the rule; otherwise the recipient.
    """

    def declare(rule: F) -> F:
        RULES[kind] = rule
        if shared:
            SHARED.add(kind)
        return rule

    return declare


@visibility(Notification)
def notification_visible(notification: Notification, viewer: Viewer) -> Step[bool]:
    if not _may_receive(notification, viewer) or notification.actor_id in viewer.hidden_accounts:
        return False
    return (yield from _about_visible(notification, viewer))


@visibility(NotificationGroup)
def group_visible(group: NotificationGroup, viewer: Viewer) -> Step[bool]:
    if not _may_receive(group, viewer) or not count(group, viewer.hidden_accounts):
        return False
    return (yield from _about_visible(group, viewer))


@visibility(NotificationPreferences)
def preferences_visible(preferences: NotificationPreferences, viewer: Viewer) -> bool:
    return viewer.is_user(preferences.user_id)


def _may_receive(notified: Notification | NotificationGroup, viewer: Viewer) -> bool:
    return notified.kind in SHARED or viewer.is_user(notified.user_id)


def _about_visible(notified: Notification | NotificationGroup, viewer: Viewer) -> Step[bool]:
    target = target_of(notified)
    if target is None:
        return False
    found = yield from judged_at([target], viewer)
    if found[0] is None:
        return False
    rule = RULES.get(notified.kind)
    return True if rule is None else (yield from rule(notified, viewer))
