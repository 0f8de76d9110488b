"""The notifications of a tenant's staff: comments that wait for moderation.

Roles on a staff are in tokens only, so the members of a staff are not known: each tenant has one list for all of them.
"""

from collections.abc import Sequence

from datastore.changes.change import Change
from datastore.client.writes import Write
from datastore.cms import PageComment, PageCommentStatus
from datastore.model.keys import Range
from datastore.notifications import Notification, NotificationGroup, NotificationKind
from loaders.needs import Step
from loaders.request import Loaders
from loaders.viewer import Viewer
from resolvers.background.processors import processor
from resolvers.cms.edges import content_key
from resolvers.cms.tenancy import is_staff, tenant_of
from resolvers.core.access import AccessRole, access
from resolvers.notifications.notices import AT_ONCE, Notice, Notices
from resolvers.notifications.visibility import notification_rule

NOTICES = Notices()


def staff_of(tenant_id: str) -> str:
    """Returns the recipient that stands for the staff. A user who has this ID does not see what it receives."""
    return f"staff of {tenant_id}"


@NOTICES.of(PageComment)
async def page_comments(load: Loaders, comments: Sequence[PageComment]) -> list[Notice]:
    return [
        Notice(
            comment.own_key,
            NotificationKind.PAGE_COMMENT,
            [staff_of(comment.tenant_id)],
            content_key(comment.tenant_id, comment.node_id),
            None,
            comment.created_at,
        )
        for comment in comments
        if comment.status is PageCommentStatus.PENDING
    ]


@notification_rule(NotificationKind.PAGE_COMMENT, shared=True)
def staff_sees(notified: Notification | NotificationGroup, viewer: Viewer) -> Step[bool]:
    yield from ()
    return viewer.tenant_id is not None and is_staff(viewer) and notified.user_id == staff_of(viewer.tenant_id)


@access(requires=AccessRole.TENANT_VIEWER)
def staff_notification_groups(viewer: Viewer) -> Range[NotificationGroup]:
    """Notifications of the tenant's staff, by their latest, newest first. What one marks as read is read for all."""
    return NotificationGroup.of_user(user_id=staff_of(tenant_of(viewer))).newest_first()


@processor(PageComment, at_once=AT_ONCE)
async def notify_staff(load: Loaders, changes: Sequence[Change]) -> Sequence[Write]:
    """Keeps the notifications of comments that wait for moderation."""
    return await NOTICES.kept(load, changes)
