"""The daily email about unread notifications: at most one a day, to a verified address only."""

import logging
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from datastore.accounts import User
from datastore.client.errors import Conflict
from datastore.client.writes import Put, Update, absent, below
from datastore.model.keys import Key
from datastore.model.times import Day, Time, as_time, now
from datastore.notifications import NotificationPreferences
from loaders.request import Loaders
from loaders.viewer import Viewer
from resolvers.background.jobs import queued, short_job
from resolvers.background.mail import Mail
from resolvers.core.problems import Refused
from resolvers.notifications.reading import unread
from resolvers.notifications.wording import text_of

log = logging.getLogger("heartwood.notifications")

MOST_LINES = 20


def mails_to(user_ids: Sequence[str], preferences: Mapping[str, NotificationPreferences]) -> list[Put]:
    """Returns the writes that queue the next email to those of these users who want one: one job, however often."""
    return [
        queued(
            mail_notifications,
            due_at=next_hour(hour),
            job_id=f"notifications-{user_id}",
            user_id=user_id,
            hour=str(hour),
        )
        for user_id in user_ids
        if user_id in preferences and (hour := preferences[user_id].daily_mail_hour) is not None
    ]


def next_hour(hour: int) -> Time:
    """Returns the next time that it is this hour, UTC."""
    moment = datetime.now(UTC)
    due = moment.replace(hour=hour, minute=0, second=0, microsecond=0)
    return as_time(due if due > moment else due + timedelta(days=1))


@short_job
async def mail_notifications(load: Loaders, *, user_id: str, hour: str, mail: Mail) -> None:
    """Sends the texts of the newest unread notifications to the user, as they may see them now."""
    keys: list[Key[Any]] = [NotificationPreferences.key(user_id=user_id), User.key(user_id=user_id)]
    preferences, user = await load.fresh(*keys)
    # After a change of the hour, another job is queued for the new one.
    if preferences is None or str(preferences.daily_mail_hour) != hour or not mail.can_send:
        return
    if user is None or user.deleted_at is not None or user.email_verified_at is None:
        return
    viewer = Viewer(user_id=user_id)
    reader = Loaders(load.table, viewer, consistent=True)
    page = await reader.run(unread(user_id, viewer, MOST_LINES))
    if not page.records:
        return
    lines = [await reader.run(text_of(group, viewer)) for group in page.records]
    if not await _claim(load, preferences):
        return
    more = ["…and more."] if page.more else []
    text = "\n".join(
        [
            f"Hello {user.display_name or user.username},",
            "",
            "this is what you have not read yet:",
            "",
            *(f"- {line}" for line in lines),
            *more,
            "",
            "You get this email once a day because you asked for it. To stop it, set the hour of the daily email to "
            "none in the preferences of your notifications (`updateNotificationPreferences`).",
            "",
        ]
    )
    number = f"{len(lines)} or more" if page.more else str(len(lines))
    try:
        await mail.send(user.email, f"Unread notifications: {number}", text)
    except Refused as refused:
        # Not again today: it may have arrived. What is unread is in the next one.
        log.warning("the daily email to the user %s was not sent: %s", user_id, refused)


async def _claim(load: Loaders, preferences: NotificationPreferences) -> bool:
    """Returns True if there was no email today. From then on there was one, even if it fails."""
    today = Day(now()[:10])
    claim = Update(preferences.own_key, set={"mailed_on": today}, when=absent("mailed_on") | below("mailed_on", today))
    try:
        await load.write(claim)
    except Conflict:
        return False
    return True
