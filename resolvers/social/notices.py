"""Notifications that commands write together with what they are about."""

from datetime import timedelta

from datastore.client.writes import Put
from datastore.model.times import new_id, seconds_from_now
from datastore.social import Notification, NotificationKind, Post
from resolvers.core.context import Context

NOTIFICATIONS_KEPT = timedelta(days=30)


def notices(context: Context, kind: NotificationKind, recipient_id: str, post: Post | None = None) -> list[Put]:
    """None for what people do to their own posts."""
    if recipient_id == context.signed_in:
        return []
    return [
        Put(
            Notification(
                user_id=recipient_id,
                notification_id=new_id(),
                kind=kind,
                actor_id=context.signed_in,
                post_id=post.post_id if post else None,
                expires_at=seconds_from_now(NOTIFICATIONS_KEPT),
            )
        )
    ]
