"""Commands of notifications: marking as read, and preferences."""

from typing import Annotated, Any

from typing_extensions import Doc

from datastore.accounts import User
from datastore.client.writes import Check, Put, Update, Write, absent, exists
from datastore.model.keys import Key
from datastore.model.times import now
from datastore.notifications import NotificationGroup, NotificationKind, NotificationPreferences
from resolvers.accounts.guards import is_open, no_account, own_account
from resolvers.core.access import AccessRelation, AccessRole, access
from resolvers.core.constraints import Number
from resolvers.core.context import Context
from resolvers.core.problems import not_found
from resolvers.core.retry import retries_on_conflict, write_or_refuse
from resolvers.core.unset import UNSET, given
from resolvers.notifications.daily_mail import mails_to


@access(requires=AccessRole.SIGNED_IN, only=(AccessRelation.SELF,))
async def mark_notification_group_read(
    context: Context, *, notification_group_id: Annotated[Key[NotificationGroup], Doc("ID of the group.")]
) -> NotificationGroup:
    """Marks a group of notifications as read, until there is another notification in it. Idempotent."""
    group = await context.load.one(notification_group_id)
    if group is None:
        raise not_found(notification_group_id)
    marked = group.changed(read_at=group.noted_at)
    mark = Update.of(group, marked, when=exists())
    await write_or_refuse(context.load, mark, refusals={mark: not_found(notification_group_id)})
    return marked


@access(requires=AccessRole.SIGNED_IN)
async def mark_all_notifications_read(context: Context) -> User:
    """Marks all notifications until now as read."""
    await _change(context, read_at=now())
    return await own_account(context)


@access(requires=AccessRole.SIGNED_IN)
async def update_notification_preferences(
    context: Context,
    *,
    muted_kinds: Annotated[
        list[NotificationKind], Doc("Kinds to send no more notifications of. Replaces the earlier list.")
    ] = UNSET,
    daily_mail_hour: Annotated[
        int | None,
        Doc(
            "Hour of the day, UTC, 0–23, at which unread notifications are mailed to the account's verified address. "
            "Null stops the email."
        ),
        Number(at_most=23),
    ] = UNSET,
) -> NotificationPreferences:
    """Changes what the user is notified of. Omitted fields keep their values."""
    if muted_kinds is not UNSET:
        muted_kinds = list(dict.fromkeys(muted_kinds))
    return await _change(context, **given(muted_kinds=muted_kinds, daily_mail_hour=daily_mail_hour))


def _mails(user_id: str, before: NotificationPreferences | None, after: NotificationPreferences) -> list[Put]:
    """Returns the job of the next email, if its hour is a new one."""
    is_same = before is not None and before.daily_mail_hour == after.daily_mail_hour
    return [] if is_same else mails_to([user_id], {user_id: after})


@retries_on_conflict
async def _change(context: Context, **changes: Any) -> NotificationPreferences:
    """Changes these fields. Those that others write at the same time stay as they are."""
    user_id = context.signed_in
    key = NotificationPreferences.key(user_id=user_id)
    (before,) = await context.load.fresh(key)
    account = Check(User.key(user_id=user_id), when=is_open())
    after = (before or NotificationPreferences(user_id=user_id)).changed(**changes)
    change: Write = Update.of(before, after, when=exists()) if before else Put(after, when=absent())
    mails = _mails(user_id, before, after)
    await write_or_refuse(context.load, account, change, *mails, refusals={account: no_account()})
    return after
